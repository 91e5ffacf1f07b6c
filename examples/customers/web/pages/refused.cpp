#include "web/pages/parts.hpp"

namespace customers::web::pages {
namespace {

// For the guard, which fills the names in.
std::string_view refusal_text(Language language, const std::vector<leasehold::Holder>& holders) {
    const bool shared = !holders.empty() && holders.front().mode == leasehold::Mode::shared;
    return shared ? in(language, "{name} has been reading this since {since}.") : "";
}

}  // namespace

// With its script the page waits by itself and opens the form when it is its turn; without, there
// are plain buttons.
Response refused(const Viewer& viewer, const Refused& refusal) {
    const Language language = viewer.language;
    Html until;
    if (!refusal.holders.empty() && refusal.holders.front().expires_at != leasehold::never) {
        until = html(" <span class=\"small\">{}</span>",
                     say(language, "The lock expires at {} unless it is renewed.",
                         moment(refusal.holders.front().expires_at)));
    }
    const Html body =
        html(R"(<section class="card">
<h1>{}</h1>
<leasehold-guard key-type="{}" key-id="{}" owner="{}" session="{}" mode="{}" ttl="{}ms" data-open data-refused="{}">
<p class="notice plain">{}{}</p>
<form class="plain" method="post" action="{}">{}<button class="main">{}</button></form>
</leasehold-guard>
<div class="actions">
<a class="button quiet" href="{}">{}</a>
<form class="inline plain" method="post" action="/knock/{}/{}">{}<button class="quiet">{}</button></form>
</div>
</section>
)",
             refusal.title, refusal.key.type(), refusal.key.id(), viewer.user, viewer.session,
             leasehold::to_string(refusal.mode), milliseconds(refusal.ttl),
             refusal_text(language, refusal.holders), held_by(viewer, refusal.holders), until,
             refusal.open_path, session_fields(viewer), in(language, "Try again"),
             refusal.view_path, in(language, "View only"), refusal.key.type(), refusal.key.id(),
             session_fields(viewer), in(language, "Ask for the lock"));
    return page(viewer, refusal.title, body, 409);
}

}  // namespace customers::web::pages
