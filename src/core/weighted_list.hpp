#pragma once

#include <optional>
#include <string_view>

// The lists of header fields such as Accept-Language and Accept-Encoding: "ko;q=0.5, en".
namespace leasehold {

struct WeightedItem {
    std::string_view value{};
    // In thousandths: 500 for "q=0.5", 1000 without a weight. Nothing if it is malformed.
    std::optional<int> weight{};
};

// Cuts the first item off the list. An item can be empty.
[[nodiscard]] WeightedItem next_item(std::string_view& list) noexcept;

}  // namespace leasehold
