#pragma once

#include <memory>
#include <utility>

#include <leasehold/store.hpp>

#include "server/observer.hpp"

namespace leasehold::server {

// A store whose faults are seen by an observer, each once.
class ObservedStore final : public Store {
public:
    // The observer outlives this.
    ObservedStore(std::unique_ptr<Store> store, Observer& observer)
        : store_{std::move(store)}, observer_{observer} {}

    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override;
    [[nodiscard]] std::size_t concurrency() const noexcept override {
        return store_->concurrency();
    }
    [[nodiscard]] StoreStatus status() override { return store_->status(); }

private:
    std::unique_ptr<Store> store_;
    Observer& observer_;
};

}  // namespace leasehold::server
