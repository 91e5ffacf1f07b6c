#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/key_watcher.hpp"
#include "server/http/client_connection.hpp"
#include "server/options.hpp"
#include "server/requests.hpp"
#include "server/store/store_queue.hpp"
#include "server/tasks.hpp"
#include "server/waiting/kept_places.hpp"

namespace leasehold::server {

// Where tries wait for their key, first come, first served. Thread-safe; works on the thread of its
// io_context.
//
// 1. A try joins the line of its key, at the end. A try that repeats another one, with the lock id
//    that its client drew, takes over that one's place; one whose time was up a moment ago gets its
//    place back. An owner that holds the key already goes first, because it need not wait for
//    itself; if the store refuses it, because it holds the key with another token, it goes back to
//    the end.
// 2. Only the first of a line asks the store, once when it becomes the first.
// 3. It asks again when a lease of the key ends through this server, when the store's watch
//    (KeyWatcher) says that one may have ended through another process, when a lease is due to
//    expire, and every `wait_poll` because the watch may miss an end.
// 4. A grant answers it, and the next becomes the first (step 2).
// 5. A try whose time is up is answered with the latest refusal of the line. If it is asking the
//    store at that moment, the store's answer is its answer.
// 6. A client that closes its connection leaves the line. A lease that was granted to it is
//    released at once, unless the client may know of it.
//
// LockManager has another line, WaitingLines, with the same order; docs/decisions/two-lines.md says
// why it is another class.
class WaitingRoom final : public OutcomeListener {
public:
    // All outlive this. The refusals at the end of a wait are published to `outcomes`. The watch is
    // that of the store.
    WaitingRoom(StoreQueue& store, const OutcomeStream& outcomes, asio::io_context& home,
                const ServerOptions& options, KeyWatcher::Open watch);
    ~WaitingRoom() override;

    // A grant, or the refusal when the time is up. A client that is gone by then holds nothing. The
    // request is within the limits (LockManager::validate). `still_allowed`, if there is one, says
    // whether the client may still have the lease; it is called on any thread while the try waits.
    // A client that may not is answered at once. `name` is that of the client's token, for the
    // history.
    [[nodiscard]] Task<Outcome> wait(TryLock wanted, std::string name, Duration patience,
                                     ClientConnection& connection,
                                     std::function<bool()> still_allowed);

    // The owners of the tries that wait for the key, in their order, at most options.waiters_named.
    [[nodiscard]] Task<std::vector<std::string>> line_for(const LockKey& key);

    // Releases the lease that this try was granted, unless the client may know of it: because its
    // owner held the lease before, or because the client drew the lock id and can repeat the try.
    // `name` is that of the client's token.
    void give_back_unknown(const TryLock& wanted, const Lease& lease, const std::string& name);

    // Step 3.
    void answered(const Answered& answered) override;

    // The number of tries that wait for any of these keys.
    [[nodiscard]] Task<std::size_t> waiting_for(const KeySet& keys);
    // The number of tries that wait for each of these keys.
    [[nodiscard]] Task<std::vector<std::size_t>> waiting_for(std::vector<LockKey> keys);

    // Answers the tries of clients whose token no longer allows them.
    void send_away_revoked();
    // Answers all tries, and every one that comes later.
    void close();

    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }
    // The number of keys that tries wait for.
    [[nodiscard]] std::size_t lines() const noexcept { return lines_open_; }

private:
    struct Waiter;
    struct Line;
    using WaiterPtr = std::shared_ptr<Waiter>;

    void ended(const Lease& lease);
    // Step 3: leases of these keys may have ended.
    void wake(std::vector<LockKey> keys);
    // Step 1. A try for which there is no memory is answered with a fault.
    void join_or_refuse(const WaiterPtr& waiter);
    void join(const WaiterPtr& waiter);
    [[nodiscard]] std::vector<WaiterPtr> everybody() const;
    [[nodiscard]] static WaiterPtr same_try(const Line& line, const TryLock& wanted);
    [[nodiscard]] Clock::time_point waits_since(const Line& line, const Waiter& waiter);
    // Step 1, for owners that an earlier refusal of the line did not name among very many holders.
    static void put_holders_first(Line& line);
    void leave(const WaiterPtr& waiter);
    // Step 5.
    void end_patience(const WaiterPtr& waiter);
    // Takes the try out of its line. The next one becomes the first.
    void answer(WaiterPtr waiter, Outcome outcome);

    // Lets the first of the line ask the store, unless it is asking already or nothing has changed
    // since it asked. Forgets an empty line.
    void serve(Line& line);
    void tried(const WaiterPtr& waiter, Outcome outcome);
    void schedule(Line& line, Clock::time_point due);
    [[nodiscard]] Clock::time_point next_try(const Refusal& refusal) const;
    void set_timer();
    void on_time();

    StoreQueue& store_;
    const OutcomeStream& outcomes_;
    asio::io_context& home_;
    const ServerOptions& options_;
    std::atomic<std::size_t> waiting_{0};
    std::atomic<std::size_t> lines_open_{0};

    // Of the home thread:
    bool closed_ = false;
    std::unordered_map<LockKey, std::unique_ptr<Line>> lines_;
    KeptPlaces kept_places_{options_.place_kept, options_.waiters};
    std::multimap<Clock::time_point, Line*> due_;         // when the first of a line asks again
    std::multimap<Clock::time_point, WaiterPtr> ending_;  // when a try's time is up
    Timer timer_;
    Clock::time_point timer_at_ = Clock::time_point::max();

    KeyWatcher watcher_;  // the last: its thread uses the other members
};

}  // namespace leasehold::server
