#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "domain/revision.hpp"

namespace customers {

struct Address {
    std::string label{};  // "Office", "Warehouse"
    std::string street{};
    std::string city{};

    [[nodiscard]] bool is_empty() const { return label.empty() && street.empty() && city.empty(); }
    friend bool operator==(const Address&, const Address&) = default;
};

// A customer with its addresses: one aggregate, loaded, locked and saved as one.
struct Customer {
    static constexpr std::size_t most_addresses = 5;

    std::string id{};
    std::string name{};
    std::string email{};
    std::string phone{};
    std::string note{};
    std::vector<Address> addresses{};
    Revision revision{};

    friend bool operator==(const Customer&, const Customer&) = default;
};

// What the list shows.
struct CustomerLine {
    std::string id{};
    std::string name{};
    std::string city{};
};

// What is wrong with it, in words for the person who typed it; empty where nothing is.
[[nodiscard]] std::vector<std::string_view> problems_of(const Customer& customer);

}  // namespace customers
