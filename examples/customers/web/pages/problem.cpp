#include "web/labels.hpp"
#include "web/pages/parts.hpp"

namespace customers::web::pages {
namespace {

bool is_machinery(std::string_view name) {
    return name == "form_token" || name == "tab" || name == "lock_id" || name == "version" ||
           name == "loaded";
}

// What was typed, to be read and to be sent again.
Html typed(const Viewer& viewer, const Request& posted) {
    Html again;
    Html shown;
    for (const auto& [name, value] : posted.form) {
        if (name == "form_token" || name == "tab") continue;
        again += hidden(name, value);
        if (is_machinery(name) || value.empty()) continue;
        shown += html("<dt>{}</dt><dd class=\"lines\">{}</dd>\n", label_of(viewer.language, name),
                      value);
    }
    if (shown.is_empty()) return {};
    return html(R"(<h2>{}</h2><dl>{}</dl>
<form method="post" action="{}">{}{}<div class="actions"><button class="main">{}</button></div></form>
)",
                in(viewer.language, "What you typed"), shown, posted.path, session_fields(viewer),
                again, in(viewer.language, "Try again"));
}

}  // namespace

Response problem(const Viewer& viewer, int status, std::string_view title, std::string_view detail,
                 const Request* posted) {
    const Language language = viewer.language;
    return page(
        viewer, in(language, title),
        html(R"(<section class="card">
<h1>{}</h1>
<p>{}</p>
{}<p><a href="/customers">{}</a></p>
</section>
)",
             in(language, title), in(language, detail),
             posted != nullptr ? typed(viewer, *posted) : Html{}, in(language, "All customers")),
        status);
}

}  // namespace customers::web::pages
