#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/lease.hpp>

namespace leasehold::server::v1 {

// Searches leases for a text. The case of ASCII letters does not matter. The time is linear in the
// length of the searched text (the algorithm of Knuth, Morris and Pratt):
// after a letter that does not fit, the search goes on with the longest beginning of the text that
// ends there, and never looks back.
class Search {
public:
    // Throws BadRequest for a text that is longer than any field of a lease.
    explicit Search(std::string_view text);

    // Whether the text is in one of the public fields, or in the key as people write it.
    [[nodiscard]] bool finds(const Holder& holder);

    // How many letters were compared so far.
    [[nodiscard]] std::size_t comparisons() const noexcept { return comparisons_; }

private:
    [[nodiscard]] bool is_in(std::string_view whole);
    [[nodiscard]] bool fits(std::size_t at, char letter) {
        ++comparisons_;
        return text_[at] == letter;
    }

    const std::string text_;  // in lower case
    // For each length of a beginning of the text: the longest shorter beginning that ends it.
    std::vector<std::size_t> shorter_;
    std::size_t comparisons_ = 0;
};

}  // namespace leasehold::server::v1
