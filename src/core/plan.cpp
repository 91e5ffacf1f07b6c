#include "core/plan.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "core/columns.hpp"
#include "core/fresh_lock_id.hpp"

namespace leasehold {
namespace {

std::span<const LockKey> only(const LockKey& key) {
    return {&key, 1};
}

}  // namespace

std::vector<LockId> ids_to_locate(std::span<const Request> requests,
                                  std::span<const std::size_t> which) {
    std::vector<LockId> ids;
    for (const std::size_t index : which) {
        std::visit(
            [&]<class R>(const R& request) {
                if constexpr (ByLockId<R>) {
                    if (!request.key) ids.push_back(request.lock_id);
                } else if constexpr (AnyTry<R>) {
                    std::ranges::copy_if(tried_ids(request), std::back_inserter(ids),
                                         std::not_fn(FreshLockId::is_fresh));
                }
            },
            requests[index]);
    }
    return ids;
}

Plan::Plan(std::optional<Located> located, KeysOf keys_of)
    : located_{std::move(located)}, keys_of_owner_{std::move(keys_of)} {}

bool Plan::add(std::size_t index, const Request& request) {
    return std::visit(
        [&]<class R>(const R& one) {
            if constexpr (works_on_cells(kind_of_type<R>)) {
                constexpr bool reads = only_reads(kind_of_type<R>);
                const auto intent = reads ? Slot::Intent::read : Slot::Intent::change;
                const std::optional<std::span<const LockKey>> keys = keys_of(one);
                if (!keys) return false;
                writes_ = writes_ || !reads;
                entries_.push_back({index, wanted_.size(), keys->size()});
                for (const LockKey& key : *keys) wanted_.push_back({&key, intent, wanted_.size()});
            }
            return true;
        },
        request);
}

std::span<const LockKey> Plan::keys_of(const AnyTry auto& request) {
    const std::span<const TryLockId> ids = tried_ids(request);
    const std::span<const LockKey> keys = tried_keys(request);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (located_) located_->emplace(ids[i], keys[i]);
        tried_.push_back({&keys[i], &request.owner});
        if (!FreshLockId::is_fresh(ids[i])) brought_ids_.push_back(ids[i]);
    }
    return keys;
}

std::optional<std::span<const LockKey>> Plan::keys_of(const ReleaseAll& request) {
    if (request.key) return only(*request.key);
    auto owned = keys_of_owner_(request.owner, request.scope);
    if (!owned) return std::nullopt;
    std::vector<LockKey>& keys = owned_.emplace_back(*std::move(owned));
    for (const Tried& tried : tried_) {
        if (owner_matches(*tried.owner, request.owner, request.scope)) keys.push_back(*tried.key);
    }
    sort_and_unite(keys);  // lab: owned-keys
    return keys;
}

std::span<const LockKey> Plan::keys_of(const Break& request) {
    return only(request.key);
}

std::span<const LockKey> Plan::keys_of(const Holders& request) {
    return only(request.key);
}

std::span<const LockKey> Plan::keys_of(const ByLockId auto& request) {
    named_ids_.push_back(request.lock_id);
    if (request.key) return only(*request.key);
    const auto found = located_->find(request.lock_id);
    if (found == located_->end()) return {};
    return only(found->second);
}

Work Plan::lay_out() {
    Work work;
    std::ranges::sort(wanted_, [](const Wanted& a, const Wanted& b) {
        return *a.key != *b.key ? *a.key < *b.key : a.intent > b.intent;
    });
    work.slots.reserve(wanted_.size());
    slots_.resize(wanted_.size());
    for (const auto& [key, intent, position] : wanted_) {
        if (work.slots.empty() || work.slots.back().key != *key) {
            work.slots.push_back({.key = *key, .intent = intent});
        }
        slots_[position] = work.slots.size() - 1;
    }
    work.brought_ids = brought_ids_.size();
    work.lock_ids = std::move(brought_ids_);
    work.lock_ids.insert(work.lock_ids.end(), named_ids_.begin(), named_ids_.end());
    return work;
}

}  // namespace leasehold
