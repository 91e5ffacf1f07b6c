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
// gather in a group; when the store is free again one of them leads the group's batch. Requests
// that nobody waits for are led by a thread of the batcher's own, started when the first of them
// comes. Thread-safe. Every request is answered exactly once, even while the batcher is being
// destroyed.
class Batcher {
public:
    using Reply = std::function<void(Outcome)>;
    using Clock = std::chrono::steady_clock;

    // Both outlive this.
    Batcher(Store& store, const Limits& limits);
    Batcher(const Batcher&) = delete;
    Batcher& operator=(const Batcher&) = delete;
    ~Batcher();

    // Waits for the answer. A StoreFault is an outcome here, not an exception.
    [[nodiscard]] Outcome ask(Request&& request);

    // Does not wait. Throws std::system_error where no thread can be started for the first one.
    void submit(Request request, Reply reply);

private:
    enum class Stage : std::uint32_t { gathering, leader_wanted, led, done };

    // A stage that threads sleep on. (std::atomic::wait yields the processor some times before it
    // sleeps, which with many waiters costs more than the work.)
    class StageSignal {
    public:
        [[nodiscard]] Stage get() const noexcept { return stage_; }
        [[nodiscard]] bool advance(Stage from, Stage to) noexcept {
            return stage_.compare_exchange_strong(from, to);
        }
        // Sleeps while the stage is this one.
        void wait_while(Stage stage) noexcept;
        void set_and_wake(Stage stage, int sleepers) noexcept;

    private:
        std::atomic<Stage> stage_{Stage::gathering};
    };

    // A request whose caller does not wait.
    struct Submitted {
        std::size_t index;  // in its group
        Reply reply;
        Clock::time_point give_up;  // when a busy answer is final
    };

    // Requests that travel together. Those who wait for an answer wait on `stage`.
    struct Group {
        std::vector<Request> requests;     // guarded by mutex_ while gathering
        std::vector<Submitted> submitted;  // guarded by mutex_ while gathering
        std::vector<Outcome> outcomes;     // written by the leader before `done`
        StageSignal stage;

        [[nodiscard]] bool somebody_waits() const { return requests.size() > submitted.size(); }
    };

    // Asks again when it is due, because an open transaction was on the lease.
    struct Deferred {
        Clock::time_point due;
        Request request;
        Reply reply;
        Clock::time_point give_up;
    };

    struct Seat {
        std::shared_ptr<Group> group;
        std::size_t index = 0;
    };

    [[nodiscard]] bool enter_lane() noexcept;
    void leave_lane();
    // Takes a place in the youngest group; none where the queue is full.
    [[nodiscard]] Seat take_seat(Request& request);
    void appoint_leaders();
    void lead(Group& group);
    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) noexcept;
    [[nodiscard]] Outcome ask_once(Request& request);
    void enqueue(Request&& request, Reply&& reply, Clock::time_point give_up);
    void reply_to(Group& group, Submitted& submitted);
    void run_dispatcher();

    Store& store_;
    const Limits& limits_;
    const std::size_t lanes_;

    std::atomic<std::size_t> busy_lanes_{0};
    std::atomic<std::size_t> queued_{0};  // requests in groups_

    std::mutex mutex_;
    std::deque<std::shared_ptr<Group>> groups_;       // guarded by mutex_; not led yet
    std::deque<std::shared_ptr<Group>> to_dispatch_;  // guarded by mutex_; each owns a lane
    std::vector<Deferred> deferred_;                  // guarded by mutex_; bounded as the queue is
    bool closing_ = false;                            // guarded by mutex_
    std::size_t unanswered_ = 0;                      // guarded by mutex_; submitted requests
    std::condition_variable dispatcher_wakes_;
    std::thread dispatcher_;  // guarded by mutex_ until closing
};

}  // namespace leasehold
