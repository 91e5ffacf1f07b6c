#pragma once

#include <cstdint>
#include <string>

namespace customers {

// Which state of an object this is: the version grows with every save.
struct Revision {
    std::int64_t version = 0;
    std::string changed_by{};
    std::string changed_at{};  // by the database's clock

    friend bool operator==(const Revision&, const Revision&) = default;
};

}  // namespace customers
