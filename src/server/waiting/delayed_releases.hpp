#pragma once

#include <boost/asio/basic_waitable_timer.hpp>

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <unordered_map>

#include "server/options.hpp"
#include "server/tasks.hpp"
#include "server/waiting/waiting_room.hpp"

namespace leasehold::server {

// Ends leases whose holders have gone a while ago and did not come back: a page that was closed, or
// reloaded. Comfort of this process; the expiry stays the truth. Thread-safe; its timer is of its
// io_context.
class DelayedReleases {
public:
    // All outlive this.
    DelayedReleases(WaitingRoom& room, asio::io_context& home, const ServerOptions& options);
    DelayedReleases(const DelayedReleases&) = delete;
    DelayedReleases& operator=(const DelayedReleases&) = delete;
    ~DelayedReleases();

    // The holder of this lease goes. Where too many part already, it is left to its expiry.
    void announce(const LockKey& key, LockId lock_id);
    // Ends the lease then, unless its holder came back since it was announced, here or by
    // prolonging it elsewhere.
    void end_later(const Lease& lease, std::chrono::milliseconds after);

    // The holder of this lease is there again, or was none: what it asks for from now on finds it
    // as it is.
    void came_back(LockId lock_id) {
        if (parting_ > 0) stay(lock_id);
    }

    // Forgets them all, and whoever comes later.
    void close();

private:
    using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Executor>;
    using Due = std::multimap<Clock::time_point, Release>;

    void stay(LockId lock_id);
    void set_timer();
    void on_time();

    WaitingRoom& room_;
    asio::io_context& home_;
    const ServerOptions& options_;
    std::atomic<std::size_t> parting_{0};  // how many there are
    Timer timer_;                          // of the home thread

    std::mutex mutex_;
    bool closed_ = false;  // guarded by mutex_
    Due due_;              // guarded by mutex_
    std::unordered_map<LockId, Due::iterator>
        delayed_releases_;  // guarded by mutex_; of all in due_
};

}  // namespace leasehold::server
