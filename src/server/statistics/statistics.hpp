#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "server/requests.hpp"
#include "server/statistics/hot_keys.hpp"
#include "server/statistics/refused_tries.hpp"
#include "server/statistics/series.hpp"

namespace leasehold::server {

// The recent activity of this server, for the console: numbers over time, the keys that are tried
// most, and the owners that were refused. Everything is bounded and kept in memory. Thread-safe; a
// request costs some hundred nanoseconds.
class Statistics final : public OutcomeListener {
public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::size_t refused_kept = 4096;
    static constexpr std::size_t hot_keys_shown = 20;

    explicit Statistics(Clock::time_point now = Clock::now());

    void answered(const Answered& answered) override;
    void counted_held(std::size_t leases);
    // Whether the live leases should be counted now, so that the series has no gaps. True once a
    // minute, and not in the first minute.
    [[nodiscard]] bool count_is_due();

    // Counts a try that waits for its key while this object lives.
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
    struct Summary {
        Series series;
        std::vector<HotKeys::Heat> hot_keys;  // the hottest first
        std::size_t waiting = 0;              // tries that wait now
        Clock::time_point now;
        Clock::duration uptime;
    };
    // The summary for a client that may see these keys. If it may not see every key, it gets no
    // points, and `waiting` is 0.
    [[nodiscard]] Summary summary(Span over, const KeySet& visible);
    [[nodiscard]] std::vector<RefusedTries::Entry> refused(const std::optional<LockKey>& key,
                                                           const KeySet& visible, std::size_t most);

private:
    void waits(int change);
    // Counts it in both series.
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
