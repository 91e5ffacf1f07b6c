#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <leasehold/web/locking_repository.hpp>

#include "domain/records.hpp"

// Which lock each kind of record needs: the one place that says so.
namespace customers {

namespace kit = leasehold::web;

// Members of an aggregate lock their root: an address its customer.
[[nodiscard]] leasehold::LockKey root_of(const leasehold::LockKey& member);

template <class T>
inline const kit::LockRule lock_rule{};
template <>
inline const kit::LockRule lock_rule<Customer>{
    .type = "Customer", .lock_type = leasehold::LockType::exclusive_write, .root_of = root_of};
template <>
inline const kit::LockRule lock_rule<PriceList>{.type = "PriceList",
                                                .lock_type = leasehold::LockType::read_write};
template <>
inline const kit::LockRule lock_rule<Counter>{.type = "Counter",
                                              .lock_type = leasehold::LockType::exclusive_read};

template <class T>
[[nodiscard]] leasehold::LockKey key_of(std::string_view id) {
    return {lock_rule<T>.type, id};
}
// An address is named within its customer: ("Address", "7/2").
[[nodiscard]] leasehold::LockKey address_key(std::string_view customer_id, std::size_t position);

// Whether a page may lock this key in this mode.
[[nodiscard]] bool may_be_locked(const leasehold::LockKey& key, leasehold::Mode mode);

}  // namespace customers
