#include "core/names_in_use.hpp"

#include <algorithm>
#include <new>
#include <string_view>
#include <variant>

#include "core/fresh_lock_id.hpp"
#include "core/keyed_hash.hpp"
#include "core/request_traits.hpp"

namespace leasehold {
namespace {

// The widest part of the path: a release_all may concern every owner below it.
std::uint64_t hash_of_owner(std::string_view owner) {
    SipHash<1, 3> hash;
    hash.add(owner.substr(0, owner.find('/')));
    return hash.finish();
}

}  // namespace

void NamesInUse::append(const Request& request, std::vector<Name>& names) {
    const bool reads = only_reads(kind_of(request));
    const auto add_id = [&](const LockId& id) {
        names.push_back({std::hash<LockId>{}(id), reads});
    };
    if (const auto keys = keys_of(request)) {
        for (const LockKey& key : *keys) names.push_back({std::hash<LockKey>{}(key), reads});
    }
    if (const LockId* id = lock_id_of(request)) add_id(*id);
    std::visit(
        [&]<class R>(const R& r) {
            if constexpr (AnyTry<R>) {
                // Nobody else knows a fresh lock id.
                for (const TryLockId& id : tried_ids(r)) {
                    if (!FreshLockId::is_fresh(id)) add_id(id);
                }
                if (!r.owner.empty()) names.push_back({hash_of_owner(r.owner), true});
            } else if constexpr (std::is_same_v<R, ReleaseAll>) {
                names.push_back({hash_of_owner(r.owner), false});
                if (r.key) names.push_back({std::hash<LockKey>{}(*r.key), false});
            } else if constexpr (std::is_same_v<R, History>) {
                if (r.key) names.push_back({std::hash<LockKey>{}(*r.key), true});
            }
        },
        request);
}

bool NamesInUse::clash(std::span<const Name> names) const {
    return std::ranges::any_of(names, [&](const Name& name) {
        const auto found = uses_.find(name.hash);
        return found != uses_.end() && (found->second.alone > 0 || !name.shared);
    });
}

void NamesInUse::add(std::span<const Name> names) {
    for (std::size_t i = 0; i < names.size(); ++i) {
        try {
            Uses& uses = uses_[names[i].hash];
            ++(names[i].shared ? uses.shared : uses.alone);
        } catch (const std::bad_alloc&) {
            remove(names.first(i));
            throw;
        }
    }
}

void NamesInUse::remove(std::span<const Name> names) noexcept {
    for (const Name& name : names) {
        const auto found = uses_.find(name.hash);
        if (found == uses_.end()) continue;
        Uses& uses = found->second;
        --(name.shared ? uses.shared : uses.alone);
        if (uses.shared == 0 && uses.alone == 0) uses_.erase(found);
    }
}

}  // namespace leasehold
