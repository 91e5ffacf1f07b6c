#include <algorithm>
#include <array>

#include "web/pages.hpp"

// Pages for people who cannot have what they asked for.
namespace customers::web {
namespace {

// What was typed, to be read and to be sent again.
Html typed(const Viewer& viewer, const Request& posted) {
    constexpr std::array<std::string_view, 5> machinery{"form_token", "tab", "lock_id", "version",
                                                        "loaded"};
    Html again;
    Html shown;
    for (const auto& [name, value] : posted.form) {
        if (name == "form_token" || name == "tab") continue;
        again += hidden(name, value);
        if (std::ranges::find(machinery, name) != machinery.end() || value.empty()) continue;
        shown += html("<dt>{}</dt><dd class=\"lines\">{}</dd>\n", label_of(viewer.language, name),
                      value);
    }
    if (shown.is_empty()) return {};
    return html(viewer.language, R"(<h2>[[What you typed]]</h2><dl>{}</dl>
<form method="post" action="{}">{}{}<div class="actions"><button class="main">[[Try again]]</button></div></form>
)",
                shown, posted.plain.path(), session_fields(viewer), again);
}

}  // namespace

// What was posted without a session travels along, so that nothing typed is lost over signing in.
Response sign_in_page(const Request& request, std::string_view problem) {
    const Language language = request.language();
    const bool was_working = request.plain.method == "POST" && request.plain.path() != "/sign-in";
    const std::string next =
        was_working ? std::string{request.plain.path()} : request.form.get("next");
    const std::string draft = was_working ? request.form.print() : request.form.get("draft");
    Html why;
    if (!draft.empty()) {
        why = html(
            language,
            R"(<p class="notice" role="status">[[You were signed out.]] [[Everything you typed is kept. Sign in to continue.]]</p>
)");
    }
    why += bad_news(html("{}", in(language, problem)));
    const Html body =
        html(language, R"(<section class="card narrow">
<h1>[[Who are you?]]</h1>
<p>[[A name is enough. Other people see it.]]</p>
{}<form method="post" action="/sign-in">{}{}
<label for="name">[[Name]]</label>
<input id="name" name="name" required maxlength="40" autocomplete="username" value="{}">
<div class="actions"><button class="main">[[Sign in]]</button></div>
</form>
</section>
)",
             why, hidden("next", next), hidden("draft", draft), request.form.get("name"));
    return page({.language = language}, in(language, "Sign in"), body,
                was_working       ? 401
                : problem.empty() ? 200
                                  : 422);
}

// With its script the page waits by itself and opens the form when it is its turn; without, there
// are plain buttons.
Response refused_page(const Viewer& viewer, const Refused& refusal) {
    Html until;
    std::string_view guard_text;  // the guard fills the names in
    if (!refusal.holders.empty()) {
        const leasehold::Holder& holder = refusal.holders.front();
        if (holder.expires_at != leasehold::never) {
            until = html(
                viewer.language,
                " <span class=\"small\">[[The lock expires at {} unless it is renewed.]]</span>",
                moment(leasehold::to_string(holder.expires_at)));
        }
        if (holder.mode == leasehold::Mode::shared) {
            guard_text = in(viewer.language, "{name} has been reading this since {since}.");
        }
    }
    const Html body =
        html(viewer.language, R"(<section class="card">
<h1>{}</h1>
<leasehold-guard key-type="{}" key-id="{}" owner="{}" session="{}" mode="{}" ttl="{}ms" data-open data-refused="{}">
<p class="notice plain">{}{}</p>
<form class="plain" method="post" action="{}">{}<button class="main">[[Try again]]</button></form>
</leasehold-guard>
<div class="actions">
<a class="button quiet" href="{}">[[View only]]</a>
<form class="inline plain" method="post" action="/knock/{}/{}">{}<button class="quiet">[[Ask for the lock]]</button></form>
</div>
</section>
)",
             refusal.title, refusal.key.type(), refusal.key.id(), viewer.user, viewer.session,
             leasehold::to_string(refusal.mode), milliseconds(refusal.ttl), guard_text,
             held_by(viewer, refusal.holders), until, refusal.open_path, session_fields(viewer),
             path_of(refusal.key), refusal.key.type(), refusal.key.id(), session_fields(viewer));
    return page(viewer, refusal.title, body, 409);
}

Response problem_page(const Viewer& viewer, int status, std::string_view title,
                      std::string_view detail, const Request* posted) {
    const Language language = viewer.language;
    return page(viewer, in(language, title),
                html(language, R"(<section class="card">
<h1>{}</h1>
<p>{}</p>
{}<p><a href="/customers">[[All customers]]</a></p>
</section>
)",
                     in(language, title), in(language, detail),
                     posted != nullptr ? typed(viewer, *posted) : Html{}),
                status);
}

}  // namespace customers::web
