#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/rules.hpp"

namespace leasehold::testing {

// One cell, a clock moved by hand, and the rules between them: what a store does around a decision.
class RulesBench {
public:
    static constexpr Time start{std::chrono::seconds{1'800'000'000}};

    RulesBench() { observe(); }

    // Real time passes, and the store's clock with it.
    void pass(Duration time) {
        steady_ += time;
        store_ += time;
    }

    // The store's clock is set ahead or back.
    void set_clock_by(Duration step) { store_ += step; }

    template <class R>
    Outcome decide(const R& request) {
        Rules rules{observe(), clock_, past_, endings};
        if constexpr (requires { rules.decide(request, cell); }) {
            return rules.decide(request, cell);
        } else {
            return rules.decide(request, key, cell);
        }
    }

    Outcome decide(const TryLockAll& request, const std::vector<Cell*>& cells) {
        return Rules{observe(), clock_, past_, endings}.decide(request, cells);
    }

    Outcome try_lock(const std::string& owner, Mode mode = Mode::exclusive,
                     Duration ttl = std::chrono::minutes{1}) {
        return decide(TryLock{
            .key = key, .lock_id = LockId::random(), .owner = owner, .mode = mode, .ttl = ttl});
    }
    Outcome check(const Lease& lease) { return decide(Check{key, lease.lock_id}); }
    Outcome renew(const Lease& lease, Duration ttl = std::chrono::minutes{1}) {
        return decide(Renew{key, lease.lock_id, ttl, {}});
    }
    Outcome release(const Lease& lease) { return decide(Release{key, lease.lock_id}); }

    [[nodiscard]] std::vector<Holder> holders() {
        return Rules{observe(), clock_, past_, endings}.holders(key, cell).items;
    }

    std::vector<Lease> release_all(const ReleaseAll& request) {
        std::vector<Lease> released;
        Rules{observe(), clock_, past_, endings}.release_all(request, key, cell, released);
        return released;
    }

    // As a purge does.
    [[nodiscard]] bool forget_if_dead_for(Duration retention) {
        const Time now = observe();
        Rules rules{now, clock_, past_, endings};
        if (!rules.end_if_dead_since(key, cell, now - retention)) return false;
        cell = Cell{};
        return true;
    }

    Outcome blocked(const Request& request) {
        return Rules{observe(), clock_, past_, endings}.blocked(request, key, cell);
    }

    Time observe() { return clock_.observe(store_, steady_, steady_); }

    const LockKey key{"Order", "1"};
    Cell cell{};
    std::vector<Ended> endings{};

private:
    StoreClock clock_{std::chrono::seconds{5}};
    Time store_ = start;
    SteadyClock::time_point steady_{std::chrono::hours{1}};
    PastLookup past_ = [this](LockId id) -> std::optional<Ended> {
        for (const Ended& ended : endings) {
            if (ended.ending->grant.lock_id == id) return ended;
        }
        return std::nullopt;
    };
};

// The answer: the lease, or why not.
[[nodiscard]] inline const Lease& granted(const Outcome& outcome) {
    return std::get<Lease>(outcome);
}
[[nodiscard]] inline const Refusal& refused(const Outcome& outcome) {
    return std::get<Refusal>(outcome);
}
[[nodiscard]] inline bool is_granted(const Outcome& outcome) {
    return std::holds_alternative<Lease>(outcome);
}
[[nodiscard]] inline bool is_held(const Outcome& outcome) {
    const auto* refusal = std::get_if<Refusal>(&outcome);
    return refusal != nullptr && refusal->kind == Refusal::Kind::held;
}
[[nodiscard]] inline bool is_gone(const Outcome& outcome, Gone reason) {
    const auto* refusal = std::get_if<Refusal>(&outcome);
    return refusal != nullptr && refusal->kind == Refusal::Kind::gone && refusal->reason == reason;
}
[[nodiscard]] inline bool is_leap_fault(const Outcome& outcome) {
    const auto* fault = std::get_if<StoreFault>(&outcome);
    return fault != nullptr && fault->cause() == StoreFault::Cause::clock_leap &&
           fault->effect() == StoreFault::Effect::none;
}

}  // namespace leasehold::testing
