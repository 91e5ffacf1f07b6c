#pragma once

#include <chrono>
#include <functional>
#include <leasehold/stores/memory.hpp>
#include <leasehold/time.hpp>
#include <memory>
#include <mutex>

namespace leasehold::testing {

// A clock that moves only on demand. Copies are one clock. Thread-safe.
class ManualClock {
public:
    static constexpr Time start{std::chrono::seconds{1'800'000'000}};

    [[nodiscard]] Time now() const {
        const std::lock_guard lock{state_->mutex};
        return state_->now;
    }

    void advance(Duration by) {
        const std::lock_guard lock{state_->mutex};
        state_->now += by;
    }

private:
    struct State {
        std::mutex mutex;
        Time now = start;  // guarded by mutex
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

// A memory store on that clock, for which moving it is no leap.
[[nodiscard]] inline std::unique_ptr<Store> memory_store_on(const ManualClock& clock,
                                                            StoreOptions options = {}) {
    options.max_clock_leap = std::chrono::hours{24 * 365};
    return memory::open(options, [clock] { return clock.now(); });
}

}  // namespace leasehold::testing
