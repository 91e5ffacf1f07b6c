#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <leasehold/store.hpp>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "unit/waiting.hpp"

namespace leasehold::testing {

// Blocks apply() of another store until the test opens the gate, and remembers the batches it got.
// Open at first. Thread-safe. Nobody is held for longer than `patience`, so that a failed test
// ends.
class GatedStore final : public Store {
public:
    explicit GatedStore(std::unique_ptr<Store> inner) : inner_{std::move(inner)} {}

    // Calls that come from now on are held.
    void close() {
        const std::lock_guard lock{mutex_};
        passes_ = 0;
    }

    // Lets everybody through, now and later.
    void open() { let_pass(std::numeric_limits<std::size_t>::max()); }

    // Lets that many calls through a closed gate.
    void let_pass(std::size_t calls = 1) {
        const std::lock_guard lock{mutex_};
        passes_ += std::min(calls, std::numeric_limits<std::size_t>::max() - passes_);
        changed_.notify_all();
    }

    // Waits until that many calls are held at once; false where they did not come.
    [[nodiscard]] bool wait_until_held(std::size_t calls = 1) {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, patience, [&] { return held_ >= calls; });
    }

    // The batches that came to the gate, in order, including a batch that is still held.
    [[nodiscard]] std::vector<std::vector<Request>> batches() const {
        const std::lock_guard lock{mutex_};
        return batches_;
    }

    [[nodiscard]] std::vector<std::size_t> batch_sizes() const {
        const std::lock_guard lock{mutex_};
        std::vector<std::size_t> sizes;
        for (const auto& batch : batches_) sizes.push_back(batch.size());
        return sizes;
    }

    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override {
        {
            std::unique_lock lock{mutex_};
            batches_.emplace_back(requests.begin(), requests.end());
            ++held_;
            changed_.notify_all();
            const bool passed = changed_.wait_for(lock, patience, [this] { return passes_ > 0; });
            --held_;
            if (!passed) {
                throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::unavailable,
                                 "the gate was never opened"};
            }
            if (passes_ != std::numeric_limits<std::size_t>::max()) --passes_;
        }
        inner_->apply(requests, outcomes);
    }

    // Bounded, because a caller may be blocked.
    [[nodiscard]] std::size_t concurrency() const noexcept override {
        return std::min(inner_->concurrency(), Store::any_number - 1);
    }
    [[nodiscard]] StoreStatus status() override { return inner_->status(); }

private:
    const std::unique_ptr<Store> inner_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t passes_ = std::numeric_limits<std::size_t>::max();  // guarded by mutex_
    std::size_t held_ = 0;                                          // guarded by mutex_
    std::vector<std::vector<Request>> batches_;                     // guarded by mutex_
};

}  // namespace leasehold::testing
