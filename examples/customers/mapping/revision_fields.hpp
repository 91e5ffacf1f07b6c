#pragma once

#include <charconv>
#include <cstdint>
#include <string>

#include <leasehold/web/visitor.hpp>

#include "database/connection.hpp"
#include "domain/revision.hpp"

namespace customers {

// A number as the database wrote it.
[[nodiscard]] inline std::int64_t number_from(const std::string& text) {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

// From the fields version, changed_by, changed_at, which begin at `first`.
[[nodiscard]] inline Revision revision_from(const database::Row& row, std::size_t first) {
    return {.version = number_from(row[first]),
            .changed_by = row[first + 1],
            .changed_at = row[first + 2]};
}

[[nodiscard]] inline std::string writer_of(const leasehold::Lease& lease) {
    return std::string{leasehold::web::user_of(lease.owner)};
}

}  // namespace customers
