#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace leasehold::cli {

// "; did you mean '--wait'?", with the name that is spelt most like the word. Empty where no name
// comes near. Dashes in front of a name do not count.
[[nodiscard]] std::string suggestion(std::string_view word, const std::vector<std::string>& names);

}  // namespace leasehold::cli
