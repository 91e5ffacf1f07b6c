#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include <leasehold/store.hpp>

#include "server/statistics/hot_keys.hpp"
#include "server/statistics/refused_tries.hpp"
#include "server/statistics/series.hpp"

namespace leasehold::server {

// What this server saw lately, for people who look at it: numbers over time, the keys that are
// tried most, and who was refused. All of it is bounded, in memory, and of this server alone.
// Thread-safe; a request costs it some hundred nanoseconds.
class Statistics {
public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::size_t refused_kept = 4096;
    static constexpr std::size_t hot_keys_shown = 20;

    explicit Statistics(Clock::time_point now = Clock::now());
    Statistics(const Statistics&) = delete;
    Statistics& operator=(const Statistics&) = delete;
    ~Statistics() = default;

    // What a client is told. The request may have been moved from; `asker` is the owner that it
    // named.
    void answered(const Request& request, std::string_view asker, const Outcome& outcome);
    void counted_held(std::size_t leases);
    // Whether the live leases should be counted now, so that their numbers over time have no holes.
    // True once a minute, and not in the first.
    [[nodiscard]] bool count_is_due();

    // A try that waits for its key, while this lives.
    class Waiting {
    public:
        explicit Waiting(Statistics& statistics) : statistics_{statistics} {
            statistics_.waits(+1);
        }
        Waiting(const Waiting&) = delete;
        Waiting& operator=(const Waiting&) = delete;
        ~Waiting() { statistics_.waits(-1); }

    private:
        Statistics& statistics_;
    };

    enum class Span : std::uint8_t { hour, day };
    // The numbers over time and the hottest keys.
    [[nodiscard]] boost::json::object summary(Span over);
    [[nodiscard]] std::vector<RefusedTries::Entry> refused(const std::optional<LockKey>& key,
                                                           std::size_t most);

private:
    void waits(int change);
    // In both series.
    void add(Clock::time_point now, std::uint64_t Point::* what);

    const Clock::time_point begun_;
    std::atomic<Clock::time_point> next_count_;
    std::mutex mutex_;
    Series hour_;              // guarded by mutex_
    Series day_;               // guarded by mutex_
    std::size_t waiters_ = 0;  // guarded by mutex_
    HotKeys hot_;              // guarded by mutex_
    RefusedTries refused_;     // guarded by mutex_
};

}  // namespace leasehold::server
