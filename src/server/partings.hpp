#pragma once

#include <boost/asio/basic_waitable_timer.hpp>

#include <atomic>
#include <cstddef>
#include <map>
#include <unordered_map>

#include <leasehold/lock_manager.hpp>

#include "server/server.hpp"
#include "server/tasks.hpp"
#include "server/waiting_room.hpp"

namespace leasehold::server {

// Ends leases whose holders have gone a while ago and did not come back: a page that was closed, or
// reloaded. Comfort of this process; the expiry stays the truth. Thread-safe; works on the thread
// of its io_context.
class Partings {
public:
    // All outlive this.
    Partings(LockManager& locks, WaitingRoom& room, asio::io_context& home,
             const ServerOptions& options);
    Partings(const Partings&) = delete;
    Partings& operator=(const Partings&) = delete;
    ~Partings();

    // Ends the lease then, unless its holder came back, here or by prolonging it elsewhere. Where
    // too many part already, it is left to its expiry.
    void end_later(Lease lease, std::chrono::milliseconds after);

    // The holder of this lease is there again.
    void came_back(LockId lock_id) {
        if (parting_ > 0) stay(lock_id);
    }

    // Forgets them all, and whoever comes later.
    void close();

private:
    using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Executor>;

    struct Parting {
        Clock::time_point at;
        Lease lease;
    };

    void stay(LockId lock_id);
    void set_timer();
    void on_time();
    void end_unless_prolonged(const Parting& parting);

    LockManager& locks_;
    WaitingRoom& room_;
    asio::io_context& home_;
    const ServerOptions& options_;
    std::atomic<std::size_t> parting_{0};

    // Of the home thread:
    bool closed_ = false;
    std::unordered_map<LockId, Parting> partings_;  // at most options_.partings
    std::multimap<Clock::time_point, LockId> due_;  // of those, and of some that are over
    Timer timer_;
};

}  // namespace leasehold::server
