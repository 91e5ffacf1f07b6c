#include "domain/records.hpp"

#include <algorithm>

#include "domain/text.hpp"

namespace customers {

std::vector<std::string_view> problems_of(const Customer& customer) {
    std::vector<std::string_view> problems;
    if (customer.name.empty()) problems.emplace_back("A customer needs a name.");
    if (!customer.email.empty() && !customer.email.contains('@')) {
        problems.emplace_back("An e-mail address has an @ in it.");
    }
    const auto is_good = [](const Address& address) {
        return is_short(address.label) && is_short(address.street) && is_short(address.city);
    };
    if (!is_short(customer.name) || !is_short(customer.email) || !is_short(customer.phone) ||
        !std::ranges::all_of(customer.addresses, is_good)) {
        problems.emplace_back("A line can be 200 characters long.");
    }
    if (length_of(customer.note) > longest_note) {
        problems.emplace_back("A note can be 2,000 characters long.");
    }
    return problems;
}

}  // namespace customers
