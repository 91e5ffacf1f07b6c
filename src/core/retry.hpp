#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <thread>
#include <utility>

#include <leasehold/errors.hpp>
#include <leasehold/time.hpp>

#include "core/enum_table.hpp"

// How often something is tried again, and how long to pause before it: one policy type, and all its
// values in one place (namespace `retries`). To try until a deadline:
//
//     Retry retry{retries::busy_lease, SteadyClock::now() + busy_patience};
//     for (;;) {
//         if (auto answer = ask()) return answer;
//         if (!retry.pause()) return busy;  // sleeps; false when attempts or time are used up
//     }
//
// A caller that sleeps in its own way, for instance until it is stopped, takes next_pause().
namespace leasehold {

struct RetryPolicy {
    enum class Pauses : std::uint8_t {
        exact,
        random,  // between half the pause and the whole, so that many callers do not ask in step
    };
    static constexpr int any_number = std::numeric_limits<int>::max();

    int attempts = any_number;  // the first included
    Duration first_pause{};     // each pause is twice the one before, up to the longest
    Duration longest_pause{};
    Pauses pauses = Pauses::exact;
};

namespace retries {

using namespace std::chrono_literals;

// Another transaction uses the lease: batcher and guards, until Limits::busy_patience. Pauses stay
// short: where many tries of other processes use the row one after the other, only few attempts
// meet it unlocked.
inline constexpr RetryPolicy busy_lease{.first_pause = 1ms, .longest_pause = 4ms};
// The same in the functions of a protected table on PostgreSQL: half a second in all.
inline constexpr RetryPolicy protected_write{
    .attempts = 51, .first_pause = 10ms, .longest_pause = 10ms};
// A statement of the PostgreSQL store waits this long for the row of another transaction. Then it
// has met a conflict.
inline constexpr Duration postgres_lock_patience = 10ms;
// `leasehold protect` and `unprotect` wait this long for a table of PostgreSQL. All later writers
// of the table wait behind them.
inline constexpr Duration protection_lock_patience = 2s;
// A database transaction met a conflict; then its requests go one by one.
inline constexpr RetryPolicy conflict{.attempts = 3};
// An etcd transaction met a conflict. etcd has no locks, so it meets more of them.
inline constexpr RetryPolicy etcd_conflict{.attempts = 12};
// A lock is held, and may be released by another process; or the store cannot be reached. As long
// as the caller's patience lasts.
inline constexpr RetryPolicy held_lock{
    .first_pause = 20ms, .longest_pause = 500ms, .pauses = RetryPolicy::Pauses::random};

// The store's watch failed. Tries that wait go on asking once in a while.
inline constexpr RetryPolicy watch{
    .first_pause = 100ms, .longest_pause = 10s, .pauses = RetryPolicy::Pauses::random};

// The store cannot open another connection to its database at a distance. It goes on with fewer.
inline constexpr RetryPolicy lanes{
    .first_pause = 1s, .longest_pause = 60s, .pauses = RetryPolicy::Pauses::random};

// A leader's work has ended: other candidates get the chance to lead.
inline constexpr RetryPolicy next_term{
    .first_pause = 1s, .longest_pause = 1s, .pauses = RetryPolicy::Pauses::random};

// The time at which a lease of etcd may be found dead has not come: until StoreOptions::io_timeout.
inline constexpr RetryPolicy etcd_clock{.first_pause = 5ms, .longest_pause = 5ms};
// Another process makes or migrates the tables of MySQL or MariaDB: one minute in all.
inline constexpr RetryPolicy schema_lock{
    .attempts = 121, .first_pause = 500ms, .longest_pause = 500ms};
// Another process creates the SQLite file.
inline constexpr RetryPolicy sqlite_opening{.first_pause = 10ms, .longest_pause = 10ms};
inline constexpr Duration sqlite_opening_patience = 10s;
// Another process writes to the SQLite file. SQLite itself pauses and tries again.
inline constexpr Duration sqlite_writer_patience = 20ms;
// The server cannot accept a connection, for example because no file descriptor is free.
inline constexpr Duration accept_pause = 50ms;

// No memory is free; other requests end and free theirs. Something small that must be done is tried
// again until memory_patience.
inline constexpr RetryPolicy no_memory{.first_pause = 1ms, .longest_pause = 1ms};
inline constexpr std::chrono::seconds memory_patience{30};
// An allocation of the server: fewer attempts, because the request can be answered with a fault.
inline constexpr RetryPolicy allocation{.attempts = 20, .first_pause = 1ms, .longest_pause = 1ms};

// A renewal failed: KeepAlive asks again sooner than after a renewal that succeeded.
[[nodiscard]] constexpr RetryPolicy renewal(Duration every) {
    const Duration pause = std::max<Duration>(every / 8, 1ms);
    return {.first_pause = pause, .longest_pause = pause};
}

}  // namespace retries

// Whether a later attempt may succeed where this fault was the answer.
[[nodiscard]] inline bool may_pass(const StoreFault& fault) {
    using enum StoreFault::Cause;
    static constexpr EnumTable<StoreFault::Cause, bool> table{{{unavailable, true},
                                                               {clock_leap, true},
                                                               {configuration, false},
                                                               {not_allowed, false},
                                                               {internal, true},
                                                               {lock_id_in_use, false},
                                                               {too_large, false}}};
    return table[fault.cause()];
}

// The attempts at one thing. The first attempt is under way when this is made.
class Retry {
public:
    explicit Retry(const RetryPolicy& policy,
                   SteadyClock::time_point deadline = SteadyClock::time_point::max())
        : policy_{policy}, pause_{policy.first_pause}, deadline_{deadline} {}

    // The pause before the next attempt; nothing if there is to be none.
    [[nodiscard]] std::optional<Duration> next_pause() {
        if (++attempts_ >= policy_.attempts) return std::nullopt;
        const auto now = SteadyClock::now();
        if (now >= deadline_) return std::nullopt;
        const Duration pause = std::exchange(pause_, std::min(2 * pause_, policy_.longest_pause));
        return std::min<Duration>(
            policy_.pauses == RetryPolicy::Pauses::random ? random_part(pause) : pause,
            deadline_ - now);
    }

    // Sleeps before the next attempt. False, at once, if there is to be none.
    [[nodiscard]] bool pause() {
        const auto pause = next_pause();
        if (!pause) return false;
        if (*pause > Duration::zero()) std::this_thread::sleep_for(*pause);
        return true;
    }

    // The same, until `stop` is requested: false then too.
    [[nodiscard]] bool pause(const std::stop_token& stop) {
        const auto pause = next_pause();
        if (!pause) return false;
        std::mutex mutex;
        std::condition_variable_any nothing;
        std::unique_lock lock{mutex};
        nothing.wait_for(lock, stop, *pause, [] { return false; });
        return !stop.stop_requested();
    }

private:
    [[nodiscard]] static Duration random_part(Duration pause) {
        static thread_local std::minstd_rand random{std::random_device{}()};
        return Duration{std::uniform_int_distribution{pause.count() / 2, pause.count()}(random)};
    }

    RetryPolicy policy_;
    Duration pause_;
    SteadyClock::time_point deadline_;
    int attempts_ = 0;
};

}  // namespace leasehold
