#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <leasehold/lock_manager.hpp>

namespace customers {

// The people who wait for a lock, first come, first served. Thread-safe. The line is known to this
// process only: somebody who asks another process may get the lock earlier.
class WaitingLine {
public:
    // Each waiting request occupies a thread of the web server.
    static constexpr std::size_t most = 32;
    // One request; a page that wants to wait longer asks again and keeps its place.
    static constexpr leasehold::Duration longest = std::chrono::seconds{10};

    // `locks` outlives this.
    explicit WaitingLine(leasehold::LockManager& locks) : locks_{locks} {}

    // Nothing if too many requests are waiting.
    [[nodiscard]] std::optional<leasehold::Result<leasehold::Lease>> wait(
        const leasehold::LockKey& key, const leasehold::LockOptions& options,
        leasehold::Duration patience);

    // Removes the request with this lock id from the line.
    void dismiss(const leasehold::LockKey& key, leasehold::LockId lock_id);
    // Some key may be free now.
    void wake();
    // Ends every wait, before the process ends.
    void close();

    // Their owners, the next one first.
    [[nodiscard]] std::vector<std::string> waiting_for(const leasehold::LockKey& key);

private:
    using Clock = leasehold::SteadyClock;

    struct Waiter {
        std::string owner;
        leasehold::LockId lock_id{};  // that the latest request drew
        std::size_t asking = 0;       // requests under way
        Clock::time_point seen_at{};
    };
    using Line = std::deque<Waiter>;

    void join(const leasehold::LockKey& key, const leasehold::LockOptions& options);
    void leave(const leasehold::LockKey& key, const std::string& owner);
    void drop(const leasehold::LockKey& key, const std::string& owner);
    void forget_absent(const leasehold::LockKey& key);
    [[nodiscard]] bool is_in_line(const leasehold::LockKey& key, const std::string& owner) const;
    [[nodiscard]] bool is_next(const leasehold::LockKey& key, const std::string& owner) const;

    leasehold::LockManager& locks_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<leasehold::LockKey, Line> lines_;  // guarded by mutex_
    std::size_t waiting_ = 0;                   // guarded by mutex_
    std::size_t wakes_ = 0;                     // guarded by mutex_; counts wake()
    bool closed_ = false;                       // guarded by mutex_
};

}  // namespace customers
