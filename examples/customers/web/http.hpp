#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/web/fields.hpp>
#include <leasehold/web/http.hpp>

#include "web/language.hpp"

// Requests as the commands see them.
namespace customers::web {

using leasehold::web::Fields;
using leasehold::web::Response;

inline constexpr std::string_view session_cookie = "customers_session";

// A request of the web kit, with its query and form read.
struct Request {
    leasehold::web::Request plain{};
    Fields query{};
    Fields form{};
    std::vector<std::string> names{};  // the parts of the path that match a * of the route

    // Nothing where the request is not well-formed.
    [[nodiscard]] static std::optional<Request> read(leasehold::web::Request plain);

    [[nodiscard]] Language language() const;
    // The name of the tab that asks.
    [[nodiscard]] std::string tab() const;
};

// After a POST: go there and look.
[[nodiscard]] Response see_other(std::string location);
// For a request that the application cannot answer with a page.
[[nodiscard]] Response plain_refusal(int status, std::string_view english,
                                     std::string_view accepted_languages);

}  // namespace customers::web
