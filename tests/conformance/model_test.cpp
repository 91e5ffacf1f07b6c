#include <cstdlib>
#include <deque>
#include <iostream>
#include <random>

#include "conformance/conformance.hpp"
#include "conformance/reference_model.hpp"

// Random batches of random requests, through Store::apply itself, against the reference model.
namespace leasehold::conformance {
namespace {

unsigned seed() {
    if (const char* chosen = std::getenv("LEASEHOLD_SEED")) {
        return static_cast<unsigned>(std::strtoul(chosen, nullptr, 10));
    }
    return std::random_device{}();
}

constexpr Duration retention = 122min + 30s;

// Draws requests that are likely to conflict. All ttls end five minutes after a multiple of ten
// minutes, and time passes in steps of ten minutes, so no request is close to an expiry.
class RandomRequests {
public:
    RandomRequests(unsigned seed, const ReferenceModel& model) : random_{seed}, model_{model} {}

    Request next() {
        switch (below(20)) {
            case 0:
            case 1:
            case 2:
            case 3:
            case 4: return try_lock();
            case 5:
            case 6: return try_lock_all();
            case 7:
            case 8: {
                const auto [key, id] = some_lease();
                return Check{key, id};
            }
            case 9:
            case 10: {
                const auto [key, id] = some_lease();
                return Extend{key, id, tens() + 10min, 65min, sometimes_max_hold()};
            }
            case 11: {
                const auto [key, id] = some_lease();
                return Renew{key, id, ttl(), sometimes_max_hold()};
            }
            case 12:
            case 13: {
                const auto [key, id] = some_lease();
                return Release{.key = key, .lock_id = id, .by = token_id()};
            }
            case 14: {
                return ReleaseAll{.owner = named_owner(),
                                  .scope = scope(),
                                  .key = one_in(3) ? std::optional{key()} : std::nullopt,
                                  .by = token_id(),
                                  .token_id = token_id()};
            }
            case 15: {
                const LockKey key = this->key();
                const Fence fence = model_.highest_fence(key) - (one_in(5) ? 1 : 0);
                return Break{key, fence, "admin", one_in(2) ? "a reason" : ""};
            }
            case 16: return Holders{key()};
            case 17:
                return List{
                    .type = one_in(3) ? std::optional{std::string{key().type()}} : std::nullopt,
                    .owner = one_in(3) ? std::optional{named_owner()} : std::nullopt,
                    .scope = scope(),
                    .limit = 1000};
            case 18:
                return History{.key = one_in(2) ? std::optional{key()} : std::nullopt,
                               .before = {},
                               .limit = 100'000};
            default: return one_in(4) ? Request{Purge{}} : try_lock();
        }
    }

    std::size_t below(std::size_t bound) {
        return std::uniform_int_distribution<std::size_t>{0, bound - 1}(random_);
    }
    bool one_in(std::size_t n) { return below(n) == 0; }
    Duration tens() { return 10min * static_cast<int>(below(7)); }

private:
    Request try_lock() {
        // Repeats a request, as after a lost answer.
        if (!asked_.empty() && one_in(6)) {
            const TryLock& again = asked_[below(asked_.size())];
            if (!forgotten(again.key, again.lock_id)) return again;
        }
        TryLock request{.key = key(),
                        .lock_id = LockId::random(),
                        .owner = owner(),
                        .mode = mode(),
                        .ttl = one_in(20) ? until_released : ttl(),
                        .note = one_in(3) ? "note " + std::to_string(below(100)) : "",
                        .since = {},
                        .max_hold = sometimes_max_hold(),
                        .token_id = token_id()};
        if (request.mode == Mode::shared && one_in(3)) request.places = 1 + below(3);
        if (one_in(8) && remembers(request.key)) request.since = model_.highest_fence(request.key);
        if (request.since && one_in(2) && *request.since > 0) --*request.since;
        remember(request);
        return request;
    }

    Request try_lock_all() {
        TryLockAll request{.owner = owner(),
                           .mode = mode(),
                           .ttl = ttl(),
                           .note = one_in(3) ? "all" : "",
                           .max_hold = sometimes_max_hold(),
                           .token_id = token_id()};
        if (request.mode == Mode::shared && one_in(3)) request.places = 1 + below(3);
        for (const LockKey& key : keys_) {
            if (!one_in(3)) continue;
            request.keys.push_back(key);
            request.lock_ids.push_back(LockId::random());
        }
        if (request.keys.empty()) return Holders{key()};
        for (std::size_t i = 0; i < request.keys.size(); ++i) {
            remember({.key = request.keys[i],
                      .lock_id = request.lock_ids[i],
                      .owner = request.owner,
                      .mode = request.mode,
                      .ttl = request.ttl,
                      .note = request.note,
                      .since = {},
                      .max_hold = request.max_hold,
                      .places = request.places,
                      .token_id = request.token_id});
        }
        return request;
    }

    void remember(const TryLock& request) {
        asked_.push_back(request);
        if (asked_.size() > 30) asked_.pop_front();
    }

    // Mostly a lease that was requested lately, with or without its key, sometimes with a wrong
    // key.
    std::pair<std::optional<LockKey>, LockId> some_lease() {
        if (asked_.empty() || one_in(15)) return {key(), LockId::random()};
        const TryLock& asked = asked_[below(asked_.size())];
        if (one_in(3)) return {std::nullopt, asked.lock_id};
        if (one_in(15)) return {key(), asked.lock_id};
        return {asked.key, asked.lock_id};
    }

    [[nodiscard]] bool forgotten(const LockKey& key, LockId id) const {
        for (const auto& life : model_.lives()) {
            if (life.key == key && life.lock_id == id) return life.maybe_forgotten;
        }
        return false;
    }
    [[nodiscard]] bool remembers(const LockKey& key) const {
        for (const auto& life : model_.lives()) {
            if (life.key == key && life.maybe_forgotten) return false;
        }
        return true;
    }

    LockKey key() { return keys_[below(keys_.size())]; }
    std::string owner() { return owners_[below(owners_.size())]; }
    std::string named_owner() { return owners_[1 + below(owners_.size() - 1)]; }
    // Mostly the same, so that owners meet their own leases.
    std::string token_id() { return one_in(4) ? tokens_[below(tokens_.size())] : ""; }
    OwnerScope scope() { return one_in(2) ? OwnerScope::exact : OwnerScope::below; }
    Mode mode() { return one_in(3) ? Mode::exclusive : Mode::shared; }
    Duration ttl() { return tens() + 5min; }
    std::optional<Duration> sometimes_max_hold() {
        return one_in(6) ? std::optional<Duration>{45min} : std::nullopt;
    }

    std::mt19937 random_;
    const ReferenceModel& model_;
    std::deque<TryLock> asked_;
    // Sorted.
    const std::vector<LockKey> keys_{{"A", "1"}, {"A", "1 "}, {"A", "2"}, {"B", "1"}, {"a", "1"}};
    const std::vector<std::string> tokens_{"shop", "shop/eu", "shop2"};
    const std::vector<std::string> owners_{"", "alice", "alice/1", "alicex", "bob"};
};

class Model : public ConformanceTest {
protected:
    // Every answer of every batch is the model's answer, in the order of the batch.
    void run(std::size_t requests, std::size_t longest_batch) {
        const unsigned used = seed();
        const std::string how_to = "LEASEHOLD_SEED=" + std::to_string(used) + " repeats this run";
        std::cout << "[   SEED   ] " << used << '\n';
        const std::vector<std::unique_ptr<Store>> handles = [&] {
            std::vector<std::unique_ptr<Store>> opened;
            for (int i = 0; i < 3; ++i) opened.push_back(harness().open({.retention = retention}));
            return opened;
        }();
        ReferenceModel model{retention};
        RandomRequests random{used, model};
        std::deque<std::string> latest;
        for (std::size_t done = 0; done < requests;) {
            if (random.one_in(6)) {
                const Duration pause = random.tens();
                harness().let_pass(pause);
                model.let_pass(pause);
                latest.push_back(
                    "let pass " +
                    std::to_string(std::chrono::floor<std::chrono::minutes>(pause).count()));
            }
            std::vector<Request> batch(1 + random.below(longest_batch), Purge{});
            for (Request& request : batch) request = random.next();
            std::vector<Outcome> outcomes(batch.size());
            handles[random.below(handles.size())]->apply(batch, outcomes);
            latest.emplace_back("-- batch");
            model.begin_batch();
            for (std::size_t i = 0; i < batch.size(); ++i) {
                latest.push_back(describe(batch[i]) + "  ->  " + describe(outcomes[i]));
                while (latest.size() > 60) latest.pop_front();
                const std::string difference = model.judge(batch[i], outcomes[i]);
                if (difference.empty()) continue;
                std::string story;
                for (const std::string& line : latest) story += line + '\n';
                FAIL() << difference << "\nin the last of these:\n" << story << how_to;
            }
            done += batch.size();
        }
    }
};

TEST_P(Model, OneRequestAtATimeIsAnsweredAsTheModelSays) {
    run(1500, 1);
}
TEST_P(Model, ABatchIsAnsweredAsIfOneRequestCameAfterTheOther) {
    run(4000, 25);
}

LEASEHOLD_ON_EVERY_STORE(Model);

}  // namespace
}  // namespace leasehold::conformance
