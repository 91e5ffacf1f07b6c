#pragma once

#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/time.hpp>

// etcd's transactions, as its JSON gateway takes them.
namespace leasehold::etcd {

// A moment in etcd's history. As the time of a key's last change, 0 means that the key is missing.
using Revision = std::int64_t;

// The keys from `first` on and before `end`; without `end` only the key `first`.
struct KeyRange {
    std::string first;
    std::string end{};
};

struct KeyValue {
    std::string key;
    std::string value;
    Revision changed = 0;
};

struct Page {
    std::vector<KeyValue> pairs{};
    bool more = false;
};

// Compares, then reads and writes if everything is as expected, otherwise only reads. Everything
// happens at one moment. The number of keys is limited only by the size of a request.
class Txn {
public:
    // Expects that the key was last changed at this moment, as seen at `known_at`.
    void expect(const KeyRange& range, Revision changed, Revision known_at);
    // Every transaction that erases such a key also writes this one. A comparison of a range of
    // keys does not notice that one of them is missing; a comparison of this key does.
    void expect_no_erasure(std::string mark) { erasure_mark_ = std::move(mark); }
    void expect_exactly(const std::string& key, Revision changed);
    // Expects that none of these keys was changed after this moment.
    void expect_unchanged(const KeyRange& range, Revision since);
    void expect_below(const std::string& key, const std::string& value);
    void expect_value(const std::string& key, const std::string& value);

    // Reads at most `limit` keys; 0: all.
    void read(const KeyRange& range, std::size_t limit = 0);
    void read_otherwise(const KeyRange& range);

    void put(std::string key, std::string value) {
        writes_.insert_or_assign(std::move(key), std::move(value));
    }
    void erase(std::string key) { writes_.insert_or_assign(std::move(key), std::nullopt); }
    // Also writes this key, if it was last changed at this moment.
    void put_if(const std::string& key, Revision changed, const std::string& value);
    // Goes through the cluster's log although it only reads, so that not even a member that was
    // paused gives an outdated answer.
    void agree_on(const std::string& key_of_nobody);

    [[nodiscard]] bool writes() const { return !writes_.empty(); }
    // The size of the keys and values to be written.
    [[nodiscard]] std::size_t bytes_written() const;
    [[nodiscard]] std::string body() const;

private:
    struct Expected {
        KeyRange range;
        Revision changed;
        Revision known_at;
    };
    [[nodiscard]] std::vector<std::string> compares(std::size_t most) const;

    std::vector<Expected> expected_;  // in the order of keys
    std::string erasure_mark_;
    std::vector<std::string> compares_;  // printed
    std::vector<std::string> reads_;
    std::vector<std::string> reads_otherwise_;
    std::map<std::string, std::optional<std::string>> writes_;  // std::nullopt: erase the key
    std::string first_;                                         // printed; before everything else
};

struct Answer {
    bool as_expected = false;
    bool put_if_done = false;
    Revision revision = 0;
    std::vector<Page> reads{};  // the reads of the branch that was taken
    Time clock{};               // the value of the clock key in the answer

    // Throws std::exception if the answer cannot be understood.
    [[nodiscard]] static Answer from(const boost::json::value& body);
};

// At most `limit` of them; 0: all.
[[nodiscard]] std::string range_body(const KeyRange& range, std::size_t limit);
[[nodiscard]] Page page_from(const boost::json::value& range_response);
[[nodiscard]] Revision revision_of(const boost::json::value& body);
// When a pair was last changed.
[[nodiscard]] Revision changed_at(const boost::json::object& pair);

[[nodiscard]] std::string base64(std::string_view bytes);
[[nodiscard]] std::string from_base64(std::string_view text);

}  // namespace leasehold::etcd
