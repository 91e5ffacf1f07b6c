#pragma once

#include <string>
#include <string_view>

#include <leasehold/lease.hpp>

namespace leasehold::server::v1 {

// Searches leases for a text. The case of ASCII letters does not matter. The time is linear in the
// length of what is searched, whatever the text is.
class Search {
public:
    // Throws BadRequest for a text that is longer than any field of a lease.
    explicit Search(std::string_view text);

    // Whether the text is in one of the public fields, or in the key as people write it.
    [[nodiscard]] bool finds(const Holder& holder);

private:
    [[nodiscard]] bool is_in(std::string_view whole);

    const std::string text_;  // in lower case
    std::string lowered_;     // kept for its memory
};

}  // namespace leasehold::server::v1
