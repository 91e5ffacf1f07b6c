#include "web/http.hpp"

#include <algorithm>
#include <cctype>

#include "sessions/random_token.hpp"

namespace customers::web {
namespace {

constexpr std::size_t longest_tab_name = 64;
constexpr std::size_t drawn_tab_bytes = 6;

bool is_letter_or_digit(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool is_same_name(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
    return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

std::string Request::header(std::string_view name) const {
    const auto found =
        std::ranges::find_if(headers, [&](const auto& h) { return is_same_name(h.first, name); });
    return found == headers.end() ? "" : found->second;
}

std::string Request::cookie(std::string_view name) const {
    const std::string all = header("Cookie");
    std::string_view rest = all;
    while (!rest.empty()) {
        std::string_view pair = rest.substr(0, rest.find(';'));
        rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
        pair.remove_prefix(std::min(pair.size(), pair.find_first_not_of(' ')));
        const std::size_t equals = pair.find('=');
        if (equals != std::string_view::npos && pair.substr(0, equals) == name) {
            return std::string{pair.substr(equals + 1)};
        }
    }
    return {};
}

Language Request::language() const {
    if (query.has("lang")) return language_of(query.get("lang"));
    if (const std::string chosen = cookie("lang"); !chosen.empty()) return language_of(chosen);
    return language_of(header("Accept-Language"));
}

std::string Request::tab() const {
    const std::string given = method == "POST" ? form.get("tab") : query.get("tab");
    return is_tab_name(given) ? given : "form-" + random_token(drawn_tab_bytes);
}

Response see_other(std::string location) {
    Response response{.status = 303, .body = {}};
    response.headers.emplace_back("Location", std::move(location));
    return response;
}

bool is_tab_name(std::string_view text) {
    return !text.empty() && text.size() <= longest_tab_name &&
           std::ranges::all_of(
               text, [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_'; });
}

}  // namespace customers::web
