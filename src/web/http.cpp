#include <leasehold/web/http.hpp>

#include <algorithm>
#include <cctype>
#include <optional>

#include "web/percent.hpp"

namespace leasehold::web {
namespace {

bool is_same_name(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
    return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

std::string_view Request::path() const {
    const std::string_view all{target};
    return all.substr(0, all.find('?'));
}

std::string_view Request::header(std::string_view name) const {
    const auto found =
        std::ranges::find_if(headers, [&](const auto& h) { return is_same_name(h.first, name); });
    return found == headers.end() ? std::string_view{} : std::string_view{found->second};
}

std::string_view Request::cookie(std::string_view name) const {
    std::string_view rest = header("Cookie");
    while (!rest.empty()) {
        std::string_view pair = rest.substr(0, rest.find(';'));
        rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
        pair.remove_prefix(std::min(pair.size(), pair.find_first_not_of(' ')));
        const std::size_t equals = pair.find('=');
        if (equals != std::string_view::npos && pair.substr(0, equals) == name) {
            return pair.substr(equals + 1);
        }
    }
    return {};
}

std::string Request::query(std::string_view name) const {
    const std::size_t question = target.find('?');
    if (question == std::string::npos) return {};
    return form_field(std::string_view{target}.substr(question + 1), name);
}

std::string set_cookie(std::string_view name, std::string_view value, CookieFor connections) {
    std::string text{name};
    text.append("=").append(value).append("; Path=/; HttpOnly; SameSite=Lax");
    if (connections == CookieFor::https) text.append("; Secure");
    if (value.empty()) text.append("; Max-Age=0");
    return text;
}

std::string form_field(std::string_view form, std::string_view name) {
    while (!form.empty()) {
        const std::string_view pair = form.substr(0, form.find('&'));
        form.remove_prefix(std::min(form.size(), pair.size() + 1));
        const std::size_t equals = std::min(pair.find('='), pair.size());
        if (decode_form(pair.substr(0, equals)) != name) continue;
        return decode_form(pair.substr(std::min(pair.size(), equals + 1))).value_or("");
    }
    return {};
}

std::string escape_html(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            case '\'': out += "&#39;"; break;
            default: out += c;
        }
    }
    return out;
}

}  // namespace leasehold::web
