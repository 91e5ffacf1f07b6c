#include "web/labels.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace customers::web {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 9> words{{{"name", "Name"},
                                                                              {"email", "E-mail"},
                                                                              {"phone", "Phone"},
                                                                              {"note", "Note"},
                                                                              {"label", "Label"},
                                                                              {"street", "Street"},
                                                                              {"city", "City"},
                                                                              {"item", "Item"},
                                                                              {"price", "Price"}}};

std::string_view word_of(std::string_view part) {
    const auto found = std::ranges::find(words, part, [](const auto& w) { return w.first; });
    return found == words.end() ? part : found->second;
}

}  // namespace

Html label_of(Language language, std::string_view field) {
    const std::size_t dot = field.find('.');
    if (dot == std::string_view::npos) return html("{}", in(language, word_of(field)));
    const std::string_view rest = field.substr(dot + 1);
    const std::size_t second = rest.find('.');
    if (second == std::string_view::npos) {
        return html("{} {}", in(language, word_of(field.substr(0, dot))), rest);
    }
    return html("{} {}, {}", in(language, "Address"), rest.substr(0, second),
                in(language, word_of(rest.substr(second + 1))));
}

}  // namespace customers::web
