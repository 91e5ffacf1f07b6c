#include "web/http.hpp"

#include <leasehold/web/sessions.hpp>
#include <leasehold/web/visitor.hpp>

#include <algorithm>
#include <utility>

namespace customers::web {
namespace {

constexpr std::size_t drawn_tab_bytes = 6;

}  // namespace

std::optional<Request> Request::read(leasehold::web::Request plain) {
    const std::string_view target = plain.target;
    auto query = Fields::parse(target.substr(std::min(target.size(), plain.path().size() + 1)));
    const bool has_form =
        plain.header("Content-Type").starts_with("application/x-www-form-urlencoded");
    auto form = Fields::parse(has_form ? std::string_view{plain.body} : "");
    if (!leasehold::web::decode_url(plain.path()) || !query || !form) return std::nullopt;
    return Request{.plain = std::move(plain), .query = *std::move(query), .form = *std::move(form)};
}

Language Request::language() const {
    if (query.has("lang")) return leasehold::language_of(query.get("lang"));
    const std::string_view chosen = plain.cookie("lang");
    if (!chosen.empty()) return leasehold::language_of(chosen);
    return leasehold::preferred_language(plain.header("Accept-Language"));
}

std::string Request::tab() const {
    const std::string given = plain.method == "POST" ? form.get("tab") : query.get("tab");
    return leasehold::web::is_tab_name(given)
               ? given
               : "form-" + leasehold::web::random_token(drawn_tab_bytes);
}

Response see_other(std::string location) {
    Response response{.status = 303};
    response.headers.emplace_back("Location", std::move(location));
    return response;
}

Response plain_refusal(int status, std::string_view english, std::string_view accepted_languages) {
    const std::string text{in(leasehold::preferred_language(accepted_languages), english)};
    return {.status = status, .content_type = "text/plain; charset=utf-8", .body = text + '\n'};
}

}  // namespace customers::web
