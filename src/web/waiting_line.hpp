#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <leasehold/lock_manager.hpp>
#include <leasehold/request.hpp>
#include <leasehold/web/lock_routes.hpp>

namespace leasehold::web {

// The pages that wait for locks. A page waits with one request after the other; its place in the
// line, which is LockManager's, lasts longer than each of them. Thread-safe.
//
// 1. The first request of an owner for a key makes a place: one try that waits (submit_for). Later
//    requests join the place.
// 2. A request that is not answered in its time is answered as held. Without a request, the place
//    is kept for `place_kept`, and then given up.
// 3. A grant answers all requests of the place. If there is none at that moment, the lease is
//    released unless the page asks again within `place_kept`.
// 4. A client that closes its connection, and a page that withdraws its try, leaves the line. A
//    lease that it is granted at that moment is released.
class WaitingLine {
public:
    using Reply = std::function<void(Outcome)>;

    // Both outlive this.
    WaitingLine(LockManager& locks, const LockRoutesOptions& options);
    WaitingLine(const WaitingLine&) = delete;
    WaitingLine& operator=(const WaitingLine&) = delete;
    // Answers all requests, and waits until the lock manager has answered all tries.
    ~WaitingLine();

    // Calls `reply` once, with a lease, a refusal or a fault. False if too many are waiting: then
    // `reply` is not called. Throws BadRequest.
    [[nodiscard]] bool wait(TryLock wanted, Duration patience, const std::stop_token& client_gone,
                            Reply reply);

    // Withdraws the visitor's try that has this lock id.
    void withdraw(const LockKey& key, LockId lock_id, const Visitor& who);

    [[nodiscard]] std::vector<std::string> owners(const LockKey& key) const;

    // Ends every wait, and every one that comes later.
    void close();

private:
    struct Asking {
        std::uint64_t number = 0;
        SteadyClock::time_point until{};
        Reply reply{};
        std::unique_ptr<std::stop_callback<std::function<void()>>> on_gone{};
    };
    struct Place {
        TryLock wanted;
        std::vector<LockId> lock_ids{};  // of all its requests; the lease has that of the first
        std::list<Asking> asking{};
        SteadyClock::time_point kept_until{};  // while nobody is asking
        std::stop_source stop{};
        bool given_up = false;
    };
    using PlacePtr = std::shared_ptr<Place>;

    // All of these under mutex_:
    [[nodiscard]] static bool has(const Place& place, LockId lock_id);
    [[nodiscard]] PlacePtr find(const LockKey& key, const std::string& owner) const;
    void forget(const Place& place);
    [[nodiscard]] SteadyClock::time_point next_look() const;

    void leave(PlacePtr place, std::uint64_t number);
    void give_up(const PlacePtr& place);
    void start(const PlacePtr& place);
    void answered(const PlacePtr& place, Outcome outcome);
    void look_after_places(const std::stop_token& stop);
    // Answers with the current holders. Counted in unanswered_ by the caller, since it took the
    // request out of its place.
    void refuse(const LockKey& key, Reply reply);

    LockManager& locks_;
    const LockRoutesOptions& options_;
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    // All guarded by mutex_:
    bool closed_ = false;
    std::size_t waiting_ = 0;     // requests
    std::size_t unanswered_ = 0;  // tries of places, and requests that are being refused
    std::uint64_t numbers_ = 0;
    std::unordered_map<LockKey, std::vector<PlacePtr>> lines_;
    std::jthread thread_;  // last: it uses everything above
};

}  // namespace leasehold::web
