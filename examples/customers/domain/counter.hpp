#pragma once

#include <cstdint>
#include <string>

#include "domain/revision.hpp"

namespace customers {

// Gives out numbers, each once and without a gap. The person who has read the next number keeps the
// lock until the number is used or put back.
struct Counter {
    std::string id{};
    std::int64_t next = 1;
    Revision revision{};

    std::int64_t take() { return next++; }

    friend bool operator==(const Counter&, const Counter&) = default;
};

}  // namespace customers
