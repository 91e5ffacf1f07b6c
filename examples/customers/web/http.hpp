#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "web/fields.hpp"
#include "web/language.hpp"

// Requests and responses as the commands see them, independent of the web framework.
namespace customers::web {

struct Request {
    std::string method = "GET";
    std::string path = "/";  // decoded
    Fields query{};
    Fields form{};
    std::string body{};
    std::vector<std::pair<std::string, std::string>> headers{};
    std::vector<std::string> names{};  // the parts of the path that match a * of the route

    // Empty where it was not sent. Names are compared without regard to case.
    [[nodiscard]] std::string header(std::string_view name) const;
    [[nodiscard]] std::string cookie(std::string_view name) const;
    [[nodiscard]] Language language() const;
    // The name of the tab that asks.
    [[nodiscard]] std::string tab() const;
};

struct Response {
    int status = 200;
    std::string body{};
    std::string content_type = "text/html; charset=utf-8";
    std::vector<std::pair<std::string, std::string>> headers{};

    // Whether the command succeeded.
    [[nodiscard]] bool is_success() const { return status < 400; }
};

// After a POST: go there and look.
[[nodiscard]] Response see_other(std::string location);

// Letters, digits, "-" and "_" only, and not too many: fit for an owner's path.
[[nodiscard]] bool is_tab_name(std::string_view text);

}  // namespace customers::web
