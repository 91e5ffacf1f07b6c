#include "web/http.hpp"

#include <algorithm>

#include <leasehold/web/sessions.hpp>

#include "web/segments.hpp"

namespace customers::web {
namespace {

constexpr std::size_t drawn_tab_bytes = 6;

}  // namespace

std::string Request::header(std::string_view name) const {
    return std::string{leasehold::web::Request{.headers = headers}.header(name)};
}

std::string Request::cookie(std::string_view name) const {
    return std::string{leasehold::web::Request{.headers = headers}.cookie(name)};
}

leasehold::web::Request Request::kit_request() const {
    std::string target;
    for (const std::string& part :
         segments_of(path.substr(std::min<std::size_t>(path.size(), 1)))) {
        target += '/' + leasehold::web::encode_url(part);
    }
    if (const std::string fields = query.print(); !fields.empty()) target += '?' + fields;
    return {.method = method, .target = std::move(target), .headers = headers, .body = body};
}

Language Request::language() const {
    if (query.has("lang")) return leasehold::language_of(query.get("lang"));
    if (const std::string chosen = cookie("lang"); !chosen.empty()) {
        return leasehold::language_of(chosen);
    }
    return leasehold::preferred_language(header("Accept-Language"));
}

std::string Request::tab() const {
    const std::string given = method == "POST" ? form.get("tab") : query.get("tab");
    return leasehold::web::is_tab_name(given)
               ? given
               : "form-" + leasehold::web::random_token(drawn_tab_bytes);
}

Response see_other(std::string location) {
    Response response{.status = 303};
    response.headers.emplace_back("Location", std::move(location));
    return response;
}

}  // namespace customers::web
