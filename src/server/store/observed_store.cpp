#include "server/store/observed_store.hpp"

#include <algorithm>

namespace leasehold::server {
namespace {

constexpr std::chrono::milliseconds between_looks_at_clock{100};

std::optional<Time> store_now(const Outcome& outcome) {
    if (const auto* lease = std::get_if<Lease>(&outcome)) return lease->store_now;
    if (const auto* refusal = std::get_if<Refusal>(&outcome)) return refusal->store_now;
    if (const auto* holders = std::get_if<HolderPage>(&outcome)) return holders->store_now;
    if (const auto* history = std::get_if<HistoryPage>(&outcome)) return history->store_now;
    return std::nullopt;
}

bool is_unanswered(const Outcome& outcome) {
    return std::holds_alternative<std::monostate>(outcome);
}

// Whether this is a fault of the store. A lock id that is already in use is the client's mistake,
// and a request that is too large is sent again in parts.
bool is_failure(const StoreFault& fault) {
    return fault.cause() != StoreFault::Cause::lock_id_in_use &&
           fault.cause() != StoreFault::Cause::too_large;
}

// The fault as clients read it. A database's own words name its host and its user, so they are only
// in the log.
StoreFault public_fault(const StoreFault& fault) {
    const auto says = [&](const char* what) {
        return StoreFault{fault.effect(), fault.cause(),
                          std::string{what} + "; the server's log says why"};
    };
    switch (fault.cause()) {
        case StoreFault::Cause::unavailable: return says("the store does not answer");
        case StoreFault::Cause::configuration: return says("the store cannot be used as it is");
        case StoreFault::Cause::not_allowed: return says("the store does not allow this");
        case StoreFault::Cause::internal: return says("the store's answer was not understood");
        // Leasehold's own words.
        case StoreFault::Cause::clock_leap:
        case StoreFault::Cause::lock_id_in_use:
        case StoreFault::Cause::too_large: break;
    }
    return fault;
}

}  // namespace

void ObservedStore::apply(std::span<const Request> requests, std::span<Outcome> outcomes) {
    observe(&Store::apply, requests, outcomes);
}

void ObservedStore::apply_first(std::span<const Request> requests, std::span<Outcome> outcomes) {
    observe(&Store::apply_first, requests, outcomes);
}

void ObservedStore::apply_rest(std::span<const Request> requests, std::span<Outcome> outcomes) {
    observe(&Store::apply_rest, requests, outcomes);
}

void ObservedStore::observe(Call call, std::span<const Request> requests,
                            std::span<Outcome> outcomes) {
    const auto begun = Clock::now();
    try {
        ((*store_).*call)(requests, outcomes);
    } catch (const StoreFault& fault) {
        if (is_failure(fault)) observer_.store_failed(fault);
        tell(&Store::apply, outcomes, begun);
        throw public_fault(fault);
    }
    for (Outcome& outcome : outcomes) {
        const auto* fault = std::get_if<StoreFault>(&outcome);
        if (fault == nullptr) continue;
        if (is_failure(*fault)) observer_.store_failed(*fault);
        outcome = public_fault(*fault);
    }
    tell(call, outcomes, begun);
}

void ObservedStore::tell(Call call, std::span<const Outcome> outcomes, Clock::time_point begun) {
    const auto ended = Clock::now();
    const auto took = ended - begun;
    const bool may_leave = call == &Store::apply_first;
    const auto left = may_leave ? std::ranges::count_if(outcomes, is_unanswered) : 0;
    if (left > 0 && static_cast<std::size_t>(left) == outcomes.size()) return;
    const auto faults = std::ranges::count_if(outcomes, [&](const Outcome& outcome) {
        const auto* fault = std::get_if<StoreFault>(&outcome);
        return fault != nullptr ? is_failure(*fault) : !may_leave && is_unanswered(outcome);
    });
    observer_.batch_applied({.requests = outcomes.size() - static_cast<std::size_t>(left),
                             .faults = static_cast<std::size_t>(faults),
                             .took = took,
                             .clock_offset = clock_offset(outcomes, ended, took)});
}

std::optional<Duration> ObservedStore::clock_offset(std::span<const Outcome> outcomes,
                                                    Clock::time_point ended, Clock::duration took) {
    const Clock::rep now = ended.time_since_epoch().count();
    if (now < next_look_at_clock_.load(std::memory_order_relaxed)) return std::nullopt;
    for (const Outcome& outcome : outcomes) {
        const auto theirs = store_now(outcome);
        if (!theirs) continue;
        next_look_at_clock_ = now + Clock::duration{between_looks_at_clock}.count();
        // The store read its clock during the batch; assume in the middle.
        const auto ours = std::chrono::system_clock::now() - took / 2;
        return std::chrono::duration_cast<Duration>(*theirs - ours);
    }
    return std::nullopt;
}

}  // namespace leasehold::server
