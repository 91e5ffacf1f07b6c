#include <leasehold/web/http.hpp>

#include <algorithm>
#include <cctype>
#include <optional>

#include "core/text.hpp"
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

bool is_from_another_site(const Request& request) {
    if (const std::string_view site = request.header("Sec-Fetch-Site"); !site.empty()) {
        return site != "same-origin" && site != "none";
    }
    // Browsers that do not send it name the origin of a POST.
    const std::string_view origin = request.header("Origin");
    if (origin.empty()) return false;
    const std::size_t host = origin.find("://");
    return host == std::string_view::npos || origin.substr(host + 3) != request.header("Host");
}

bool is_for_host(const Request& request, std::span<const std::string> hosts) {
    const std::string_view host = request.header("Host");
    // The port follows the last colon, unless that colon is part of an IPv6 address.
    const std::size_t colon = host.rfind(':');
    const bool has_port =
        colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos;
    return std::ranges::find(hosts, has_port ? host.substr(0, colon) : host) != hosts.end();
}

std::string encode_url(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string encoded;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool plain =
            byte < 0x80U && (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.');
        if (plain) {
            encoded += c;
        } else {
            encoded.append({'%', digits[byte >> 4U], digits[byte & 0xFU]});
        }
    }
    return encoded;
}

std::optional<std::string> decode_url(std::string_view text) {
    auto decoded = decode_percent(text);
    if (decoded && text_problem("a URL", *decoded, decoded->size(), Lines::one)) return {};
    return decoded;
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
