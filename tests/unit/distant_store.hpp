#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <leasehold/store.hpp>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/request_traits.hpp"
#include "unit/waiting.hpp"

namespace leasehold::testing {

// A store at a distance: calls run at once, each until the test lets one of its keys pass. The
// first call leaves the keys whose id begins with "slow" to the second. Answers are as EchoStore's.
// Thread-safe.
class DistantStore final : public Store {
public:
    explicit DistantStore(std::size_t concurrency = 4, Duration spacing = Duration{1})
        : concurrency_{concurrency}, spacing_{spacing} {}

    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override {
        run("apply", requests, outcomes, true);
    }
    void apply_first(std::span<const Request> requests, std::span<Outcome> outcomes) override {
        run("first", requests, outcomes, false);
    }
    void apply_rest(std::span<const Request> requests, std::span<Outcome> outcomes) override {
        run("rest", requests, outcomes, true);
    }
    [[nodiscard]] std::size_t concurrency() const noexcept override { return concurrency_; }
    [[nodiscard]] Duration spacing() const noexcept override { return spacing_.load(); }
    [[nodiscard]] StoreStatus status() override { return {.name = "distant"}; }

    void set_spacing(Duration spacing) { spacing_ = spacing; }
    // Calls that name this id are held from now on; or all calls "apply", "first" or "rest".
    void hold(const std::string& id) {
        const std::lock_guard lock{mutex_};
        held_.insert(id);
    }
    void let_pass(const std::string& id) {
        {
            const std::lock_guard lock{mutex_};
            held_.erase(id);
        }
        changed_.notify_all();
    }
    // Every call so far, as "first a b" with the ids of its requests.
    [[nodiscard]] std::vector<std::string> calls() const {
        const std::lock_guard lock{mutex_};
        return calls_;
    }
    [[nodiscard]] bool has(const std::string& call) const {
        const auto all = calls();
        return std::ranges::find(all, call) != all.end();
    }
    [[nodiscard]] bool wait_for_call(const std::string& call) const {
        return eventually([&] { return has(call); });
    }
    [[nodiscard]] std::size_t most_at_once() const {
        const std::lock_guard lock{mutex_};
        return most_at_once_;
    }
    // Whether two calls have ever worked on the same id at once.
    [[nodiscard]] bool clashed() const { return clashed_; }

private:
    static std::string id_of(const Request& request) {
        const auto keys = keys_of(request);
        return keys && !keys->empty() ? std::string{keys->front().id()} : "?";
    }

    void run(const std::string& name, std::span<const Request> requests,
             std::span<Outcome> outcomes, bool all) {
        std::vector<std::string> ids;
        std::string call = name;
        for (const Request& request : requests) {
            ids.push_back(id_of(request));
            call += ' ' + ids.back();
        }
        {
            std::unique_lock lock{mutex_};
            calls_.push_back(call);
            most_at_once_ = std::max(most_at_once_, ++running_);
            const std::set<std::string> own{ids.begin(), ids.end()};
            for (const std::string& id : own) {
                if (!in_calls_.insert(id).second) clashed_ = true;
            }
            changed_.wait_for(lock, patience, [&] {
                return !held_.contains(name) && std::ranges::none_of(ids, [&](const auto& id) {
                    return held_.contains(id);
                });
            });
            for (const std::string& id : own) in_calls_.erase(id);
            --running_;
        }
        for (std::size_t i = 0; i < requests.size(); ++i) {
            outcomes[i] = {};
            if (!all && ids[i].starts_with("slow")) continue;
            outcomes[i] = HolderPage{.items = {Holder{.key = LockKey{"Echo", ids[i]}}}};
        }
    }

    const std::size_t concurrency_;
    std::atomic<Duration> spacing_;
    std::atomic<bool> clashed_{false};
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t running_ = 0, most_at_once_ = 0;  // guarded by mutex_
    std::set<std::string> held_;                  // guarded by mutex_
    std::set<std::string> in_calls_;              // guarded by mutex_
    std::vector<std::string> calls_;              // guarded by mutex_
};

}  // namespace leasehold::testing
