#pragma once

#include <string>
#include <string_view>

#include <leasehold/lock_key.hpp>
#include <leasehold/lock_type.hpp>
#include <leasehold/web/locking_repository.hpp>

#include "domain/counter.hpp"
#include "domain/customer.hpp"
#include "domain/price_list.hpp"

// Which lock each kind of object needs: the one place that says so.
namespace customers {

template <class T>
struct LockRule;

template <>
struct LockRule<Customer> {
    static constexpr std::string_view name = "Customer";
    static constexpr auto type = leasehold::LockType::exclusive_write;
};
template <>
struct LockRule<PriceList> {
    static constexpr std::string_view name = "PriceList";
    static constexpr auto type = leasehold::LockType::read_write;
};
template <>
struct LockRule<Counter> {
    static constexpr std::string_view name = "Counter";
    static constexpr auto type = leasehold::LockType::exclusive_read;
};

// The rule as the web kit takes it.
template <class T>
[[nodiscard]] leasehold::web::LockRule lock_rule();

// Whether a page may lock this key in this mode.
[[nodiscard]] bool may_be_locked(const leasehold::LockKey& key, leasehold::Mode mode);

template <class T>
[[nodiscard]] leasehold::LockKey key_of(std::string_view id) {
    return {LockRule<T>::name, id};
}

// An address is named within its customer: ("Address", "7/2").
[[nodiscard]] leasehold::LockKey address_key(std::string_view customer_id, std::size_t position);

// Members of an aggregate lock their root: an address its customer.
[[nodiscard]] leasehold::LockKey root_of(const leasehold::LockKey& member);

template <class T>
leasehold::web::LockRule lock_rule() {
    return {
        .type = std::string{LockRule<T>::name}, .lock_type = LockRule<T>::type, .root_of = root_of};
}

}  // namespace customers
