#pragma once

#include <string>
#include <vector>

#include "web/fields.hpp"
#include "web/html.hpp"
#include "web/language.hpp"

namespace customers::web {

// A field that is not what it was.
struct Change {
    std::string field{};
    std::string before{};
    std::string after{};
};

// Between two states of one form, but for the version.
[[nodiscard]] std::vector<Change> changes(const Fields& before, const Fields& after);

// "address.2.street" in words.
[[nodiscard]] Html label_of(Language language, std::string_view field);

}  // namespace customers::web
