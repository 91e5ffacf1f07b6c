#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/lock_manager.hpp>
#include <leasehold/store.hpp>

#include "server/options.hpp"
#include "server/requests.hpp"
#include "server/store/answer_allowance.hpp"
#include "server/tasks.hpp"

namespace leasehold::server {

// The way to the store for all parts of the server. Lets a bounded number of requests through at
// once. Thread-safe.
//
// 1. A request enters at once if there is room for it and no other queues before it. There is room
//    for `requests_under_way` plain tries, and heavier requests take more of it (weight_of). A
//    message that is heavier than all the room enters when it is alone.
// 2. Otherwise it queues. Requests that keep or end a lease have a queue of their own, which is
//    served before the queue of the others. But after one part of one token (Limits), that token
//    rests until one of the others has entered, if possible of another token; and after four times
//    the room in all one of the others enters. So no flood of checks or releases stops tries. In
//    each queue the clients take turns, by their token, so that no token makes the others wait
//    behind all its requests. If
//    `queued_tries` others queue, one more is refused. A token may not queue more of them than the
//    number of places that stay free. Requests of the server's own parts (submit) are neither
//    counted nor refused; the try of a client that waits takes the turn of its token.
// 3. A batch with requests of both paces is split, so that the requests that keep or end a lease do
//    not wait behind tries; requests about the same key stay in their order. A heavy batch is sent
//    in parts, so that the requests of others get in between.
// 4. A release of more leases of an owner than end in one transaction goes key by key, in parts.
// 5. The outcome is published to the stream of outcomes, and the caller continues.
// 6. When a request leaves, the queued ones that fit now enter, in their turn.
class StoreQueue {
public:
    // All outlive this.
    StoreQueue(LockManager& locks, const OutcomeStream& outcomes, const ServerOptions& options)
        : locks_{locks}, outcomes_{outcomes}, options_{options} {}

    // Resumes the caller, on its own executor, with the outcome. Throws BadRequest for a request
    // that exceeds the limits. A fault of the store, and a full queue, are outcomes. `client` is
    // the id of the client's token and outlives the call; empty for a client without a token.
    [[nodiscard]] Task<Outcome> ask(Request request, Recipient recipient = Recipient::client,
                                    std::string_view client = {});

    // The same for several requests, which go to the store in this order unless they are split
    // (step 3). The outcomes are charged to the allowance, which outlives the call.
    [[nodiscard]] Task<std::vector<Outcome>> ask_all(std::vector<Request> requests,
                                                     AnswerAllowance& allowance,
                                                     Recipient recipient = Recipient::client,
                                                     std::string_view client = {});

    // The same without a coroutine: the request enters or queues before this returns, is never
    // refused for a full queue, and `reply` is called on the thread of `home`.
    void submit(asio::io_context& home, Request request, Recipient recipient,
                std::function<void(Outcome)> reply);

    // The store's clock. Does not wait behind tries, so that it is answered whenever the store
    // answers.
    [[nodiscard]] Task<std::expected<Time, StoreFault>> store_time(std::string_view client = {});

    // The number of requests that are with the store, and that queue.
    struct Queues {
        std::size_t under_way = 0;
        std::size_t keeps = 0;
        std::size_t tries = 0;
    };
    [[nodiscard]] Queues queues();

private:
    // `mixed`: some of them keep or end a lease.
    enum class Urgency : std::uint8_t { keeps_or_ends, mixed, asks_anew };

    // The number of requests that enter together, and their weight.
    struct Load {
        std::size_t requests = 0;
        std::size_t weight = 0;

        Load& operator+=(Load other) noexcept {
            requests += other.requests;
            weight += other.weight;
            return *this;
        }
        Load& operator-=(Load other) noexcept {
            requests -= other.requests;
            weight -= other.weight;
            return *this;
        }
    };
    static Load load_of(std::span<const Request> requests);

    // Requests that enter together.
    struct Queued {
        Load load;
        std::size_t counted;  // the requests that count towards `queued_tries`
        std::function<void()> enter;
    };
    class Queue {
    public:
        void push(std::string_view client, Queued queued);
        // Whether nothing queues, or only clients that rest.
        [[nodiscard]] bool empty() const noexcept { return lines_.empty(); }
        // Whose turn it is, and with what.
        [[nodiscard]] std::string_view client() const { return lines_.front().client; }
        [[nodiscard]] const Queued& front() const { return lines_.front().queued.front(); }
        // `rests`: the client has no further turn until end_rests().
        [[nodiscard]] Queued pop(bool rests);
        void rest(std::string_view client) noexcept;
        void end_rests() noexcept;
        // Puts off the turns of these clients, unless there are no others.
        void put_off(const std::function<bool(std::string_view)>& which);
        // Whether this many requests of the client may queue too, if `most` may queue in all.
        [[nodiscard]] bool has_place(std::string_view client, std::size_t requests,
                                     std::size_t most) const;
        [[nodiscard]] std::size_t requests() const noexcept { return requests_; }

    private:
        // What queues for one client.
        struct Line {
            std::string client;
            std::deque<Queued> queued{};
            std::size_t counted = 0;
            bool rests = false;  // whether it is in resting_
        };
        using Lines = std::list<Line>;

        Lines lines_;  // of clients that queue, the next to be served first
        Lines resting_;
        std::map<std::string_view, Lines::iterator> by_client_;  // the names are those in the lines
        std::size_t requests_ = 0;
        std::size_t counted_ = 0;
    };

    static Urgency urgency_of(std::span<const Request> requests);

    // Under mutex_:
    [[nodiscard]] bool has_room_for(Load load) const noexcept;
    [[nodiscard]] bool is_turn_of_patient() const noexcept;
    [[nodiscard]] bool rests(std::string_view client) const;
    void note_urgent(std::string_view client, Load load) noexcept;
    [[nodiscard]] bool enter(Load load, Urgency urgency, std::string_view client);
    void queue(Queued queued, Urgency urgency, std::string_view client);

    [[nodiscard]] bool enter_at_once(Load load, Urgency urgency, std::string_view client);
    // False if too many queue already.
    [[nodiscard]] Task<bool> queue_up(Load load, Urgency urgency, std::string_view client);
    // The requests that fit now enter.
    void leave(Load load);
    [[nodiscard]] std::optional<Queued> next_to_enter();

    struct Submission;
    void send(const std::shared_ptr<Submission>& submission);
    void reply_to(const std::shared_ptr<Submission>& submission);

    // The parts in which a batch is sent to the store, each as indices of its requests.
    [[nodiscard]] std::vector<std::vector<std::size_t>> parts_of(
        std::span<const Request> requests) const;

    // These fill in the outcomes. The requests are moved from.
    [[nodiscard]] Task<void> pass(std::span<Request> requests, std::span<Outcome> outcomes,
                                  std::string_view client);
    [[nodiscard]] Task<void> pass_in_turn(std::span<Request> requests, std::span<Outcome> outcomes,
                                          Urgency urgency, std::string_view client);
    // Step 3.
    [[nodiscard]] Task<void> pass_by_pace(std::span<Request> requests, std::span<Outcome> outcomes,
                                          std::string_view client);
    [[nodiscard]] Task<void> be_answered(std::span<Request> requests, std::span<Outcome> outcomes,
                                         Load load);

    // Step 4. Publishes the outcome of each key.
    [[nodiscard]] Task<Outcome> release_in_parts(ReleaseAll all, std::string_view client);

    // Requests that are with the store, and the coroutine that waits for their outcomes.
    class Call;
    void hand_over(Call& call, std::span<Request> requests, std::span<Outcome> outcomes);
    [[nodiscard]] static Task<void> wait_for(Call& call);

    LockManager& locks_;
    const OutcomeStream& outcomes_;
    const ServerOptions& options_;
    std::mutex mutex_;
    Load under_way_;  // guarded by mutex_
    Queue urgent_;    // guarded by mutex_; keep or end a lease
    Queue patient_;   // guarded by mutex_; all others
    // Guarded by mutex_: the weight of what entered before requests in patient_, since one of them
    // entered, in all and by client.
    std::size_t urgent_weight_ = 0;
    std::map<std::string, std::size_t, std::less<>> urgent_weight_of_;
};

}  // namespace leasehold::server
