#include "web/pages/parts.hpp"

namespace customers::web::pages {

// With its script the page waits by itself and opens the form when it is its turn; without, there
// are plain buttons.
Response refused(const Viewer& viewer, const Refused& refusal) {
    const Language language = viewer.language;
    Html until;
    if (!refusal.holders.empty() && refusal.holders.front().until != leasehold::never) {
        until = html(" <span class=\"small\">{}</span>",
                     say(language, "Unless it is renewed, the lock ends {}.",
                         moment(refusal.holders.front().until)));
    }
    const Html body = html(
        R"(<section class="card">
<h1>{}</h1>
<p class="notice" role="status">{} {}{}</p>
<leasehold-guard type="{}" key="{}" owner="{}" session="{}" lang="{}" data-open="{}">
</leasehold-guard>
<div class="actions">
<form class="inline" method="post" action="{}" data-reopen>{}<button class="main">{}</button></form>
<a class="button quiet" href="{}">{}</a>
<form class="inline plain-knock" method="post" action="/knock/{}/{}">{}<button class="quiet">{}</button></form>
</div>
</section>
)",
        refusal.title, in(language, "It is being edited by"), names_of(viewer, refusal.holders),
        until, refusal.key.type(), refusal.key.id(), viewer.user, viewer.session, code_of(language),
        refusal.open_path, refusal.open_path, session_fields(viewer), in(language, "Try again"),
        refusal.view_path, in(language, "View only"), refusal.key.type(), refusal.key.id(),
        session_fields(viewer), in(language, "Knock"));
    return page(viewer, refusal.title, body, 409);
}

}  // namespace customers::web::pages
