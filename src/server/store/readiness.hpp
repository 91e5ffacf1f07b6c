#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include <leasehold/errors.hpp>

#include "server/store/store_queue.hpp"
#include "server/tasks.hpp"

namespace leasehold::server {

// Whether the store answers. All clients that ask at the same time share one question to the store,
// and its answer is reused for a moment, so that probes cannot keep the store busy. Thread-safe.
class Readiness {
public:
    static constexpr std::chrono::milliseconds believed_for{500};

    // The queue outlives this.
    explicit Readiness(StoreQueue& store) : store_{store} {}

    struct Failure {
        StoreFault::Effect effect;
        StoreFault::Cause cause;
    };
    // Nothing if the store answers.
    using Found = std::optional<Failure>;
    [[nodiscard]] Task<Found> failure();

private:
    [[nodiscard]] Task<void> ask();
    [[nodiscard]] Task<Found> ask_store();

    StoreQueue& store_;
    std::mutex mutex_;
    Found latest_;                                    // guarded by mutex_
    Clock::time_point believed_until_{};              // guarded by mutex_
    std::vector<std::function<void(Found)>> askers_;  // guarded by mutex_
};

}  // namespace leasehold::server
