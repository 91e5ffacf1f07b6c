#include "domain/lock_rules.hpp"

namespace customers {
namespace {

constexpr std::string_view address = "Address";

template <class T>
bool allows(leasehold::Mode mode) {
    return leasehold::mode_for(LockRule<T>::type, leasehold::Access::read) == mode ||
           leasehold::mode_for(LockRule<T>::type, leasehold::Access::write) == mode;
}

}  // namespace

bool may_be_locked(const leasehold::LockKey& key, leasehold::Mode mode) {
    if (key.type() == LockRule<Customer>::name) return allows<Customer>(mode);
    if (key.type() == LockRule<PriceList>::name) return allows<PriceList>(mode);
    return key.type() == LockRule<Counter>::name && allows<Counter>(mode);
}

leasehold::LockKey address_key(std::string_view customer_id, std::size_t position) {
    return {address, std::string{customer_id} + '/' + std::to_string(position)};
}

leasehold::LockKey root_of(const leasehold::LockKey& member) {
    if (member.type() != address) return member;
    return key_of<Customer>(member.id().substr(0, member.id().find('/')));
}

}  // namespace customers
