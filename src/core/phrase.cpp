#include "core/phrase.hpp"

#include <algorithm>

namespace leasehold {

std::string filled(std::string_view text, std::initializer_list<Filling> fillings) {
    std::string out;
    while (!text.empty()) {
        const std::size_t open = std::min(text.find('{'), text.size());
        out += text.substr(0, open);
        text.remove_prefix(open);
        const std::size_t close = text.find('}');
        if (close == std::string_view::npos) return out.append(text);
        const std::string_view hole = text.substr(1, close - 1);
        const auto* const found = std::ranges::find(fillings, hole, &Filling::hole);
        // A brace without a name that we know is a character like any other.
        const std::size_t used = found == fillings.end() ? 1 : close + 1;
        out += found == fillings.end() ? text.substr(0, 1) : found->value;
        text.remove_prefix(used);
    }
    return out;
}

}  // namespace leasehold
