#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/lease.hpp>

#include "domain/records.hpp"
#include "web/html.hpp"
#include "web/http.hpp"

// What people see. One function for each page; everything in them is escaped by html().
namespace customers::web::pages {

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

// Work that was not saved: what was typed is in the form again.
struct Setback {
    std::string_view reason{};                      // one sentence
    std::vector<leasehold::web::Change> changes{};  // by others, since the form was loaded
    std::string changed_by{};                       // who did
    std::string changed_at{};
    Holders holders{};  // who has the lock now
};

// A form, filled with what it was loaded with or with what was typed.
struct Form {
    leasehold::LockKey key;
    Fields filled{};
    Fields loaded{};
    std::optional<PageLock> lock{};  // none: it must be taken again before this can be saved
    std::optional<Setback> setback{};
    std::vector<std::string_view> problems{};
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

[[nodiscard]] Response sign_in(const Request& request, std::string_view problem = {});
[[nodiscard]] Response refused(const Viewer& viewer, const Refused& refusal);
// With everything that was posted, so that it can be sent again.
[[nodiscard]] Response problem(const Viewer& viewer, int status, std::string_view title,
                               std::string_view detail, const Request* posted = nullptr);

template <class T>
[[nodiscard]] Response form(const Viewer& viewer, const Form& form, int status = 200);
template <>
[[nodiscard]] Response form<Customer>(const Viewer& viewer, const Form& form, int status);
template <>
[[nodiscard]] Response form<PriceList>(const Viewer& viewer, const Form& form, int status);

[[nodiscard]] Response customer_list(const Viewer& viewer, const std::vector<CustomerLine>& lines,
                                     const Holders& holders);
[[nodiscard]] Response customer(const Viewer& viewer, const Customer& customer,
                                const Holders& holders, const Html& news);
[[nodiscard]] Response price_list(const Viewer& viewer, const Holders& holders, const Html& news);
[[nodiscard]] Response price_list_read(const Viewer& viewer, const PriceList& list,
                                       const PageLock& lock);
[[nodiscard]] Response counter(const Viewer& viewer, const Holders& holders, const Html& news,
                               int status = 200);
[[nodiscard]] Response counter_open(const Viewer& viewer, const Counter& counter,
                                    const PageLock& lock);

}  // namespace customers::web::pages
