#include "stores/etcd/watch.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/rules.hpp"
#include "stores/etcd/gateway.hpp"
#include "stores/etcd/names.hpp"
#include "stores/etcd/records.hpp"
#include "stores/etcd/txn.hpp"

namespace leasehold::etcd {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

// After this time without an event the watch begins anew: the connection may be dead.
constexpr Duration longest_silence = 30s;
// After this time a stream has delivered the events from before it was opened.
constexpr Duration longest_delivery = 5s;

// etcd's gateway answers the first request of a stream before it has read all of a larger body, and
// then reads no more. If the keys need more, the watch covers all from the first to the last.
constexpr std::size_t most_bytes = 2000;

StoreFault ended(const std::string& why) {
    return {StoreFault::Effect::none, StoreFault::Cause::unavailable, "etcd: " + why};
}

class Watch final : public StoreWatch {
public:
    Watch(const Cluster& target, Duration io_timeout)
        : io_timeout_{io_timeout},
          names_{target.prefix},
          members_{target.endpoints.size()},
          gateway_{target, io_timeout, members_} {}

    [[nodiscard]] std::vector<LockKey> wait(std::span<const LockKey> keys,
                                            const std::stop_token& stop) override {
        std::erase_if(watched_,
                      [&](const LockKey& key) { return !std::ranges::binary_search(keys, key); });
        try {
            std::vector<LockKey> added;
            std::ranges::copy_if(keys, std::back_inserter(added),
                                 [&](const LockKey& key) { return !watched_.contains(key); });
            if (!has_stream_ || !added.empty()) begin(keys, stop);
            while (added.empty()) {
                if (const auto answer = next_event(stop)) {
                    added = freed_in(*answer);
                } else {
                    begin(keys, stop);
                }
            }
            return added;
        } catch (const StoreFault&) {
            has_stream_ = false;
            if (stop.stop_requested()) return {};
            throw;
        }
    }

private:
    void begin(std::span<const LockKey> keys, const std::stop_token& stop) {
        has_stream_ = false;
        const auto now = std::chrono::steady_clock::now();
        const auto deadline = now + io_timeout_;
        if (now - opened_.when > longest_delivery) {
            revision_ = std::max(revision_, opened_.revision);
        }
        std::vector<std::string> wanted;
        std::size_t bytes = 0;
        for (const LockKey& key : keys) {
            const KeyRange range = names_.row_and_shares(key);
            bytes += wanted.emplace_back(create(range)).size();
        }
        if (bytes > most_bytes) {
            const std::string first = names_.row_and_shares(keys.front()).first;
            wanted = {create({first, names_.row_and_shares(keys.back()).end})};
        }
        std::string body;
        for (const std::string& one : wanted) body += one;
        gateway_.open_stream("/v3/watch", body, deadline, stop);
        Revision latest = 0;
        for (std::size_t created = 0; created < wanted.size();) {
            auto answer = next(deadline, stop);
            if (!answer) throw ended("no answer in time to a watch");
            if (answer->contains("created")) {
                if (created++ == 0) latest = revision_of(*answer);
            } else {
                early_.push_back(*std::move(answer));
            }
        }
        // A watch without a start begins here.
        if (revision_ == 0) revision_ = latest;
        opened_ = {std::chrono::steady_clock::now(), latest};
        watched_ = {keys.begin(), keys.end()};
        has_stream_ = true;
    }

    [[nodiscard]] std::string create(const KeyRange& range) const {
        json::object wanted{{"key", base64(range.first)}, {"range_end", base64(range.end)}};
        if (revision_ > 0) wanted.emplace("start_revision", std::to_string(revision_ + 1));
        return json::serialize(json::object{{"create_request", std::move(wanted)}}) + '\n';
    }

    // Nothing after a long silence.
    [[nodiscard]] std::optional<json::object> next_event(const std::stop_token& stop) {
        if (early_.empty()) return next(std::chrono::steady_clock::now() + longest_silence, stop);
        json::object answer = std::move(early_.back());
        early_.pop_back();
        return answer;
    }

    // The next answer. Nothing if there was none by the deadline.
    [[nodiscard]] std::optional<json::object> next(Gateway::Moment deadline,
                                                   const std::stop_token& stop) {
        const auto line = gateway_.next_of_stream(deadline, stop);
        if (!line) return std::nullopt;
        const json::object* const whole = line->if_object();
        const json::value* const result = whole != nullptr ? whole->if_contains("result") : nullptr;
        if (result == nullptr || !result->is_object()) throw ended("a watch was refused");
        if (result->get_object().contains("canceled")) throw ended("a watch was cancelled");
        return result->get_object();
    }

    [[nodiscard]] std::vector<LockKey> freed_in(const json::object& answer) {
        std::set<LockKey> freed;
        const json::value* const events = answer.if_contains("events");
        if (events == nullptr || !events->is_array()) return {};
        for (const json::value& event : events->get_array()) {
            const json::value& pair = event.at("kv");
            revision_ = std::max(revision_, changed_at(pair.as_object()));
            const auto part = names_.part_of(from_base64(pair.at("key").as_string()));
            if (!part || !watched_.contains(part->key)) continue;
            const bool erased = event.as_object().contains("type");
            if (erased || (!part->share && is_free(pair.as_object()))) freed.insert(part->key);
        }
        return {freed.begin(), freed.end()};
    }

    // Whether the row says that its last lease has ended.
    [[nodiscard]] static bool is_free(const json::object& pair) {
        const json::value* const value = pair.if_contains("value");
        if (value == nullptr || !value->is_string()) return false;
        return row_from(from_base64(value->get_string())).ended != Gone::unknown;
    }

    const Duration io_timeout_;
    const Names names_;
    Members members_;
    Gateway gateway_;
    bool has_stream_ = false;
    std::set<LockKey> watched_;        // by this stream or the one before
    std::vector<json::object> early_;  // events that came while the stream was opened
    // The latest event that was seen, where the next stream begins. Not the revision that etcd
    // names when it opens a stream: earlier events may still be on their way.
    Revision revision_ = 0;
    struct {
        std::chrono::steady_clock::time_point when{};
        Revision revision = 0;
    } opened_;
};

}  // namespace

std::unique_ptr<StoreWatch> make_watch(const Cluster& target, Duration io_timeout) {
    return std::make_unique<Watch>(target, io_timeout);
}

}  // namespace leasehold::etcd
