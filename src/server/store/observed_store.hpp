#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <utility>

#include <leasehold/store.hpp>

#include "server/monitoring/observer.hpp"

namespace leasehold::server {

// A store whose batches, and faults, are seen by an observer. The observer, and so the log, gets
// the database's own words; clients get each fault without them.
class ObservedStore final : public Store {
public:
    // The observer outlives this.
    ObservedStore(std::unique_ptr<Store> store, Observer& observer)
        : store_{std::move(store)}, observer_{observer} {}

    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override;
    void apply_first(std::span<const Request> requests, std::span<Outcome> outcomes) override;
    void apply_rest(std::span<const Request> requests, std::span<Outcome> outcomes) override;
    [[nodiscard]] std::size_t concurrency() const noexcept override {
        return store_->concurrency();
    }
    [[nodiscard]] Duration spacing() const noexcept override { return store_->spacing(); }
    [[nodiscard]] StoreStatus status() override { return store_->status(); }
    [[nodiscard]] bool keep_house() noexcept override { return store_->keep_house(); }
    [[nodiscard]] Duration housekeeping_interval() const noexcept override {
        return store_->housekeeping_interval();
    }
    [[nodiscard]] std::unique_ptr<StoreWatch> open_watch() override { return store_->open_watch(); }

private:
    using Clock = std::chrono::steady_clock;

    using Call = void (Store::*)(std::span<const Request>, std::span<Outcome>);

    void observe(Call call, std::span<const Request> requests, std::span<Outcome> outcomes);
    // Of a call that leaves requests unanswered, only the answers are told.
    void tell(Call call, std::span<const Outcome> outcomes, Clock::time_point begun);
    // How far the store's clock is ahead. Nothing if it was read a moment ago.
    [[nodiscard]] std::optional<Duration> clock_offset(std::span<const Outcome> outcomes,
                                                       Clock::time_point ended,
                                                       Clock::duration took);

    std::unique_ptr<Store> store_;
    Observer& observer_;
    std::atomic<Clock::rep> next_look_at_clock_{0};
};

}  // namespace leasehold::server
