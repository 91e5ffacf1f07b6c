#pragma once

#include <optional>
#include <string_view>

#include <leasehold/web/http.hpp>

namespace leasehold::web {

// <leasehold-guard> and the modules it is made of are part of this library: "/client/leasehold.js",
// "/client/leasehold-guard.js" and so on. Nothing if there is no such file.
[[nodiscard]] std::optional<Response> client_file(std::string_view path);

}  // namespace leasehold::web
