#include "web/fields.hpp"

#include <algorithm>

#include "domain/text.hpp"
#include "web/percent.hpp"

namespace customers::web {
namespace {

std::optional<std::string> decode(std::string_view text) {
    std::string spaced{text};
    std::ranges::replace(spaced, '+', ' ');
    auto decoded = decode_percent(spaced);
    if (decoded && !is_clean(*decoded)) return std::nullopt;
    return decoded;
}

}  // namespace

std::optional<Fields> Fields::parse(std::string_view text) {
    Fields fields;
    while (!text.empty()) {
        const std::string_view pair = text.substr(0, text.find('&'));
        text.remove_prefix(std::min(text.size(), pair.size() + 1));
        const std::size_t equals = pair.find('=');
        auto name = decode(pair.substr(0, equals));
        auto value = decode(equals == std::string_view::npos ? "" : pair.substr(equals + 1));
        if (!name || !value || fields.fields_.size() == most) return std::nullopt;
        fields.add(*std::move(name), *std::move(value));
    }
    return fields;
}

std::string Fields::print() const {
    std::string text;
    for (const auto& [name, value] : fields_) {
        if (!text.empty()) text += '&';
        text += encode_percent(name) + '=' + encode_percent(value);
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

}  // namespace customers::web
