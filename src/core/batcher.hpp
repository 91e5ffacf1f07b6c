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

#include "core/names_in_use.hpp"
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
// While the store wants its calls spaced (Store::spacing()), because its database is at a distance:
//   8. All requests take step 2. There are as many dispatchers as the store takes calls. If no call
//      runs, the next one begins at once, else not before the spacing is over.
//   9. A call takes the requests of the oldest group that clash with no request under way
//      (NamesInUse). The others of that group are held back for a later call.
//  10. The call is apply_first(). Its answers are given at once; the requests that it left wait for
//      a call of apply_rest(). One call at least remains for the requests of other groups.
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

    struct Group;

    // Where a request waits. Without a group: it could not be queued.
    struct Queued {
        std::shared_ptr<Group> group;
        std::size_t index = 0;
    };

    // Requests that are sent together.
    struct Group {
        std::vector<Request> requests;     // guarded by mutex_ while gathering
        std::size_t weight = 0;            // guarded by mutex_; of the requests
        std::vector<Submitted> submitted;  // guarded by mutex_ while gathering
        std::vector<Outcome> outcomes;     // as many as requests; written before `done`
        // Where the requests are that moved to another group; written before `done`. Empty if none
        // did.
        std::vector<Queued> moved;
        std::vector<NamesInUse::Name> names;  // guarded by mutex_; added to names_in_use_
        bool is_held_back = false;            // guarded by mutex_; takes no new requests
        bool is_spaced = false;               // written before it is sent
        bool is_rest = false;                 // the same
        Signal done;

        [[nodiscard]] bool has_moved(std::size_t index) const {
            return index < moved.size() && moved[index].group;
        }
    };

    // A busy request, to be sent again when it is due.
    struct Deferred {
        Clock::time_point due;
        Request request;
        Reply reply;
        Retry retry;
    };

    using Indices = std::vector<std::size_t>;
    using Call = void (Store::*)(std::span<const Request>, std::span<Outcome>);

    [[nodiscard]] Outcome ask_once(Request& request);
    void enqueue(Request&& request, Reply&& reply, const Retry& retry);
    // Adds the request to the youngest group. Under mutex_.
    [[nodiscard]] Queued join_group(Request& request);
    [[nodiscard]] Outcome cannot_queue() const;

    // Counts a call to the store. False if the store takes no more at once.
    [[nodiscard]] bool begin_call() noexcept;
    void end_call();
    // Answers every request, if need be with a fault; apply_first() may leave some.
    void apply(Call call, std::span<const Request> requests, std::span<Outcome> outcomes) noexcept;
    void apply_with_memory(Call call, std::span<const Request> requests,
                           std::span<Outcome> outcomes);

    // False if there is no dispatcher, and none can be started. Under mutex_.
    [[nodiscard]] bool start_dispatcher();
    [[nodiscard]] bool add_dispatcher();
    void wake_dispatcher();
    void run_dispatcher();
    // False if there is no group, or the store is busy.
    [[nodiscard]] bool dispatch_next(std::unique_lock<std::mutex>& lock);
    void dispatch(Group& group, Call call);
    void wait_for_work(std::unique_lock<std::mutex>& lock);

    // For spaced calls; all but is_spaced() and dispatch_spaced() under mutex_.
    [[nodiscard]] bool is_spaced() const noexcept;
    [[nodiscard]] bool dispatch_spaced(std::unique_lock<std::mutex>& lock);
    // The requests that clash with none under way. Nothing if every request does.
    [[nodiscard]] std::shared_ptr<Group> take_sendable();
    [[nodiscard]] std::shared_ptr<Group> take_sendable_of(std::size_t place);
    // The requests that the first call left unanswered.
    void keep_rest(Group& group);
    // Makes room, so that the move that follows needs no memory.
    static void make_room_to_move(Group& from, Group& to, std::size_t requests);
    static void move_requests(Group& from, const Indices& which,
                              const std::shared_ptr<Group>& to) noexcept;
    [[nodiscard]] bool begin_spaced_call() noexcept;
    void end_dispatched_call(Group& group) noexcept;
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
    const bool takes_any_number_;
    const Duration housekeeping_interval_;

    std::atomic<std::size_t> running_calls_{0};
    std::atomic<std::size_t> queued_{0};                // requests in groups_ and rests_
    std::atomic<Clock::time_point> next_housekeeping_;  // never while it is pending
    std::atomic<bool> housekeeping_pending_{false};     // due, or under way

    std::mutex mutex_;
    std::deque<std::shared_ptr<Group>> groups_;  // guarded by mutex_; not sent yet
    std::vector<Deferred> deferred_;             // guarded by mutex_; bounded as the queue is
    bool closing_ = false;                       // guarded by mutex_
    std::size_t unanswered_ = 0;                 // guarded by mutex_; submitted requests
    std::condition_variable dispatcher_wakes_;
    std::vector<std::thread> dispatchers_;  // guarded by mutex_ until closing
    std::size_t idle_dispatchers_ = 0;      // guarded by mutex_; these wait

    // For spaced calls; guarded by mutex_.
    std::deque<std::shared_ptr<Group>> rests_;  // left by apply_first(); not sent again yet
    std::size_t spaced_calls_ = 0;              // of running_calls_
    std::size_t rest_calls_ = 0;                // of spaced_calls_
    Clock::time_point next_call_{};             // not earlier, while a call runs
    bool next_call_is_awaited_ = false;         // by one dispatcher
    NamesInUse names_in_use_;                   // of the requests under way and in rests_
    // Used by take_sendable() only.
    NamesInUse held_back_;
    std::vector<NamesInUse::Name> names_;
    Indices goes_, stays_;
};

}  // namespace leasehold
