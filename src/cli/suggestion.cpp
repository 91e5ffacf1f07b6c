#include "cli/suggestion.hpp"

#include <algorithm>
#include <numeric>

namespace leasehold::cli {
namespace {

// How many letters must change to make one word of the other.
std::size_t distance(std::string_view one, std::string_view other) {
    std::vector<std::size_t> row(other.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t i = 0; i < one.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < other.size(); ++j) {
            const std::size_t replaced = diagonal + (one[i] == other[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

std::string_view without_dashes(std::string_view name) {
    name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
    return name;
}

}  // namespace

std::string suggestion(std::string_view word, const std::vector<std::string>& names) {
    const std::string_view plain = without_dashes(word);
    const auto from_word = [&](const std::string& name) {
        return distance(plain, without_dashes(name));
    };
    const auto nearest = std::ranges::min_element(names, {}, from_word);
    if (nearest == names.end() || from_word(*nearest) > plain.size() / 3 + 1) return {};
    return "; did you mean '" + *nearest + "'?";
}

}  // namespace leasehold::cli
