#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "server/options.hpp"
#include "server/requests.hpp"
#include "server/store/store_queue.hpp"
#include "server/tasks.hpp"

namespace leasehold::server {

// Releases leases whose holders left a while ago and did not come back: a page that was closed, as
// opposed to one that was reloaded. If this process ends, the lease ends with its expiry. Thread-
// safe; its timer runs on its io_context.
//
// 1. announce(): the holder says that it leaves. From now on a sign of the holder cancels the
//    release.
// 2. end_later(): the store has confirmed the lease; the release is scheduled.
// 3. A renewal, an extension or a repeated try with the same lock id is a sign of the holder.
// 4. When the time has come, the release goes to the store, on the condition that the lease was not
//    prolonged through another server.
// 5. If the store does not answer, the release goes to it again a few seconds later, until the
//    store answers or the holder comes back.
class DelayedReleases final : public OutcomeListener {
public:
    // All outlive this.
    DelayedReleases(StoreQueue& store, asio::io_context& home, const ServerOptions& options);
    ~DelayedReleases() override;

    // The holder of this lease leaves. Nothing if that cannot be kept, because too many releases
    // are scheduled or the server is stopping: release the lease at once. `place` is kept as long
    // as the release is scheduled. Several announcements for one lease are one release.
    using Number = std::uint64_t;
    [[nodiscard]] std::optional<Number> announce(const LockKey& key, LockId lock_id,
                                                 std::shared_ptr<void> place);
    // The store did not say whether the announced lease is alive. What was confirmed for another
    // announcement stays.
    void withdraw(LockId lock_id, Number number);
    // Releases the lease then, unless its holder came back since it was announced. False if the
    // server is stopping: release the lease at once. `by` is for the history. `owners_place` is
    // kept as long as the release is scheduled.
    [[nodiscard]] bool end_later(const Lease& lease, std::chrono::milliseconds after,
                                 const std::string& by, std::shared_ptr<void> owners_place = {});

    // Cancels the release: the holder came back, or there was no such lease.
    void came_back(LockId lock_id) {
        if (scheduled_ > 0) cancel(lock_id);
    }

    void sending(const Request& request) override;
    void answered(const Answered& answered) override;

    // Cancels all releases, and schedules no more.
    void close();

private:
    struct Scheduled {
        Release release;
        std::shared_ptr<void> place;  // in the quota of the client's token
        Number number;
        std::size_t unconfirmed;  // announcements for which the store is being asked
        bool confirmed = false;
        std::shared_ptr<void> owners_place{};  // in the share of the lease's owner
        bool under_way = false;                // the store is being asked to release the lease
    };
    using Due = std::multimap<Clock::time_point, Scheduled>;

    using ById = std::unordered_map<LockId, Due::iterator>;

    void cancel(LockId lock_id);
    void forget(ById::iterator announced);  // under mutex_
    void set_timer();
    void on_time();
    void send(Scheduled& scheduled);                           // under mutex_
    void put_off(Due::iterator due, Clock::time_point until);  // under mutex_
    // The store has answered a release that was sent.
    void released(LockId lock_id, Number number, const Outcome& outcome);

    StoreQueue& store_;
    asio::io_context& home_;
    const ServerOptions& options_;
    std::atomic<std::size_t> scheduled_{0};  // the size of due_
    Timer timer_;                            // of the home thread

    std::mutex mutex_;
    bool closed_ = false;  // guarded by mutex_
    Number numbers_ = 0;   // guarded by mutex_
    Due due_;              // guarded by mutex_
    ById by_id_;           // guarded by mutex_; of all in due_
};

}  // namespace leasehold::server
