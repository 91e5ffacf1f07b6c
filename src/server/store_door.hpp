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

#include "server/events/reporter.hpp"
#include "server/partings.hpp"
#include "server/server.hpp"
#include "server/statistics/statistics.hpp"
#include "server/tasks.hpp"
#include "server/waiting_room.hpp"

namespace leasehold::server {

// The way to the store. Lets a bounded number of requests through at once; of those that queue,
// the ones that keep or end a lease go before new tries. Thread-safe.
class StoreDoor {
public:
    // All outlive this. `room` learns of what ended, `partings` of what is kept, `statistics` and
    // `reporter` of everything.
    StoreDoor(LockManager& locks, WaitingRoom& room, Partings& partings, Statistics& statistics,
              Reporter& reporter, const ServerOptions& options)
        : locks_{locks},
          room_{room},
          partings_{partings},
          statistics_{statistics},
          reporter_{reporter},
          options_{options} {}

    // Resumes the caller, on its own executor, with the answer. Throws BadRequest for a request out
    // of bounds; a fault of the store, or too many tries in the queue, is an outcome.
    [[nodiscard]] Task<Outcome> ask(Request request);

    // The same for several, which go to the store in this order.
    [[nodiscard]] Task<std::vector<Outcome>> ask_all(std::vector<Request> requests);

    // The same for what the server wants to know for itself: nobody learns of it.
    [[nodiscard]] Task<std::vector<Outcome>> look_up(std::vector<Request> requests);

    // How many are in it now, and how many queue.
    struct Queues {
        std::size_t under_way = 0;
        std::size_t keeps = 0;
        std::size_t tries = 0;
    };
    [[nodiscard]] Queues queues();

private:
    enum class Urgency : std::uint8_t { keeps_or_ends, asks_anew };
    using Enter = std::function<void()>;

    static Urgency urgency_of(std::span<const Request> requests);

    [[nodiscard]] bool enter_at_once();
    // False where too many queue already.
    [[nodiscard]] Task<bool> queue_up(Urgency urgency);
    void leave();

    // Fills in the outcomes of requests, which are moved from. False where they were turned away.
    [[nodiscard]] Task<bool> pass(std::span<Request> requests, std::span<Outcome> outcomes);

    // Requests that are with the store, and who waits for their answers.
    class Call;
    void hand_over(Call& call, std::span<Request> requests, std::span<Outcome> outcomes);
    [[nodiscard]] static Task<void> wait_for(Call& call);

    void tell(const Request& request, std::string_view asker, const Outcome& outcome);
    void tell_room(const Request& request, const Outcome& outcome);

    LockManager& locks_;
    WaitingRoom& room_;
    Partings& partings_;
    Statistics& statistics_;
    Reporter& reporter_;
    const ServerOptions& options_;
    std::mutex mutex_;
    std::size_t under_way_ = 0;  // guarded by mutex_
    std::deque<Enter> urgent_;   // guarded by mutex_; one per connection at most
    std::deque<Enter> patient_;  // guarded by mutex_; at most options_.queued_tries
};

}  // namespace leasehold::server
