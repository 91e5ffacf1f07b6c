#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <leasehold/web/fields.hpp>
#include <leasehold/web/http.hpp>

#include "web/language.hpp"

// Requests as the commands see them, independent of the web framework.
namespace customers::web {

using leasehold::web::Fields;
using leasehold::web::Response;

inline constexpr std::string_view session_cookie = "customers_session";

struct Request {
    std::string method = "GET";
    std::string path = "/";  // decoded
    Fields query{};
    Fields form{};
    std::string body{};
    leasehold::web::Headers headers{};
    std::vector<std::string> names{};  // the parts of the path that match a * of the route

    // As the web kit takes it.
    [[nodiscard]] leasehold::web::Request kit_request() const;
    // Empty where it was not sent. Names are compared without regard to case.
    [[nodiscard]] std::string header(std::string_view name) const;
    [[nodiscard]] std::string cookie(std::string_view name) const;
    [[nodiscard]] Language language() const;
    // The name of the tab that asks.
    [[nodiscard]] std::string tab() const;
};

// After a POST: go there and look.
[[nodiscard]] Response see_other(std::string location);

}  // namespace customers::web
