#pragma once

#include "web/pages/pages.hpp"

// What several pages have in common.
namespace customers::web::pages {

[[nodiscard]] Response page(const Viewer& viewer, std::string_view title, const Html& body,
                            int status = 200);
// The page of a form: it keeps its lock alive, or offers to take it again where that was lost.
[[nodiscard]] Response form_page(const Viewer& viewer, const Form& form, std::string_view title,
                                 const Html& heading, const Html& inputs, int status);

// Form fields that every POST of a session carries.
[[nodiscard]] Html session_fields(const Viewer& viewer);
[[nodiscard]] Html hidden(std::string_view name, std::string_view value);
// A button that is a whole form.
[[nodiscard]] Html post_button(const Viewer& viewer, std::string_view path, std::string_view label,
                               std::string_view look = "");

// Nothing for an empty text.
[[nodiscard]] Html good_news(const Html& text);
[[nodiscard]] Html bad_news(const Html& text);

[[nodiscard]] Html moment(const std::string& time);
[[nodiscard]] Html revision_of(const Viewer& viewer, const Revision& revision);
// Who holds it: "It is being edited by Kim, since 12:31".
[[nodiscard]] Html held_by(const Viewer& viewer, const Holders& holders);
// The same in a paragraph; nothing where nobody does.
[[nodiscard]] Html held_notice(const Viewer& viewer, const Holders& holders);

// What wraps content whose lock the page keeps alive. The guard says `held_text`, where "you are
// editing this" is not true.
[[nodiscard]] Html guarded(const Viewer& viewer, const PageLock& lock, const Html& content,
                           std::string_view held_text = {});
[[nodiscard]] std::int64_t milliseconds(leasehold::Duration duration);

}  // namespace customers::web::pages
