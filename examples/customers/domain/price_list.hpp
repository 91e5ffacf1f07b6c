#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "domain/revision.hpp"

namespace customers {

struct Price {
    std::string item{};
    std::int64_t cents = 0;

    friend bool operator==(const Price&, const Price&) = default;
};

// Reading it needs a lock: an offer must not be based on prices that somebody is changing.
struct PriceList {
    static constexpr std::int64_t highest_cents = 100'000'000;

    std::string id{};
    std::vector<Price> prices{};
    Revision revision{};

    friend bool operator==(const PriceList&, const PriceList&) = default;
};

}  // namespace customers
