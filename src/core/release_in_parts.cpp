#include "core/release_in_parts.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

namespace leasehold {
namespace {

// As many keys as one batch holds by default.
constexpr std::size_t leases_of_a_part = 256;

}  // namespace

bool ReleaseInParts::is_needed(const Outcome& outcome) {
    const auto* fault = std::get_if<StoreFault>(&outcome);
    return fault != nullptr && fault->cause() == StoreFault::Cause::too_large;
}

ReleaseInParts::ReleaseInParts(ReleaseAll all, const Limits& limits)
    : all_{std::move(all)},
      page_{.owner = all_.owner,
            .scope = all_.scope,
            .limit = std::min(leases_of_a_part, limits.page_rows)} {}

std::vector<Request> ReleaseInParts::releases_of(Outcome page) {
    const auto* holders = std::get_if<HolderPage>(&page);
    if (holders == nullptr) {
        const auto* fault = std::get_if<StoreFault>(&page);
        problem_ = fault != nullptr ? fault->what() : "the store did not list them";
        done_ = true;
        return {};
    }
    done_ = !holders->may_continue(page_.limit);
    if (!done_) page_.after = holders->last();
    std::vector<Request> requests;
    const LockKey* last = nullptr;
    for (const Holder& holder : *holders) {
        if (last != nullptr && *last == holder.key) continue;
        last = &holder.key;
        if (!all_.only_keys.has(holder.key)) continue;
        ReleaseAll one = all_;
        one.key = holder.key;
        requests.emplace_back(std::move(one));
    }
    return requests;
}

void ReleaseInParts::collect(Outcome outcome) {
    if (auto* leases = std::get_if<std::vector<Lease>>(&outcome)) {
        std::ranges::move(*leases, std::back_inserter(released_));
        return;
    }
    const auto* fault = std::get_if<StoreFault>(&outcome);
    done_ = done_ || fault != nullptr;
    if (problem_.empty()) problem_ = fault != nullptr ? fault->what() : blocked_by_others;
}

Outcome ReleaseInParts::outcome() && {
    return released_in_parts(std::move(released_), problem_);
}

Outcome released_in_parts(std::vector<Lease> released, const std::string& problem) {
    if (problem.empty()) return released;
    return StoreFault{
        StoreFault::Effect::unknown, StoreFault::Cause::unavailable,
        std::to_string(released.size()) +
            " leases were released, but perhaps not all leases of this owner: " + problem};
}

StoreFault too_many_leases() {
    return {StoreFault::Effect::none, StoreFault::Cause::too_large,
            "this owner has more leases than end in one transaction: end them key by key"};
}

}  // namespace leasehold
