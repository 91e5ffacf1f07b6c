#include <leasehold/web/fields.hpp>
#include <leasehold/web/http.hpp>

#include <algorithm>

#include "core/text.hpp"
#include "web/percent.hpp"

namespace leasehold::web {
namespace {

std::optional<std::string> decode(std::string_view text) {
    auto decoded = decode_form(text);
    if (decoded && text_problem("a field", *decoded, decoded->size(), Lines::many)) return {};
    return decoded;
}

bool is_line(std::string_view field) {
    return field.contains('.');
}

bool has_touched_lines(const Fields& loaded, const Fields& typed) {
    return std::ranges::any_of(changes(loaded, typed),
                               [](const Change& change) { return is_line(change.field); });
}

}  // namespace

std::optional<Fields> Fields::parse(std::string_view text) {
    Fields fields;
    while (!text.empty()) {
        const std::string_view pair = text.substr(0, text.find('&'));
        text.remove_prefix(std::min(text.size(), pair.size() + 1));
        const std::size_t equals = std::min(pair.find('='), pair.size());
        auto name = decode(pair.substr(0, equals));
        auto value = decode(pair.substr(std::min(pair.size(), equals + 1)));
        if (!name || !value || fields.fields_.size() == most) return std::nullopt;
        fields.add(*std::move(name), *std::move(value));
    }
    return fields;
}

std::string Fields::print() const {
    std::string text;
    for (const auto& [name, value] : fields_) {
        if (!text.empty()) text += '&';
        text += encode_url(name) + '=' + encode_url(value);
    }
    return text;
}

void Fields::add(std::string name, std::string value) {
    fields_.emplace_back(std::move(name), std::move(value));
}

std::string Fields::get(std::string_view name) const {
    const auto found = std::ranges::find(fields_, name, [](const auto& f) { return f.first; });
    return found == fields_.end() ? "" : found->second;
}

bool Fields::has(std::string_view name) const {
    return std::ranges::find(fields_, name, [](const auto& f) { return f.first; }) != fields_.end();
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

}  // namespace leasehold::web
