#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>

#include "server/monitoring/levels.hpp"
#include "server/store/store_queue.hpp"
#include "server/tasks.hpp"

namespace leasehold::server {

// Counts the live leases of the store: page by page, seldom, and never more than HeldCount::most,
// so that reading the count cannot keep the store busy. Thread-safe.
class HeldLeases {
public:
    // Counting may use at most 1/`seldom` of the time.
    static constexpr int seldom = 100;
    // How long an answer waits for a count that is under way.
    static constexpr std::chrono::milliseconds patience{500};

    // The queue outlives this. A page has as many rows as the limits allow.
    HeldLeases(StoreQueue& store, std::size_t page_rows, Clock::duration between_counts)
        : store_{store}, page_rows_{page_rows}, between_counts_{between_counts} {}

    // Counts anew if the last count is old, and waits for that up to `patience`. Otherwise the last
    // count. Nothing if the store did not answer.
    [[nodiscard]] Task<std::optional<HeldCount>> count();

private:
    [[nodiscard]] bool begin();
    void end(std::optional<HeldCount> counted);
    [[nodiscard]] std::optional<HeldCount> latest();
    [[nodiscard]] Task<void> count_anew();
    [[nodiscard]] Task<std::optional<HeldCount>> count_all_pages();

    StoreQueue& store_;
    const std::size_t page_rows_;
    const Clock::duration between_counts_;
    std::mutex mutex_;
    std::optional<HeldCount> latest_;  // guarded by mutex_
    Clock::time_point begun_{};        // guarded by mutex_; the latest count
    Clock::time_point next_{};         // guarded by mutex_; not before that
    bool counting_ = false;            // guarded by mutex_
};

}  // namespace leasehold::server
