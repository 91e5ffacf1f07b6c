#include "lab/simulation.hpp"

#include <list>
#include <queue>

#include "lab/aftermath.hpp"
#include "lab/client.hpp"
#include "lab/simulated_database.hpp"
#include "lab/simulated_server.hpp"

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
          open_{[this, &open] { return open([this] { return store_now(); }); }},
          store_{open_()},
          keys_{some_keys(options.keys)} {
        for (std::size_t i = 0; i < options.servers; ++i) servers_.emplace_back(open_);
        for (std::size_t i = 0; i < options.clients; ++i) {
            clients_.emplace_back("client-" + std::to_string(i), keys_, dice_.below(UINT64_MAX));
        }
        run_.operations.reserve(options.operations);
    }

    Recording go(const std::function<void()>& before_the_end) {
        for (Client& client : clients_) think(client);
        while (!events_.empty()) {
            const Event next = events_.top();
            events_.pop();
            now_ = next.at;
            next.happens();
        }
        before_the_end();
        run_.aftermath = read_aftermath(*store_, keys_);
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
    using Hear = std::function<void(Outcome)>;

    [[nodiscard]] Time store_now() const { return beginning + now_.time_since_epoch(); }

    void in(Duration delay, std::function<void()> happens) {
        events_.push({now_ + delay, ++event_count_, std::move(happens)});
    }

    // Sends the request to the store or to a server, and passes the answer on when it is known.
    void carry_out(const Request& request, Hear hear) {
        if (!servers_.empty()) return serve(request, std::move(hear));
        Outcome outcome;
        store_->apply({&request, 1}, {&outcome, 1});
        hear(std::move(outcome));
    }

    void serve(const Request& request, Hear hear) {
        auto server = servers_.begin();
        std::advance(server, static_cast<std::ptrdiff_t>(dice_.below(servers_.size())));
        if (server->submit(request, std::move(hear))) finish_later(*server);
    }

    void finish_later(SimulatedServer& server) {
        in(dice_.between(Duration{200}, milliseconds{12}), [this, &server] {
            const bool dies = dice_.in_thousand(options_.deadly_batches);
            if (server.finish(dies ? SimulatedServer::Fate::dies
                                   : SimulatedServer::Fate::answers)) {
                finish_later(server);
            }
        });
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
        in(patience, [this, &client, index] {
            hear(client, index,
                 StoreFault{StoreFault::Effect::unknown, StoreFault::Cause::unavailable,
                            "no answer"});
        });
        if (dice_.in_thousand(options_.lost_requests)) return;
        const bool answer_lost = dice_.in_thousand(options_.lost_answers);
        Duration there = dice_.between(Duration{50}, milliseconds{20});
        if (dice_.in_thousand(options_.late_requests)) there = patience + 10 * there;
        in(there, [this, &client, index, answer_lost] {
            carry_out(run_.operations[index].request, [=, this, &client](Outcome outcome) {
                if (answer_lost) return;
                in(dice_.between(Duration{50}, milliseconds{20}),
                   [=, this, &client, told = std::move(outcome)] { hear(client, index, told); });
            });
        });
    }

    // Only the first answer to a request counts.
    void hear(Client& client, std::size_t index, Outcome outcome) {
        Operation& operation = run_.operations[index];
        if (operation.returned) return;
        operation.returned = now_;
        operation.outcome = std::move(outcome);
        auto again = client.hear(operation.request, operation.outcome);
        if (again && run_.operations.size() < options_.operations)
            return send(client, *std::move(again));
        think(client);
    }

    const SimulationOptions& options_;
    Dice dice_;
    Instant now_{std::chrono::hours{1}};
    const SimulatedServer::Open open_;
    const std::unique_ptr<Store> store_;
    const std::vector<LockKey> keys_;
    std::list<SimulatedServer> servers_;
    std::list<Client> clients_;
    std::priority_queue<Event> events_;
    std::uint64_t event_count_ = 0;
    Recording run_;
};

}  // namespace

Recording simulate(const SimulationOptions& options, const OpenStore& open,
                   const std::function<void()>& before_the_end) {
    return Simulation{options, open}.go(before_the_end);
}

Recording simulate_servers(SimulationOptions options) {
    if (options.servers == 0) options.servers = 2;
    SimulatedDatabase database{options.seed, {}};
    return simulate(
        options, [&](std::function<Time()> clock) { return database.open(std::move(clock)); },
        [&] { database.calm_down(); });
}

}  // namespace leasehold::lab
