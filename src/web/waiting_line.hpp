#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
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
// 1. The first request of an owner for a key makes a place: one try that waits (submit_for). Its
//    next request takes over the place, and the one before is answered as held.
// 2. A request that is not answered in its time is answered as held. Without a request, the place
//    is kept for a while, and then given up.
// 3. When the try is granted, the page's request is answered with the lease. If the page has no
//    request under way at that moment, the lease is released when the place would have been given
//    up, unless the page asks again before.
// 4. A client that closes its connection, and a page that withdraws its try, leaves the line. A
//    lease that it is granted at that moment is released.
// 5. A fault of the store ends the place. A lease that it may have been granted is released.
class WaitingLine {
public:
    // Whether this wait is the first to get the lease. An owner that holds the key already gets its
    // lease back.
    enum class Got : std::uint8_t { nothing, new_lease, own_lease };
    using Reply = std::function<void(Outcome, Got)>;
    // Whether a request occupies a thread of the web server while it waits.
    enum class Occupies : std::uint8_t { nothing, thread };
    enum class Joined : std::uint8_t {
        waits,      // `reply` will be called once
        kept,       // no thread is free; the place is kept until the page asks again
        no_thread,  // no thread is free, and the page has no place: see keep_place()
        too_many,   // pages wait
    };
    // After this time a page that found no thread should ask again.
    static constexpr std::chrono::seconds ask_again{3};

    // Both outlive this.
    WaitingLine(LockManager& locks, const LockRoutesOptions& options);
    WaitingLine(const WaitingLine&) = delete;
    WaitingLine& operator=(const WaitingLine&) = delete;
    // Answers all requests, and waits until the lock manager has answered all tries.
    ~WaitingLine();

    // `reply` gets a lease, a refusal or a fault. Throws BadRequest.
    [[nodiscard]] Joined wait(TryLock wanted, const Visitor& who, Duration patience,
                              Occupies occupies, const std::stop_token& client_gone, Reply reply);
    // Makes a place that is kept until the page asks again. False if too many pages wait.
    [[nodiscard]] bool keep_place(TryLock wanted, const Visitor& who);

    // Withdraws the visitor's try that has this lock id.
    void withdraw(const LockKey& key, LockId lock_id, const Visitor& who);

    [[nodiscard]] std::vector<std::string> owners(const LockKey& key) const;

    // Ends every wait, and every one that comes later.
    void close();

private:
    // A page's request that waits for its answer.
    struct OpenRequest {
        std::uint64_t number = 0;
        SteadyClock::time_point until{};
        Occupies occupies = Occupies::nothing;
        Reply reply{};
        std::unique_ptr<std::stop_callback<std::function<void()>>> on_gone{};
    };
    struct Place {
        TryLock wanted;
        std::string user;
        LockId latest_id;  // of its latest request; the lease has that of the first
        std::optional<OpenRequest> asking{};
        SteadyClock::time_point kept_until{};  // while nobody is asking
        std::stop_source stop{};
        bool given_up = false;
    };
    using PlacePtr = std::shared_ptr<Place>;

    // All of these under mutex_:
    [[nodiscard]] PlacePtr find(const TryLock& wanted) const;
    [[nodiscard]] std::vector<PlacePtr> everybody() const;
    [[nodiscard]] bool is_full_for(const std::string& user) const;
    [[nodiscard]] bool has_thread_for(const std::string& user, const Place* place) const;
    PlacePtr add(TryLock wanted, const std::string& user);
    [[nodiscard]] std::optional<OpenRequest> take_request(Place& place);
    [[nodiscard]] std::optional<OpenRequest> give_up(Place& place);
    void forget(const Place& place);
    [[nodiscard]] SteadyClock::time_point next_look() const;

    void start(const PlacePtr& place);
    // The request was taken out of its place, which has been given up.
    void end(const PlacePtr& place, std::optional<OpenRequest> left);
    void leave(PlacePtr place, std::uint64_t number);
    void answered(const PlacePtr& place, const Outcome& outcome);
    void look_after_places(const std::stop_token& stop);
    // Answers with the current holders. The caller has counted it in unanswered_.
    void refuse(const LockKey& key, OpenRequest asking);
    void refuse(const LockKey& key, Reply reply);

    LockManager& locks_;
    const LockRoutesOptions& options_;
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    // All guarded by mutex_:
    bool closed_ = false;
    std::size_t unanswered_ = 0;  // tries of places, and requests that are being refused
    std::uint64_t numbers_ = 0;
    std::unordered_map<LockKey, std::vector<PlacePtr>> lines_;
    std::jthread thread_;  // last: it uses everything above
};

}  // namespace leasehold::web
