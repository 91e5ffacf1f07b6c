#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include <leasehold/lock_manager.hpp>
#include <leasehold/store.hpp>

#include "server/events/reporter.hpp"
#include "server/options.hpp"
#include "server/statistics/statistics.hpp"
#include "server/tasks.hpp"
#include "server/waiting/delayed_releases.hpp"
#include "server/waiting/waiting_room.hpp"

namespace leasehold::server {

// The way to the store. Lets a bounded number of requests through at once; of those that queue,
// the ones that keep or end a lease go before all others. Thread-safe.
class StoreQueue {
public:
    // All outlive this. `room` learns of what ended, `delayed_releases` of what is kept,
    // `statistics` and `reporter` of everything.
    StoreQueue(LockManager& locks, WaitingRoom& room, DelayedReleases& delayed_releases,
               Statistics& statistics, Reporter& reporter, const ServerOptions& options)
        : locks_{locks},
          room_{room},
          delayed_releases_{delayed_releases},
          statistics_{statistics},
          reporter_{reporter},
          options_{options} {}

    // Resumes the caller, on its own executor, with the answer. Throws BadRequest for a request out
    // of bounds; a fault of the store, or too many tries in the queue, is an outcome.
    [[nodiscard]] Task<Outcome> ask(Request request);

    // The same for several, which go to the store in this order; where they must queue, those that
    // keep or end a lease go before others that are not about the same key.
    [[nodiscard]] Task<std::vector<Outcome>> ask_all(std::vector<Request> requests);

    // The same for what the server wants to know for itself: nobody learns of it.
    [[nodiscard]] Task<std::vector<Outcome>> look_up(std::vector<Request> requests);

    // How many requests are in it now, and how many queue.
    struct Queues {
        std::size_t under_way = 0;
        std::size_t keeps = 0;
        std::size_t tries = 0;
    };
    [[nodiscard]] Queues queues();

private:
    // `mixed`: some of them keep or end a lease.
    enum class Urgency : std::uint8_t { keeps_or_ends, mixed, asks_anew };

    // Some that wait to be let in together.
    struct Queued {
        std::size_t requests;
        std::function<void()> enter;
    };
    struct Queue {
        std::deque<Queued> line;
        std::size_t requests = 0;  // of all of them
    };

    static Urgency urgency_of(std::span<const Request> requests);

    // Whether so many more fit. Under mutex_.
    [[nodiscard]] bool has_room_for(std::size_t requests) const noexcept;
    [[nodiscard]] bool enter(std::size_t requests, Urgency urgency);  // under mutex_
    [[nodiscard]] bool enter_at_once(std::size_t requests, Urgency urgency);
    // False where too many queue already.
    [[nodiscard]] Task<bool> queue_up(std::size_t requests, Urgency urgency);
    void leave(std::size_t requests);

    // All of these fill in the outcomes of requests, which are moved from.
    [[nodiscard]] Task<void> pass(std::span<Request> requests, std::span<Outcome> outcomes);
    [[nodiscard]] Task<void> pass_in_turn(std::span<Request> requests, std::span<Outcome> outcomes,
                                          Urgency urgency);
    // First those that must not wait for tries, then the others.
    [[nodiscard]] Task<void> pass_in_parts(std::span<Request> requests,
                                           std::span<Outcome> outcomes);
    [[nodiscard]] Task<void> be_answered(std::span<Request> requests, std::span<Outcome> outcomes);

    // Requests that are with the store, and who waits for their answers.
    class Call;
    void hand_over(Call& call, std::span<Request> requests, std::span<Outcome> outcomes);
    [[nodiscard]] static Task<void> wait_for(Call& call);

    void tell(const Request& request, std::string_view asker, const Outcome& outcome);
    void tell_room(const Request& request, const Outcome& outcome);

    LockManager& locks_;
    WaitingRoom& room_;
    DelayedReleases& delayed_releases_;
    Statistics& statistics_;
    Reporter& reporter_;
    const ServerOptions& options_;
    std::mutex mutex_;
    std::size_t under_way_ = 0;  // guarded by mutex_
    Queue urgent_;               // guarded by mutex_; one message per connection at most
    Queue patient_;              // guarded by mutex_; about options_.queued_tries requests
};

}  // namespace leasehold::server
