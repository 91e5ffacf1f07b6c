#pragma once

#include <boost/asio/basic_waitable_timer.hpp>

#include <cstddef>
#include <map>

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

    // Ends the lease then, unless its expiry is another one by then. Where too many part already,
    // it is left to its expiry.
    void end_later(Lease lease, std::chrono::milliseconds after);

    // Forgets them all, and whoever comes later.
    void close();

private:
    using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Executor>;

    void set_timer();
    void on_time();
    void end_unless_prolonged(const Lease& lease);

    LockManager& locks_;
    WaitingRoom& room_;
    asio::io_context& home_;
    const ServerOptions& options_;

    // Of the home thread:
    bool closed_ = false;
    std::multimap<Clock::time_point, Lease> due_;  // at most options_.partings
    Timer timer_;
};

}  // namespace leasehold::server
