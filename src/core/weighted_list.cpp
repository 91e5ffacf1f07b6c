#include "core/weighted_list.hpp"

#include <algorithm>
#include <cstddef>

#include "core/text.hpp"

namespace leasehold {
namespace {

// Cuts the text before the separator off, and returns it without the spaces around it.
std::string_view cut_off(std::string_view& text, char separator) noexcept {
    const std::size_t end = std::min(text.find(separator), text.size());
    const std::string_view part = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    return part;
}

// "0.5" is 500: a weight has at most three decimals. Nothing for a text that is not a weight.
std::optional<int> thousandths_in(std::string_view text) noexcept {
    if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return std::nullopt;
    if (text.size() > 1 && text[1] != '.') return std::nullopt;
    int thousandths = (text[0] - '0') * 1000;
    int place = 100;
    for (const char c : text.substr(std::min<std::size_t>(2, text.size()))) {
        if (c < '0' || c > '9') return std::nullopt;
        thousandths += (c - '0') * place;
        place /= 10;
    }
    return thousandths <= 1000 ? std::optional{thousandths} : std::nullopt;
}

}  // namespace

WeightedItem next_item(std::string_view& list) noexcept {
    std::string_view rest = cut_off(list, ',');
    WeightedItem item{.value = cut_off(rest, ';'), .weight = 1000};
    if (rest.empty()) return item;
    const std::string_view name = cut_off(rest, '=');
    item.weight = name == "q" || name == "Q" ? thousandths_in(trimmed(rest)) : std::nullopt;
    return item;
}

}  // namespace leasehold
