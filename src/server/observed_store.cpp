#include "server/observed_store.hpp"

namespace leasehold::server {

void ObservedStore::apply(std::span<const Request> requests, std::span<Outcome> outcomes) {
    try {
        store_->apply(requests, outcomes);
    } catch (const StoreFault& fault) {
        observer_.store_failed(fault);
        throw;
    }
    for (const Outcome& outcome : outcomes) {
        if (const auto* fault = std::get_if<StoreFault>(&outcome)) observer_.store_failed(*fault);
    }
}

}  // namespace leasehold::server
