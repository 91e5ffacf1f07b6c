#include "lab/simulation.hpp"

#include <algorithm>
#include <queue>
#include <random>

#include <fmt/format.h>

namespace leasehold::lab {
namespace {

using std::chrono::milliseconds;

constexpr Time beginning{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
constexpr Duration patience = milliseconds{400};

class Dice {
public:
    explicit Dice(std::uint64_t seed) : numbers_{seed} {}

    std::uint64_t below(std::uint64_t bound) { return numbers_() % bound; }
    bool in_thousand(unsigned chances) { return below(1000) < chances; }
    Duration between(Duration low, Duration high) {
        return low + Duration{static_cast<Duration::rep>(
                         below(static_cast<std::uint64_t>((high - low).count())))};
    }
    LockId lock_id() {
        const std::uint64_t high = numbers_();
        const std::uint64_t low = numbers_();
        return *LockId::parse(fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32U,
                                          (high >> 16U) & 0xFFFFU, high & 0xFFFFU, low >> 48U,
                                          low & 0xFFFFFFFFFFFFU));
    }

private:
    std::mt19937_64 numbers_;
};

// What a client believes to have, and what it saw of others.
struct Client {
    std::string name;
    std::vector<std::pair<LockKey, LockId>> mine;
    std::vector<Holder> others;
    std::vector<TryLock> tried;
};

class Simulation {
public:
    Simulation(const SimulationOptions& options, const OpenStore& open)
        : options_{options}, dice_{options.seed}, store_{open([this] { return store_now(); })} {
        for (std::size_t i = 0; i < options.clients; ++i) {
            clients_.push_back(
                {.name = "client-" + std::to_string(i), .mine = {}, .others = {}, .tried = {}});
        }
        for (std::size_t i = 0; i < options.keys; ++i)
            keys_.emplace_back("Order", std::to_string(i));
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
            if (run_.operations.size() < options_.operations) send(client, next_request(client));
        });
    }

    void send(Client& client, Request request) {
        const std::size_t index = run_.operations.size();
        run_.operations.push_back(
            {.client = client.name, .request = std::move(request), .called = now_});
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
        if (const auto* lease = std::get_if<Lease>(&operation.outcome)) {
            if (std::holds_alternative<TryLock>(operation.request)) {
                client.mine.emplace_back(lease->key, lease->lock_id);
            }
        } else if (const auto* leases = std::get_if<std::vector<Lease>>(&operation.outcome)) {
            if (std::holds_alternative<TryLockAll>(operation.request)) {
                for (const Lease& one : *leases) client.mine.emplace_back(one.key, one.lock_id);
            }
        } else if (const auto* refusal = std::get_if<Refusal>(&operation.outcome)) {
            client.others = refusal->holders;
        } else if (operation.is_unknown() && dice_.in_thousand(600) &&
                   run_.operations.size() < options_.operations) {
            // The same again settles it.
            Request again = operation.request;
            return send(client, std::move(again));
        }
        if (client.mine.size() > 6) client.mine.erase(client.mine.begin());
        think(client);
    }

    LockKey any_key() { return keys_[dice_.below(keys_.size())]; }
    Duration any_ttl() { return dice_.between(milliseconds{80}, milliseconds{1500}); }
    Mode any_mode() { return dice_.in_thousand(650) ? Mode::exclusive : Mode::shared; }

    // Some have no name; some names begin with others'.
    std::string any_owner(const Client& client) {
        switch (dice_.below(4)) {
            case 0: return "";
            case 1: return client.name + "/tab-1";
            case 2: return client.name + "0";
            default: return client.name;
        }
    }

    Request next_request(Client& client) {
        const std::uint64_t kind = dice_.below(100);
        if (kind < 3) return release_all(client);
        if (kind < 6 && !client.others.empty()) return break_one(client);
        if (kind < 11) return try_several(client);
        // Perhaps it never heard of the answer.
        if (kind < 15 && !client.tried.empty())
            return client.tried[dice_.below(client.tried.size())];
        if (!client.mine.empty() && kind < 75) return about_mine(client);
        client.tried.push_back({.key = any_key(),
                                .lock_id = dice_.lock_id(),
                                .owner = any_owner(client),
                                .mode = any_mode(),
                                .ttl = any_ttl()});
        return client.tried.back();
    }

    Request release_all(const Client& client) {
        ReleaseAll wanted{.owner = client.name,
                          .scope = dice_.in_thousand(500) ? OwnerScope::below : OwnerScope::exact};
        if (dice_.in_thousand(300)) wanted.key = any_key();
        return wanted;
    }

    Request break_one(Client& client) {
        const Holder& seen = client.others[dice_.below(client.others.size())];
        return Break{.key = seen.key, .fence = seen.fence, .by = client.name, .reason = "needed"};
    }

    Request try_several(Client& client) {
        TryLockAll wanted{.owner = any_owner(client), .mode = any_mode(), .ttl = any_ttl()};
        const std::size_t first = dice_.below(keys_.size() - 1);
        for (std::size_t i = first; i < first + 2; ++i) {
            wanted.keys.push_back(keys_[i]);
            wanted.lock_ids.push_back(dice_.lock_id());
        }
        return wanted;
    }

    Request about_mine(Client& client) {
        const auto& [key, lock_id] = client.mine[dice_.below(client.mine.size())];
        switch (dice_.below(8)) {
            case 0:
            case 1: return Check{key, lock_id};
            case 2: return Extend{.key = key, .lock_id = lock_id, .by = any_ttl() / 2};
            case 3:
            case 4: return Renew{.key = key, .lock_id = lock_id, .ttl = any_ttl()};
            default: return Release{key, lock_id};
        }
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
    std::vector<Client> clients_;
    std::vector<LockKey> keys_;
    std::priority_queue<Event> events_;
    std::uint64_t event_count_ = 0;
    Recording run_;
};

}  // namespace

Recording simulate(const SimulationOptions& options, const OpenStore& open) {
    return Simulation{options, open}.go();
}

}  // namespace leasehold::lab
