#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <leasehold/web/http.hpp>
#include <leasehold/web/visitor.hpp>

namespace leasehold::web {

// <leasehold-guard> and the modules it is made of are part of this library: "/client/leasehold.js",
// "/client/leasehold-guard.js" and so on. Nothing if there is no such file.
[[nodiscard]] std::optional<Response> client_file(std::string_view path);

// HTML: a form inside <leasehold-guard>, which takes the lock in the name of this visitor, and its
// script. The form is sent to `action` by POST, with the field `lock_id`; `fields` are HTML.
[[nodiscard]] std::string guarded_form(const Visitor& who, const LockKey& key,
                                       std::string_view action, std::string_view fields);
// HTML: a form that asks for a name, for POST /sign-in.
[[nodiscard]] std::string sign_in_form();

}  // namespace leasehold::web
