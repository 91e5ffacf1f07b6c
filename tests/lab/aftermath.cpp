#include "lab/aftermath.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace leasehold::lab {
namespace {

constexpr std::size_t page = 1000;

template <class Answer>
Page<Answer> ask(Store& store, const Request& request) {
    Outcome outcome;
    store.apply({&request, 1}, {&outcome, 1});
    return std::get<Page<Answer>>(std::move(outcome));
}

}  // namespace

Aftermath read_aftermath(Store& store, std::span<const LockKey> keys) {
    Aftermath aftermath;
    for (std::optional<Holder> after;;) {
        const auto holders = ask<Holder>(store, List{.after = after, .limit = page});
        std::ranges::copy(holders, std::back_inserter(aftermath.holders));
        if (!holders.may_continue(page)) break;
        after = holders.last();
    }
    std::set<std::pair<LockKey, Fence>> expired;
    for (const LockKey& key : keys) {
        for (std::optional<std::int64_t> before;;) {
            const auto past =
                ask<PastLease>(store, History{.key = key, .before = before, .limit = page});
            for (const PastLease& one : past) {
                aftermath.history.push_back(one);
                if (one.how == Gone::expired) expired.emplace(key, one.lease.fence);
            }
            if (!past.may_continue(page)) break;
            before = past.last().sequence;
        }
    }
    // A lease that was alive a moment before may have expired since.
    std::erase_if(aftermath.holders, [&](const Holder& holder) {
        return expired.contains({holder.key, holder.fence});
    });
    return aftermath;
}

}  // namespace leasehold::lab
