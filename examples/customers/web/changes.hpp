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

// What was typed, with what others changed in fields that the person did not touch. The lines of a
// list (addresses, prices) count as one: half of theirs and half of ours would be nobody's.
[[nodiscard]] Fields merged(const Fields& loaded, const Fields& typed, const Fields& now);

// Between two states of one form, but for the version.
[[nodiscard]] std::vector<Change> changes(const Fields& before, const Fields& after);

// "address.2.street" in words.
[[nodiscard]] Html label_of(Language language, std::string_view field);

}  // namespace customers::web
