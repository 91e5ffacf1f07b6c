#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include <leasehold/limits.hpp>
#include <leasehold/store.hpp>
#include <leasehold/time.hpp>

#include "core/request_traits.hpp"
#include "core/retry.hpp"

namespace leasehold {

// Gathers requests while the store is busy, and sends them to the store as one batch.
//
// The store takes a fixed number of calls at once (Store::concurrency()). A request goes this way:
//   1. If no request waits and the store takes one more call, a blocking caller (ask) makes that
//      call itself, on its own thread. The answer goes to it directly.
//   2. Otherwise the request joins the youngest group. If the group would become heavier than
//      Limits::batch_requests plain tries (weight_of), the request begins the next one. If
//      Limits::queued_requests are waiting already, the answer is a fault.
//   3. Whenever the store takes one more call, the dispatcher, a thread that is started with the
//      first group, sends the oldest group to the store as one batch.
//   4. The dispatcher wakes the blocking callers of that group, and calls the replies of the
//      submitted requests.
//   5. A request that another transaction blocks (busy) is sent again after a short pause, until
//      Limits::busy_patience is over. Then busy is its answer.
//   6. Each lease in an answer gets Lease::valid_until and Lease::ended.
//   7. When housekeeping is due and no request waits, the dispatcher lets the store do it, one
//      small piece at a time. A request that arrives meets at most one piece.
//
// Thread-safe. Every request is answered exactly once, also while the batcher is being destroyed.
class Batcher {
public:
    using Reply = std::function<void(Outcome)>;
    using Clock = SteadyClock;

    struct Options {
        // Who sends the groups: the dispatcher, or the caller of dispatch_one(), for tests in
        // simulated time.
        enum class Dispatch : std::uint8_t { by_thread, by_caller };
        Dispatch dispatch = Dispatch::by_thread;
        // How often the store keeps house, if not as often as it says itself.
        std::optional<Duration> housekeeping_interval{};
    };

    // Both outlive this.
    Batcher(Store& store, const Limits& limits) : Batcher{store, limits, Options{}} {}
    Batcher(Store& store, const Limits& limits, Options options);
    Batcher(const Batcher&) = delete;
    Batcher& operator=(const Batcher&) = delete;
    ~Batcher();

    // Waits for the answer. A StoreFault is an outcome here, not an exception.
    [[nodiscard]] Outcome ask(Request&& request);

    // Does not wait. `reply` is called by the dispatcher; or by this function, if the request
    // cannot be queued, or if the store takes any number of calls at once and so answers without a
    // queue.
    void submit(Request request, Reply reply);

    // Sends the oldest group, and calls its replies. False if there is no group.
    bool dispatch_one();

private:
    // A request whose caller does not wait.
    struct Submitted {
        std::size_t index;  // in its group
        Reply reply;
        Clock::time_point asked_at;
        Retry retry;  // of a busy answer
    };

    // Set once. The thread that sets it wakes two sleepers, and every sleeper that wakes wakes two
    // more: the thread that sets it has other work to do.
    class Signal {
    public:
        void wait() noexcept;
        void set(std::size_t sleepers) noexcept;

    private:
        void wake_some() noexcept;

        std::atomic<std::uint32_t> set_{0};
        std::atomic<std::size_t> asleep_{0};  // at most; known once it is set
    };

    // Requests that are sent together.
    struct Group {
        std::vector<Request> requests;     // guarded by mutex_ while gathering
        std::size_t weight = 0;            // guarded by mutex_; of the requests
        std::vector<Submitted> submitted;  // guarded by mutex_ while gathering
        std::vector<Outcome> outcomes;     // as many as requests; written before `done`
        Signal done;
    };

    // A busy request, to be sent again when it is due.
    struct Deferred {
        Clock::time_point due;
        Request request;
        Reply reply;
        Retry retry;
    };

    // Where a request waits. Without a group: it could not be queued.
    struct Queued {
        std::shared_ptr<Group> group;
        std::size_t index = 0;
    };

    [[nodiscard]] Outcome ask_once(Request& request);
    void enqueue(Request&& request, Reply&& reply, const Retry& retry);
    // Adds the request to the youngest group. Under mutex_.
    [[nodiscard]] Queued join_group(Request& request);
    [[nodiscard]] Outcome cannot_queue() const;

    // Counts a call to the store. False if the store takes no more at once.
    [[nodiscard]] bool begin_call() noexcept;
    void end_call();
    // Answers every request, if need be with a fault.
    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) noexcept;
    void apply_with_memory(std::span<const Request> requests, std::span<Outcome> outcomes);

    [[nodiscard]] bool start_dispatcher();
    void wake_dispatcher();
    void run_dispatcher();
    // False if there is no group, or the store is busy.
    [[nodiscard]] bool dispatch_next(std::unique_lock<std::mutex>& lock);
    void dispatch(Group& group);
    void reply_to(Group& group, Submitted& submitted);
    [[nodiscard]] bool send_deferred(std::unique_lock<std::mutex>& lock);
    // Sets housekeeping_pending_ if housekeeping is due. True for one caller, which sees to it that
    // the dispatcher runs.
    [[nodiscard]] bool begin_housekeeping(Clock::time_point now) noexcept;
    void end_housekeeping() noexcept;
    void wake_housekeeper();
    [[nodiscard]] bool keep_house(std::unique_lock<std::mutex>& lock);

    Store& store_;
    const Limits& limits_;
    const Options options_;
    const std::size_t max_calls_;
    const Duration housekeeping_interval_;

    std::atomic<std::size_t> running_calls_{0};
    std::atomic<std::size_t> queued_{0};                // requests in groups_
    std::atomic<Clock::time_point> next_housekeeping_;  // never while it is pending
    std::atomic<bool> housekeeping_pending_{false};     // due, or under way

    std::mutex mutex_;
    std::deque<std::shared_ptr<Group>> groups_;  // guarded by mutex_; not sent yet
    std::vector<Deferred> deferred_;             // guarded by mutex_; bounded as the queue is
    bool closing_ = false;                       // guarded by mutex_
    std::size_t unanswered_ = 0;                 // guarded by mutex_; submitted requests
    std::condition_variable dispatcher_wakes_;
    std::thread dispatcher_;  // guarded by mutex_ until closing
};

}  // namespace leasehold
