#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include <leasehold/store.hpp>

namespace leasehold::bench {

// How often a store was asked. Thread-safe.
struct Asked {
    std::atomic<std::uint64_t> batches{0};
    std::atomic<std::uint64_t> requests{0};
};

// A store that counts what it is asked. `asked` outlives it.
class CountedStore final : public Store {
public:
    CountedStore(std::unique_ptr<Store> store, Asked& asked)
        : store_{std::move(store)}, asked_{asked} {}

    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override {
        ++asked_.batches;
        asked_.requests += requests.size();
        store_->apply(requests, outcomes);
    }
    void apply_first(std::span<const Request> requests, std::span<Outcome> outcomes) override {
        ++asked_.batches;
        asked_.requests += requests.size();
        store_->apply_first(requests, outcomes);
    }
    void apply_rest(std::span<const Request> requests, std::span<Outcome> outcomes) override {
        ++asked_.batches;
        store_->apply_rest(requests, outcomes);
    }
    [[nodiscard]] std::size_t concurrency() const noexcept override {
        return store_->concurrency();
    }
    [[nodiscard]] Duration spacing() const noexcept override { return store_->spacing(); }
    [[nodiscard]] StoreStatus status() override { return store_->status(); }
    [[nodiscard]] bool keep_house() noexcept override { return store_->keep_house(); }
    [[nodiscard]] Duration housekeeping_interval() const noexcept override {
        return store_->housekeeping_interval();
    }
    [[nodiscard]] StoreLine* line() noexcept override { return store_->line(); }
    [[nodiscard]] std::unique_ptr<StoreWatch> open_watch() override { return store_->open_watch(); }

private:
    std::unique_ptr<Store> store_;
    Asked& asked_;
};

}  // namespace leasehold::bench
