#pragma once

#include <boost/asio/basic_waitable_timer.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <leasehold/lock_manager.hpp>
#include <leasehold/store.hpp>

#include "server/events/reporter.hpp"
#include "server/http/client_connection.hpp"
#include "server/options.hpp"
#include "server/tasks.hpp"
#include "server/waiting/kept_places.hpp"

namespace leasehold::server {

// Where tries wait for their key, first come, first served. Only the first of a line asks the
// store: when a lease of the key is seen to end here, when one is due to expire, and now and then
// in case it ended elsewhere. Thread-safe; works on the thread of its io_context.
class WaitingRoom {
public:
    // All outlive this. `reporter` learns of what is granted and given back.
    WaitingRoom(LockManager& locks, Reporter& reporter, asio::io_context& home,
                const ServerOptions& options);
    WaitingRoom(const WaitingRoom&) = delete;
    WaitingRoom& operator=(const WaitingRoom&) = delete;
    ~WaitingRoom();

    // A grant, or the refusal at the end of the patience. Whoever is gone by then holds nothing.
    // The request is within the limits (LockManager::validate). If its lock id is that of another
    // try in the line, which its sender drew, it takes over that one's place, and that one ends.
    // The place of one whose patience was over a moment ago is still there. `welcome`, if there is
    // one, says whether it may have the lease; called on any thread while it waits. Who is not
    // welcome any more is answered at once, with whatever comes of it.
    [[nodiscard]] Task<Outcome> wait(TryLock wanted, Duration patience,
                                     ClientConnection& connection, std::function<bool()> welcome);

    // The owners of those who wait for the key, in their order, at most options.waiters_named.
    [[nodiscard]] Task<std::vector<std::string>> line_for(const LockKey& key);

    // Ends a lease whose holder does not ask for it.
    void end(Release lease);
    // The same for what this try was granted, unless somebody may know of it after all: a lease
    // that its owner had before, or one whose lock id the client has drawn and can ask with again.
    void give_back_unknown(const TryLock& wanted, const Lease& lease);

    // This lease has ended: whoever waits for its key may try.
    void ended(const Lease& lease);

    // How many wait for each of these keys.
    [[nodiscard]] Task<std::vector<std::size_t>> waiting_for(std::vector<LockKey> keys);

    // Sends away whoever may not have what it waits for any more.
    void send_away_unwelcome();
    // Sends everybody away; whoever comes later, too.
    void close();

    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }
    // The keys that are waited for.
    [[nodiscard]] std::size_t lines() const noexcept { return lines_open_; }

private:
    using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Executor>;

    struct Waiter;
    struct Line;
    using WaiterPtr = std::shared_ptr<Waiter>;

    void join(const WaiterPtr& waiter);
    [[nodiscard]] std::vector<WaiterPtr> everybody() const;
    [[nodiscard]] static WaiterPtr same_try(const Line& line, const TryLock& wanted);
    [[nodiscard]] Clock::time_point waits_since(const Line& line, const Waiter& waiter);
    void leave(const WaiterPtr& waiter);
    // Answers it with the latest refusal, or as soon as there is an answer.
    void end_patience(const WaiterPtr& waiter);
    // Takes it out of its line, whose next may try.
    void answer(WaiterPtr waiter, Outcome outcome);

    // Lets the first of the line try, unless one is trying already or nothing has changed since it
    // tried. Forgets an empty line.
    void serve(Line& line);
    void tried(const WaiterPtr& waiter, Outcome outcome);
    void schedule(Line& line, Clock::time_point due);
    [[nodiscard]] Clock::time_point next_try(const Refusal& refusal) const;
    void set_timer();
    void on_time();

    LockManager& locks_;
    Reporter& reporter_;
    asio::io_context& home_;
    const ServerOptions& options_;
    std::atomic<std::size_t> waiting_{0};
    std::atomic<std::size_t> lines_open_{0};

    // Of the home thread:
    bool closed_ = false;
    std::unordered_map<LockKey, std::unique_ptr<Line>> lines_;
    KeptPlaces kept_places_{options_.place_kept, options_.waiters};
    std::multimap<Clock::time_point, Line*> due_;         // when a line's first tries again
    std::multimap<Clock::time_point, WaiterPtr> ending_;  // when a waiter's patience ends
    Timer timer_;
    Clock::time_point timer_at_ = Clock::time_point::max();
};

}  // namespace leasehold::server
