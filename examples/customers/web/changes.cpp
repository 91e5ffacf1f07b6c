#include "web/changes.hpp"

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

bool is_line(std::string_view field) {
    return field.contains('.');
}

bool has_touched_lines(const Fields& loaded, const Fields& typed) {
    return std::ranges::any_of(changes(loaded, typed),
                               [](const Change& change) { return is_line(change.field); });
}

}  // namespace

Fields merged(const Fields& loaded, const Fields& typed, const Fields& now) {
    Fields result;
    for (const auto& [name, value] : now) {
        if (is_line(name)) continue;
        const bool untouched = typed.get(name) == loaded.get(name) || name == "version";
        result.add(name, untouched ? value : typed.get(name));
    }
    for (const auto& [name, value] : has_touched_lines(loaded, typed) ? typed : now) {
        if (is_line(name)) result.add(name, value);
    }
    return result;
}

std::vector<Change> changes(const Fields& before, const Fields& after) {
    std::vector<Change> found;
    const auto compare = [&](const std::string& name) {
        const bool known = std::ranges::find(found, name, &Change::field) != found.end();
        if (known || name == "version" || before.get(name) == after.get(name)) return;
        found.push_back({.field = name, .before = before.get(name), .after = after.get(name)});
    };
    for (const auto& [name, value] : before) compare(name);
    for (const auto& [name, value] : after) compare(name);
    return found;
}

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
