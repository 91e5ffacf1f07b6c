#pragma once

#include <cstddef>
#include <leasehold/store.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace leasehold::testing {

// Where a call fails, and which fault the caller gets.
enum class Fails {
    before_effect,          // nothing happened, and the fault says so: effect none
    before_effect_unknown,  // nothing happened, but nobody can know: effect unknown
    after_effect,           // it happened, but the answer was lost: effect unknown
};

// Passes calls on to another store, and fails the chosen ones. Thread-safe.
class FaultyStore final : public Store {
public:
    explicit FaultyStore(std::unique_ptr<Store> inner) : inner_{std::move(inner)} {}

    // Fails `times` calls in a row, from the `nth` from now on; 0 is the next one.
    void fail(std::size_t nth, Fails how, std::size_t times = 1) {
        const std::lock_guard lock{mutex_};
        plan_ = Plan{calls_ + nth, calls_ + nth + times, how};
        hits_ = 0;
    }

    // No call fails any more.
    void heal() {
        const std::lock_guard lock{mutex_};
        plan_.reset();
    }

    // How many calls failed since fail() was called.
    [[nodiscard]] std::size_t hits() const {
        const std::lock_guard lock{mutex_};
        return hits_;
    }

    // Past the faults, to see what is really there.
    [[nodiscard]] Store& inner() noexcept { return *inner_; }

    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override {
        const std::optional<Fails> how = next_call();
        if (how == Fails::after_effect) {
            std::vector<Outcome> lost(outcomes.size());
            inner_->apply(requests, lost);
        }
        if (how) {
            throw StoreFault{*how == Fails::before_effect ? StoreFault::Effect::none
                                                          : StoreFault::Effect::unknown,
                             StoreFault::Cause::unavailable, "the connection was lost"};
        }
        inner_->apply(requests, outcomes);
    }

    [[nodiscard]] std::size_t concurrency() const noexcept override {
        return inner_->concurrency();
    }
    [[nodiscard]] StoreStatus status() override { return inner_->status(); }

private:
    struct Plan {
        std::size_t from;
        std::size_t to;
        Fails how;
    };

    [[nodiscard]] std::optional<Fails> next_call() {
        const std::lock_guard lock{mutex_};
        const std::size_t call = calls_++;
        if (!plan_ || call < plan_->from || call >= plan_->to) return std::nullopt;
        ++hits_;
        return plan_->how;
    }

    const std::unique_ptr<Store> inner_;
    mutable std::mutex mutex_;
    std::size_t calls_ = 0;     // guarded by mutex_
    std::size_t hits_ = 0;      // guarded by mutex_
    std::optional<Plan> plan_;  // guarded by mutex_
};

}  // namespace leasehold::testing
