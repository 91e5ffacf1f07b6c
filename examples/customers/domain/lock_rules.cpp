#include "domain/lock_rules.hpp"

namespace customers {
namespace {

using leasehold::Access;

constexpr std::string_view address = "Address";

}  // namespace

leasehold::LockKey root_of(const leasehold::LockKey& member) {
    if (member.type() != address) return member;
    return key_of<Customer>(member.id().substr(0, member.id().find('/')));
}

leasehold::LockKey address_key(std::string_view customer_id, std::size_t position) {
    return {address, std::string{customer_id} + '/' + std::to_string(position)};
}

bool may_be_locked(const leasehold::LockKey& key, leasehold::Mode mode) {
    for (const auto* rule : {&lock_rule<Customer>, &lock_rule<PriceList>, &lock_rule<Counter>}) {
        if (key.type() != rule->type) continue;
        return mode_for(rule->lock_type, Access::read) == mode ||
               mode_for(rule->lock_type, Access::write) == mode;
    }
    return false;
}

}  // namespace customers
