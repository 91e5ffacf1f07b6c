#include "lab/simulation.hpp"

#include <algorithm>
#include <list>
#include <queue>

#include "lab/client.hpp"

namespace leasehold::lab {
namespace {

using std::chrono::milliseconds;

constexpr Time beginning{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
constexpr Duration patience = milliseconds{400};

class Simulation {
public:
    Simulation(const SimulationOptions& options, const OpenStore& open)
        : options_{options},
          dice_{options.seed},
          store_{open([this] { return store_now(); })},
          keys_{some_keys(options.keys)} {
        for (std::size_t i = 0; i < options.clients; ++i) {
            clients_.emplace_back("client-" + std::to_string(i), keys_, dice_.below(UINT64_MAX));
        }
        run_.operations.reserve(options.operations);
    }

    Recording go() {
        for (Client& client : clients_) think(client);
        while (!events_.empty()) {
            const Event next = events_.top();
            events_.pop();
            now_ = next.at;
            next.happens();
        }
        read_aftermath();
        return std::move(run_);
    }

private:
    struct Event {
        Instant at;
        std::uint64_t number;  // in the order they were made, where they happen at once
        std::function<void()> happens;

        friend bool operator<(const Event& a, const Event& b) {
            return std::pair{a.at, a.number} > std::pair{b.at, b.number};
        }
    };

    [[nodiscard]] Time store_now() const { return beginning + now_.time_since_epoch(); }

    void in(Duration delay, std::function<void()> happens) {
        events_.push({now_ + delay, ++event_count_, std::move(happens)});
    }

    Outcome ask_store(const Request& request) {
        Outcome outcome;
        store_->apply({&request, 1}, {&outcome, 1});
        return outcome;
    }

    void think(Client& client) {
        in(dice_.between(milliseconds{1}, milliseconds{60}), [this, &client] {
            if (run_.operations.size() < options_.operations) send(client, client.next());
        });
    }

    void send(Client& client, Request request) {
        const std::size_t index = run_.operations.size();
        run_.operations.push_back(
            {.client = client.name(), .request = std::move(request), .called = now_});
        const Duration there = dice_.between(Duration{50}, milliseconds{20});
        const Duration back = dice_.between(Duration{50}, milliseconds{20});
        if (dice_.in_thousand(options_.lost_requests)) return give_up(client, index);
        if (dice_.in_thousand(options_.lost_answers)) {
            in(there, [this, index] { (void)ask_store(run_.operations[index].request); });
            return give_up(client, index);
        }
        if (dice_.in_thousand(options_.late_requests)) {
            in(patience + 10 * there,
               [this, index] { (void)ask_store(run_.operations[index].request); });
            return give_up(client, index);
        }
        in(there, [this, &client, index, back] {
            Outcome outcome = ask_store(run_.operations[index].request);
            in(back,
               [this, &client, index, told = std::move(outcome)] { hear(client, index, told); });
        });
    }

    void give_up(Client& client, std::size_t index) {
        in(patience, [this, &client, index] {
            hear(client, index,
                 StoreFault{StoreFault::Effect::unknown, StoreFault::Cause::unavailable,
                            "no answer"});
        });
    }

    void hear(Client& client, std::size_t index, Outcome outcome) {
        Operation& operation = run_.operations[index];
        operation.returned = now_;
        operation.outcome = std::move(outcome);
        auto again = client.hear(operation.request, operation.outcome);
        if (again && run_.operations.size() < options_.operations)
            return send(client, *std::move(again));
        think(client);
    }

    void read_aftermath() {
        run_.aftermath.holders = std::get<std::vector<Holder>>(ask_store(List{.limit = 100'000}));
        for (const LockKey& key : keys_) {
            auto past =
                std::get<std::vector<PastLease>>(ask_store(History{.key = key, .limit = 100'000}));
            std::ranges::move(past, std::back_inserter(run_.aftermath.history));
        }
    }

    const SimulationOptions& options_;
    Dice dice_;
    Instant now_{std::chrono::hours{1}};
    std::unique_ptr<Store> store_;
    const std::vector<LockKey> keys_;
    std::list<Client> clients_;
    std::priority_queue<Event> events_;
    std::uint64_t event_count_ = 0;
    Recording run_;
};

}  // namespace

Recording simulate(const SimulationOptions& options, const OpenStore& open) {
    return Simulation{options, open}.go();
}

}  // namespace leasehold::lab
