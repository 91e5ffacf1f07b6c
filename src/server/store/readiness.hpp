#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <leasehold/errors.hpp>

#include "server/store/store_queue.hpp"
#include "server/tasks.hpp"

namespace leasehold::server {

// Whether the store answers. Thread-safe.
// 1. The first client that asks sends one question to the store. Clients that ask before the answer
//    arrives share this question, so that probes cannot keep the store busy.
// 2. The answer goes to all of them, and is reused for a moment.
// 3. If the store has not answered after `patience`, the clients get a failure. So do clients that
//    come later, until the store answers the question.
class Readiness {
public:
    static constexpr std::chrono::milliseconds believed_for{500};
    static constexpr std::chrono::milliseconds patience{1000};

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
    // The answer to clients while the store is late.
    static Found late() {
        return Failure{StoreFault::Effect::none, StoreFault::Cause::unavailable};
    }

    // Cancels the timer once the store has answered.
    [[nodiscard]] Task<void> ask(std::shared_ptr<Timer> timer);
    [[nodiscard]] Task<void> answer_when_late(std::shared_ptr<Timer> timer);
    [[nodiscard]] Task<Found> ask_store();

    StoreQueue& store_;
    std::mutex mutex_;
    Found latest_;                        // guarded by mutex_
    Clock::time_point believed_until_{};  // guarded by mutex_
    bool asking_ = false;                 // guarded by mutex_; a question is with the store
    Clock::time_point asked_at_{};        // guarded by mutex_; of the latest question
    std::vector<std::function<void(Found)>> askers_;  // guarded by mutex_
};

}  // namespace leasehold::server
