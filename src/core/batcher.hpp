#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <leasehold/limits.hpp>
#include <leasehold/store.hpp>

namespace leasehold {

// Collects requests while the store is busy and hands them over as one batch.
//
// A caller that finds the store idle applies its request itself. Callers that arrive meanwhile
// gather in a group, which a thread of the batcher's own, started when the first of them comes,
// applies as one batch as soon as the store is free; while there is always a next group it never
// sleeps. Thread-safe. Every request is answered exactly once, even while the batcher is being
// destroyed.
class Batcher {
public:
    using Reply = std::function<void(Outcome)>;
    using Clock = std::chrono::steady_clock;

    // Who hands over what has gathered: a thread of its own, or whoever calls lead_one(), for tests
    // in simulated time.
    enum class Led : std::uint8_t { by_a_thread, by_hand };

    // Both outlive this.
    Batcher(Store& store, const Limits& limits, Led led = Led::by_a_thread);
    Batcher(const Batcher&) = delete;
    Batcher& operator=(const Batcher&) = delete;
    ~Batcher();

    // Waits for the answer. A StoreFault is an outcome here, not an exception.
    [[nodiscard]] Outcome ask(Request&& request);

    // Does not wait. The reply comes from the batcher's thread, or from here where nothing can be
    // asked, or where the store takes any number of calls at once: it need not be waited for.
    void submit(Request request, Reply reply);

    // Hands over the group that gathered first, and calls its replies. False where there is none.
    bool lead_one();

private:
    // A request whose caller does not wait.
    struct Submitted {
        std::size_t index;  // in its group
        Reply reply;
        Clock::time_point give_up;  // when a busy answer is final
    };

    // Is set once, and those who sleep on it wake each other: whoever sets it has better to do.
    class Signal {
    public:
        void wait() noexcept;
        void set(std::size_t sleepers) noexcept;

    private:
        void wake_some() noexcept;

        std::atomic<std::uint32_t> set_{0};
        std::atomic<std::size_t> asleep_{0};  // at most; known once it is set
    };

    // Requests that travel together.
    struct Group {
        std::vector<Request> requests;     // guarded by mutex_ while gathering
        std::vector<Submitted> submitted;  // guarded by mutex_ while gathering
        std::vector<Outcome> outcomes;     // written before `done`
        Signal done;
    };

    // Asks again when it is due, because an open transaction was on the lease.
    struct Deferred {
        Clock::time_point due;
        Request request;
        Reply reply;
        Clock::time_point give_up;
    };

    struct Seat {
        std::shared_ptr<Group> group;  // none where there was no place
        std::size_t index = 0;
    };

    [[nodiscard]] Outcome ask_once(Request& request);
    void enqueue(Request&& request, Reply&& reply, Clock::time_point give_up);
    // Takes a place in the youngest group. Under mutex_.
    [[nodiscard]] Seat take_seat(Request& request);
    [[nodiscard]] Outcome no_seat() const;

    [[nodiscard]] bool enter_lane() noexcept;
    void leave_lane();
    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) noexcept;

    [[nodiscard]] bool start_dispatcher();
    void wake_dispatcher();
    void run_dispatcher();
    // False where nothing has gathered, or the store is busy.
    [[nodiscard]] bool lead_next(std::unique_lock<std::mutex>& lock);
    void lead(Group& group);
    void reply_to(Group& group, Submitted& submitted);
    [[nodiscard]] bool ask_again_what_is_due(std::unique_lock<std::mutex>& lock);

    Store& store_;
    const Limits& limits_;
    const Led led_;
    const std::size_t lanes_;

    std::atomic<std::size_t> busy_lanes_{0};
    std::atomic<std::size_t> queued_{0};  // requests in groups_

    std::mutex mutex_;
    std::deque<std::shared_ptr<Group>> groups_;  // guarded by mutex_; not applied yet
    std::vector<Deferred> deferred_;             // guarded by mutex_; bounded as the queue is
    bool closing_ = false;                       // guarded by mutex_
    std::size_t unanswered_ = 0;                 // guarded by mutex_; submitted requests
    std::condition_variable dispatcher_wakes_;
    std::thread dispatcher_;  // guarded by mutex_ until closing
};

}  // namespace leasehold
