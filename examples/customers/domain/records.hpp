#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// What the application keeps.
namespace customers {

// Which state of a record this is: the version grows with every save.
struct Revision {
    std::int64_t version = 0;
    std::string changed_by{};
    std::string changed_at{};  // by the database's clock
};

struct Address {
    std::string label{};  // "Office", "Warehouse"
    std::string street{};
    std::string city{};

    [[nodiscard]] bool is_empty() const { return label.empty() && street.empty() && city.empty(); }
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
};

// What is wrong with it, in words for the person who typed it; empty where nothing is.
[[nodiscard]] std::vector<std::string_view> problems_of(const Customer& customer);

// What the list of customers shows.
struct CustomerLine {
    std::string id{};
    std::string name{};
    std::string city{};
};

struct Price {
    std::string item{};
    std::int64_t cents = 0;
};

// Reading it needs a lock: an offer must not be based on prices that somebody is changing.
struct PriceList {
    static constexpr std::int64_t highest_cents = 100'000'000;

    std::string id{};
    std::vector<Price> prices{};
    Revision revision{};
};

// Gives out numbers, each once and without a gap. The person who has read the next number keeps the
// lock until the number is used or put back.
struct Counter {
    std::string id{};
    std::int64_t next = 1;
    Revision revision{};

    std::int64_t take() { return next++; }
};

// The ids of the one price list and the one counter there are.
inline constexpr const char* standard_prices = "standard";
inline constexpr const char* invoice_numbers = "invoice";

}  // namespace customers
