#include "domain/lock_rules.hpp"

namespace customers {
namespace {

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
    return allows(lock_rule<Customer>, key, mode) || allows(lock_rule<PriceList>, key, mode) ||
           allows(lock_rule<Counter>, key, mode);
}

}  // namespace customers
