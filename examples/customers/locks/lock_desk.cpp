#include "locks/lock_desk.hpp"

#include <chrono>
#include <utility>

namespace customers {

LockDesk::LockDesk(std::unique_ptr<leasehold::Store> store, leasehold::Duration life)
    : locks{std::move(store)}, ttl{life} {}

std::size_t LockDesk::knock(const leasehold::LockKey& key, const std::string& owner,
                            const std::string& message) {
    const auto holders = locks.holders(key);
    // Only to be shown: no lock depends on this clock.
    const auto now =
        std::chrono::time_point_cast<leasehold::Duration>(std::chrono::system_clock::now());
    knocks.add(holders,
               {.owner = owner, .message = message.substr(0, Knocks::longest_message), .at = now});
    return holders.size();
}

}  // namespace customers
