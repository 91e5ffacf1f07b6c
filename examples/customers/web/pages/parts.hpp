#pragma once

#include "web/pages/pages.hpp"

// What several pages have in common.
namespace customers::web::pages {

[[nodiscard]] Response page(const Viewer& viewer, std::string_view title, const Html& body,
                            int status = 200);

// Form fields that every POST of a session carries.
[[nodiscard]] Html session_fields(const Viewer& viewer);
[[nodiscard]] Html hidden(std::string_view name, std::string_view value);
// A button that is a whole form.
[[nodiscard]] Html post_button(const Viewer& viewer, std::string_view path, std::string_view label,
                               std::string_view look = "");

[[nodiscard]] Html notice(const Viewer& viewer, std::string_view text);
[[nodiscard]] Html moment(const std::string& time);
[[nodiscard]] Html moment(leasehold::Time time);
// The holders: "Kim, since 12:31".
[[nodiscard]] Html names_of(const Viewer& viewer, const std::vector<leasehold::Holder>& holders);

// The same as a sentence that says what they do.
[[nodiscard]] Html held_by(const Viewer& viewer, const std::vector<leasehold::Holder>& holders);
[[nodiscard]] std::int64_t milliseconds(leasehold::Duration duration);

// What wraps a form whose lock the page keeps alive.
[[nodiscard]] Html guarded(const Viewer& viewer, const PageLock& lock, const Html& content);
// Shown by the page's script where the session has ended under an open form.
[[nodiscard]] Html signed_out(const Viewer& viewer);
// Why the form is shown again, and what others changed since.
[[nodiscard]] Html setback(const Viewer& viewer, const Form& form);

}  // namespace customers::web::pages
