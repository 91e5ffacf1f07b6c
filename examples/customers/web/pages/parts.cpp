#include <leasehold/web/visitor.hpp>

#include "web/pages/parts.hpp"

#include "web/labels.hpp"
#include "web/paths.hpp"

namespace customers::web::pages {
namespace {

constexpr std::string_view shop = "Paper & Ink";

Html navigation(const Viewer& viewer) {
    const Language language = viewer.language;
    if (viewer.user.empty()) return {};
    return html(R"(<nav aria-label="{}">
<a href="/customers">{}</a><a href="/price-list">{}</a><a href="/counter">{}</a></nav>
<form class="who" method="post" action="/sign-out">{}<span>{}</span> <button class="quiet">{}</button></form>)",
                in(language, "Pages"), in(language, "Customers"), in(language, "Price list"),
                in(language, "Counter"), session_fields(viewer), viewer.user,
                in(language, "Sign out"));
}

Html row_of(Language language, const leasehold::web::Change& change, const std::string& typed) {
    const auto shown = [](const std::string& text) { return text.empty() ? "–" : text; };
    return html("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                label_of(language, change.field), shown(change.before), shown(change.after),
                shown(typed == change.before || typed == change.after ? "" : typed));
}

}  // namespace

Response page(const Viewer& viewer, std::string_view title, const Html& body, int status) {
    const Language language = viewer.language;
    const Html whole = html(
        R"(<!doctype html>
<html lang="{}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{} · {}</title>
<link rel="icon" href="/static/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/static/customers.css">
<script type="module" src="/static/customers.js"></script>
</head>
<body>
<a class="skip" href="#main">{}</a>
<header class="bar"><a class="brand" href="/customers">{}</a>{}</header>
<main id="main">
{}</main>
<footer><a href="{}?lang={}" lang="{}">{}</a></footer>
</body>
</html>
)",
        leasehold::tag_of(language), title, shop, in(language, "Skip to the content"), shop,
        navigation(viewer), body, viewer.user.empty() ? "/sign-in" : "/customers",
        language == Language::korean ? "en" : "ko", language == Language::korean ? "en" : "ko",
        language == Language::korean ? "English" : "한국어");
    return {.status = status, .content_type = "text/html; charset=utf-8", .body = whole.text()};
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

Html notice(const Viewer& viewer, std::string_view text) {
    if (text.empty()) return {};
    return html("<p class=\"notice good\" role=\"status\">{}</p>\n", in(viewer.language, text));
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

Html moment(leasehold::Time time) {
    return moment(leasehold::to_string(time));
}

Html names_of(const Viewer& viewer, const std::vector<leasehold::Holder>& holders) {
    Html names;
    for (const leasehold::Holder& holder : holders) {
        if (!names.is_empty()) names += html(", ");
        names += say(viewer.language, "<strong>{}</strong> since {}",
                     leasehold::web::user_of(holder.owner), moment(holder.granted_at));
    }
    return names;
}

Html held_by(const Viewer& viewer, const std::vector<leasehold::Holder>& holders) {
    const bool shared = !holders.empty() && holders.front().mode == leasehold::Mode::shared;
    return html("{} {}",
                in(viewer.language, shared ? "It is being read by" : "It is being edited by"),
                names_of(viewer, holders));
}

std::int64_t milliseconds(leasehold::Duration duration) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

Html guarded(const Viewer& viewer, const PageLock& lock, const Html& content) {
    const Html enforced =
        lock.database_enforces
            ? html("<p class=\"small\">{}</p>\n",
                   in(viewer.language,
                      "While you have the lock, the database itself refuses changes by others, "
                      "even in a database shell."))
            : Html{};
    return html(
        R"(<leasehold-guard key-type="{}" key-id="{}" owner="{}" session="{}" mode="{}" ttl="{}ms" latest="{}" data-held="{}" data-address="{}" data-tab="{}" manual>
{}{}</leasehold-guard>
)",
        lock.key.type(), lock.key.id(), viewer.user, viewer.session,
        leasehold::to_string(lock.mode), milliseconds(lock.ttl), page_of(lock.key),
        in(viewer.language, lock.held_text), lock.address, lock.holding_tab, content, enforced);
}

Html signed_out(const Viewer& viewer) {
    return html(R"(<div class="notice" data-signed-out hidden><p>{} {}</p>
<button type="button" class="main">{}</button></div>
)",
                in(viewer.language, "You were signed out."),
                in(viewer.language, "Everything you typed is kept. Sign in to continue."),
                in(viewer.language, "Sign in"));
}

Html setback(const Viewer& viewer, const Form& form) {
    const Language language = viewer.language;
    Html body;
    for (const std::string_view problem : form.problems) {
        body += html("<p class=\"notice bad\" role=\"alert\">{}</p>\n", in(language, problem));
    }
    if (!form.setback) return body;
    const Setback& setback = *form.setback;
    body += html("<section class=\"notice bad\" role=\"alert\"><p><strong>{}</strong> {}</p>\n",
                 in(language, setback.reason), in(language, "Everything you typed is still here."));
    if (!setback.holders.empty()) {
        body += html("<p>{}</p>\n", held_by(viewer, setback.holders));
    }
    if (setback.changes.empty()) {
        body += html("<p>{}</p>\n", in(language, "Nobody has changed it since you opened it."));
    } else {
        Html rows;
        for (const auto& change : setback.changes) {
            rows += row_of(language, change, form.filled.get(change.field));
        }
        body += html(
            R"(<p>{}</p>
<div class="wide"><table><thead><tr><th scope="col">{}</th><th scope="col">{}</th><th scope="col">{}</th><th scope="col">{}</th></tr></thead>
<tbody>{}</tbody></table></div>
)",
            say(language, "{} changed it in between, {}:",
                html("<strong>{}</strong>", setback.changed_by), moment(setback.changed_at)),
            in(language, "Field"), in(language, "When you opened it"), in(language, "Now"),
            in(language, "You typed"), rows);
    }
    body += html("</section>\n");
    return body;
}

}  // namespace customers::web::pages
