#include "locks/lock_desk.hpp"

#include <chrono>
#include <utility>

#include "domain/text.hpp"

namespace customers {
namespace {

// The longest time that a page can hold a lock by renewing it.
constexpr std::chrono::hours longest_edit{8};
// Pages renew after a third of the ttl, and a little later.
constexpr std::chrono::seconds slack{5};

}  // namespace

LockDesk::LockDesk(std::unique_ptr<leasehold::Store> store, leasehold::Duration life)
    : locks{std::move(store), {.max_hold = longest_edit}}, ttl{life} {}

std::optional<leasehold::Result<leasehold::Lease>> LockDesk::wait(
    const leasehold::LockKey& key, const leasehold::LockOptions& options,
    leasehold::Duration patience) {
    auto answer = line.wait(key, options, patience);
    if (answer && *answer) delayed_releases.release_later(**answer, ttl / 3 + slack);
    return answer;
}

std::size_t LockDesk::knock(const leasehold::LockKey& key, const std::string& owner,
                            const std::string& message) {
    const auto holders = locks.holders(key);
    knocks.add(holders.items,
               {.by = owner,
                .message = std::string{beginning_of(message, Knocks::longest_message)},
                .at = holders.store_now});
    return holders.size();
}

}  // namespace customers
