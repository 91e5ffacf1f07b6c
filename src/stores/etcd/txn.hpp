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

// A moment in etcd's history; also when a key was last changed, 0 where there is no such key.
using Revision = std::int64_t;

// The keys from `first` on and before `end`; without `end` the one key.
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

// Compares, then reads and writes if all was as expected, or else reads only. Everything happens at
// one moment. There is no limit on the number of keys but the size of a request.
class Txn {
public:
    // The key was last changed then. `known_at` is when that was seen.
    void expect(const KeyRange& range, Revision changed, Revision known_at);
    // Whoever erases such a key puts this one as well. Where several are compared together, one
    // that is not there any more would not be missed.
    void expect_no_erasure(std::string mark) { erasure_mark_ = std::move(mark); }
    void expect_exactly(const std::string& key, Revision changed);
    // None of these keys was changed after that.
    void expect_unchanged(const KeyRange& range, Revision since);
    void expect_below(const std::string& key, const std::string& value);
    void expect_value(const std::string& key, const std::string& value);

    // At most `limit` keys; 0: all.
    void read(const KeyRange& range, std::size_t limit = 0);
    void read_otherwise(const KeyRange& range);

    void put(std::string key, std::string value) {
        writes_.insert_or_assign(std::move(key), std::move(value));
    }
    void erase(std::string key) { writes_.insert_or_assign(std::move(key), std::nullopt); }
    // Puts this key as well, if it was last changed then.
    void put_if(const std::string& key, Revision changed, const std::string& value);
    // Goes through the cluster's log although it only reads: not even a member that was paused
    // answers with what is no longer so.
    void agree_on(const std::string& key_of_nobody);

    [[nodiscard]] bool writes() const { return !writes_.empty(); }
    // Of the keys and values to be written.
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
    std::map<std::string, std::optional<std::string>> writes_;  // nothing: erased
    std::string first_;                                         // printed; before everything else
};

struct Answer {
    bool as_expected = false;
    bool put_if_done = false;
    Revision revision = 0;
    std::vector<Page> reads{};  // of the branch that was taken
    Time clock{};               // what the store's clock says there

    // Throws std::exception where it is not understood.
    [[nodiscard]] static Answer from(const boost::json::value& body);
};

// At most `limit` of them; 0: all.
[[nodiscard]] std::string range_body(const KeyRange& range, std::size_t limit);
[[nodiscard]] Page page_from(const boost::json::value& range_response);
[[nodiscard]] Revision revision_of(const boost::json::value& body);

[[nodiscard]] std::string base64(std::string_view bytes);
[[nodiscard]] std::string from_base64(std::string_view text);

}  // namespace leasehold::etcd
