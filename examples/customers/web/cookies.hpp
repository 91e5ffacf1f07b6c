#pragma once

#include <string>
#include <string_view>

namespace customers::web {

inline constexpr std::string_view session_cookie = "customers_session";

// Scripts cannot read it, and the browser does not send it with posts of other sites.
[[nodiscard]] inline std::string cookie(std::string_view name, std::string_view value,
                                        std::string_view more = "") {
    return std::string{name} + '=' + std::string{value} + "; Path=/; HttpOnly; SameSite=Lax" +
           std::string{more};
}

}  // namespace customers::web
