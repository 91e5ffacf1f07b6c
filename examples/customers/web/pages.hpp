#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/lease.hpp>

#include "domain/records.hpp"
#include "web/html.hpp"
#include "web/http.hpp"

// Pages, and the parts that several of them have. Everything in them is escaped by html().
namespace customers::web {

using Holders = std::vector<leasehold::Holder>;

// For whom a page is.
struct Viewer {
    Language language = Language::english;
    std::string user{};        // empty: not signed in
    std::string form_token{};  // proves that a form is of this session
    std::string session{};     // the session's name in owners; no secret
};

// A lock that a page is served with.
struct PageLock {
    leasehold::LockKey key;
    std::string lock_id{};
    std::string holding_tab{};
    leasehold::Mode mode = leasehold::Mode::exclusive;
    leasehold::Duration ttl{};
    std::string address{};  // where a reload of the page asks; none: where it was posted to
    bool database_enforces = false;  // the database refuses changes without this lock
};

// A form, filled with what it was loaded with or with what was typed.
struct Form {
    leasehold::LockKey key;
    Fields filled{};
    Fields loaded{};
    std::optional<PageLock> lock{};  // none: it must be taken again before this can be saved
    std::vector<std::string_view> problems{};

    // Why what was typed is in the form again, in a sentence; empty where it was opened just now.
    std::string_view setback{};
    std::vector<leasehold::web::Change> changes{};  // by others, since the form was loaded
    Revision revision{};                            // of the last of them
    Holders holders{};                              // who has the lock now
};

// Somebody else has it: view, wait or knock.
struct Refused {
    leasehold::LockKey key;
    leasehold::Mode mode = leasehold::Mode::exclusive;
    leasehold::Duration ttl{};
    std::string title{};
    std::string open_path{};  // where to ask again
    Holders holders{};
};

// The path of the page that shows a lock's record; the list of customers for an unknown one.
[[nodiscard]] std::string path_of(const leasehold::LockKey& key);

[[nodiscard]] Response sign_in_page(const Request& request, std::string_view problem = {});
[[nodiscard]] Response refused_page(const Viewer& viewer, const Refused& refusal);
// With everything that was posted, so that it can be sent again.
[[nodiscard]] Response problem_page(const Viewer& viewer, int status, std::string_view title,
                                    std::string_view detail, const Request* posted = nullptr);

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

// The name of a field in words, also of "address.2.street".
[[nodiscard]] Html label_of(Language language, std::string_view field);
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

}  // namespace customers::web
