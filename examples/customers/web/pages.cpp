#include "web/pages.hpp"

#include <leasehold/web/visitor.hpp>

#include <chrono>
#include <map>

#include "domain/lock_rules.hpp"

namespace customers::web {
namespace {

std::string_view word_of(std::string_view field) {
    static const std::map<std::string_view, std::string_view> words{
        {"name", "Name"}, {"email", "E-mail"}, {"phone", "Phone"},
        {"note", "Note"}, {"label", "Label"},  {"street", "Street"},
        {"city", "City"}, {"item", "Item"},    {"price", "Price"}};
    const auto found = words.find(field);
    return found == words.end() ? field : found->second;
}

Html navigation(const Viewer& viewer) {
    if (viewer.user.empty()) return {};
    return html(viewer.language, R"(<nav aria-label="[[Pages]]">
<a href="/customers">[[Customers]]</a><a href="/price-list">[[Price list]]</a><a href="/counter">[[Counter]]</a></nav>
<form class="who" method="post" action="/sign-out">{}<span>{}</span> <button class="quiet">[[Sign out]]</button></form>)",
                session_fields(viewer), viewer.user);
}

// Why the form is shown again, and what others changed since.
Html setback_of(const Viewer& viewer, const Form& form) {
    const Language language = viewer.language;
    Html body;
    for (const std::string_view problem : form.problems) {
        body += bad_news(html("{}", in(language, problem)));
    }
    if (form.setback.empty()) return body;
    Html held;
    if (!form.holders.empty()) held = html("<p>{}</p>\n", held_by(viewer, form.holders));
    Html changes = html(language, "<p>[[Nobody has changed it since you opened it.]]</p>\n");
    if (!form.changes.empty()) {
        Html rows;
        const auto shown = [](const std::string& text) { return text.empty() ? "–" : text; };
        for (const auto& [field, before, after] : form.changes) {
            const std::string typed = form.filled.get(field);
            rows += html("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                         label_of(language, field), shown(before), shown(after),
                         shown(typed == before || typed == after ? "" : typed));
        }
        changes = html(language, R"(<p>[[{} changed it in between, {}:]]</p>
<div class="wide"><table><thead><tr><th scope="col">[[Field]]</th><th scope="col">[[When you opened it]]</th><th scope="col">[[Now]]</th><th scope="col">[[You typed]]</th></tr></thead>
<tbody>{}</tbody></table></div>
)",
                       html("<strong>{}</strong>", form.revision.changed_by),
                       moment(form.revision.changed_at), rows);
    }
    body += html(
        language,
        R"(<section class="notice bad" role="alert"><p><strong>{}</strong> [[Everything you typed is still here.]]</p>
{}{}</section>
)",
        in(language, form.setback), held, changes);
    return body;
}

}  // namespace

std::string path_of(const leasehold::LockKey& key) {
    if (key.type() == lock_rule<PriceList>.type) return "/price-list";
    if (key.type() == lock_rule<Counter>.type) return "/counter";
    if (key.type() != lock_rule<Customer>.type) return "/customers";
    return "/customers/" + leasehold::web::encode_url(key.id());
}

Response page(const Viewer& viewer, std::string_view title, const Html& body, int status) {
    const Language language = viewer.language;
    const std::string_view other = language == Language::korean ? "en" : "ko";
    const Html whole = html(language, R"(<!doctype html>
<html lang="{}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{} · Paper &amp; Ink</title>
<link rel="icon" href="/static/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/static/customers.css">
<script type="module" src="/static/customers.js"></script>
</head>
<body>
<a class="skip" href="#main">[[Skip to the content]]</a>
<header class="bar"><a class="brand" href="/customers">Paper &amp; Ink</a>{}</header>
<main id="main">
{}</main>
<footer><a href="{}?lang={}" lang="{}">{}</a></footer>
</body>
</html>
)",
                            leasehold::tag_of(language), title, navigation(viewer), body,
                            viewer.user.empty() ? "/sign-in" : "/customers", other, other,
                            language == Language::korean ? "English" : "한국어");
    return {.status = status, .content_type = "text/html; charset=utf-8", .body = whole.text()};
}

Response form_page(const Viewer& viewer, const Form& form, std::string_view title,
                   const Html& heading, const Html& inputs, int status) {
    const Language language = viewer.language;
    const std::string path = path_of(form.key);
    const Html buttons =
        form.lock
            ? html(language, R"(<button class="main">[[Save]]</button>
<button class="quiet" formaction="{}/cancel" formnovalidate data-always>[[Cancel]]</button>)",
                   path)
            : html(
                  language,
                  R"(<button class="main" formaction="{}/reopen">[[Take the lock again and review]]</button>
<a class="button quiet" href="{}">[[Discard my changes]]</a>)",
                  path, path);
    const Html whole = html(
        R"(<form class="card" method="post" action="{}/save" autocomplete="off" novalidate>
<h1>{}</h1>
{}{}{}{}
{}<div class="actions">{}</div>
</form>
)",
        path, heading, session_fields(viewer), hidden("version", form.filled.get("version")),
        hidden("loaded", form.loaded.print()),
        form.lock ? hidden("lock_id", form.lock->lock_id) : Html{}, inputs, buttons);
    Html body = setback_of(viewer, form);
    if (!form.lock) {
        body += whole;
        return page(viewer, title, body, status);
    }
    // Shown by the page's script where the session has ended under an open form.
    body += html(
        language,
        R"(<div class="notice" data-signed-out hidden><p>[[You were signed out.]] [[Everything you typed is kept. Sign in to continue.]]</p>
<button type="button" class="main">[[Sign in]]</button></div>
)");
    body += guarded(viewer, *form.lock, whole);
    return page(viewer, title, body, status);
}

Html session_fields(const Viewer& viewer) {
    // The page's script writes the tab's name into it.
    return html(R"({}<input type="hidden" name="tab" value="">)",
                hidden("form_token", viewer.form_token));
}

Html hidden(std::string_view name, std::string_view value) {
    return html(R"(<input type="hidden" name="{}" value="{}">)", name, value);
}

Html post_button(const Viewer& viewer, std::string_view path, std::string_view label,
                 std::string_view look) {
    return html(
        R"(<form class="inline" method="post" action="{}">{}<button class="{}">{}</button></form>)",
        path, session_fields(viewer), look, in(viewer.language, label));
}

Html good_news(const Html& text) {
    if (text.is_empty()) return {};
    return html("<p class=\"notice good\" role=\"status\">{}</p>\n", text);
}

Html bad_news(const Html& text) {
    if (text.is_empty()) return {};
    return html("<p class=\"notice bad\" role=\"alert\">{}</p>\n", text);
}

Html label_of(Language language, std::string_view field) {
    const std::size_t dot = field.find('.');
    if (dot == std::string_view::npos) return html("{}", in(language, word_of(field)));
    const std::string_view rest = field.substr(dot + 1);
    const std::size_t second = rest.find('.');
    if (second == std::string_view::npos) {
        return html("{} {}", in(language, word_of(field.substr(0, dot))), rest);
    }
    return html(language, "[[Address]] {}, {}", rest.substr(0, second),
                in(language, word_of(rest.substr(second + 1))));
}

// The time as "2026-11-16T09:20:31.123456Z". HTML allows at most three digits after the point.
Html moment(const std::string& time) {
    constexpr std::size_t hour = 11;
    constexpr std::size_t milliseconds_end = 23;
    if (time.size() <= milliseconds_end) return html("{}", time);
    const std::string_view whole{time};
    return html(R"(<time datetime="{}Z">{} UTC</time>)", whole.substr(0, milliseconds_end),
                whole.substr(hour, 5));
}

Html revision_of(const Viewer& viewer, const Revision& revision) {
    return html(viewer.language, "<p class=\"small\">[[Version {}, by {}, {}]]</p>\n",
                revision.version, revision.changed_by, moment(revision.changed_at));
}

Html held_by(const Viewer& viewer, const Holders& holders) {
    std::string_view doing = "It is being edited by";
    Html names;
    for (const leasehold::Holder& holder : holders) {
        if (holder.key.type() == lock_rule<Counter>.type) doing = "It is being used by";
        if (holder.mode == leasehold::Mode::shared) doing = "It is being read by";
        if (!names.is_empty()) names += html(", ");
        names += html(viewer.language, "[[<strong>{}</strong> since {}]]",
                      kit::user_of(holder.owner), moment(leasehold::to_string(holder.granted_at)));
    }
    return html("{} {}", in(viewer.language, doing), names);
}

Html held_notice(const Viewer& viewer, const Holders& holders) {
    if (holders.empty()) return {};
    return html("<p class=\"notice\">{}</p>\n", held_by(viewer, holders));
}

Html guarded(const Viewer& viewer, const PageLock& lock, const Html& content,
             std::string_view held_text) {
    Html enforced;
    if (lock.database_enforces) {
        enforced = html(
            viewer.language,
            R"(<p class="small">[[While you have the lock, the database itself refuses changes by others, even in a database shell.]]</p>
)");
    }
    return html(
        R"(<leasehold-guard key-type="{}" key-id="{}" owner="{}" session="{}" mode="{}" ttl="{}ms" latest="{}" data-held="{}" data-address="{}" data-tab="{}" manual>
{}{}</leasehold-guard>
)",
        lock.key.type(), lock.key.id(), viewer.user, viewer.session,
        leasehold::to_string(lock.mode), milliseconds(lock.ttl), path_of(lock.key),
        in(viewer.language, held_text), lock.address, lock.holding_tab, content, enforced);
}

std::int64_t milliseconds(leasehold::Duration duration) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

}  // namespace customers::web
