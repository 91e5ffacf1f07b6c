#include "domain/lock_rules.hpp"

namespace customers {
namespace {
constexpr std::string_view address = "Address";
}

leasehold::LockKey address_key(std::string_view customer_id, std::size_t position) {
    return {address, std::string{customer_id} + '/' + std::to_string(position)};
}

leasehold::LockKey root_of(const leasehold::LockKey& member) {
    if (member.type() != address) return member;
    return key_of<Customer>(member.id().substr(0, member.id().find('/')));
}

}  // namespace customers
