#include "web/pages/parts.hpp"

namespace customers::web::pages {

// What was posted without a session travels along, so that nothing typed is lost over signing in.
Response sign_in(Language language, const Request& request, std::string_view problem) {
    const Viewer nobody{.language = language};
    std::string wanted = request.form.get("next");
    std::string draft = request.form.get("draft");
    const bool was_working = request.method == "POST" && request.path != "/sign-in";
    if (was_working) {
        wanted = request.path;
        draft = request.form.print();
    }
    Html why;
    if (!draft.empty()) {
        why = html("<p class=\"notice\" role=\"status\">{} {}</p>\n",
                   in(language, "You were signed out."),
                   in(language, "Everything you typed is kept. Sign in to continue."));
    }
    if (!problem.empty()) {
        why += html("<p class=\"notice bad\" role=\"alert\">{}</p>\n", in(language, problem));
    }
    const Html body =
        html(R"(<section class="card narrow">
<h1>{}</h1>
<p>{}</p>
{}<form method="post" action="/sign-in">{}{}
<label for="name">{}</label>
<input id="name" name="name" required maxlength="40" autocomplete="username" value="{}">
<div class="actions"><button class="main">{}</button></div>
</form>
</section>
)",
             in(language, "Who are you?"), in(language, "A name is enough. Other people see it."),
             why, hidden("next", wanted), hidden("draft", draft), in(language, "Name"),
             request.form.get("name"), in(language, "Sign in"));
    const bool ok = problem.empty() && !was_working;
    return page(nobody, in(language, "Sign in"), body, ok ? 200 : was_working ? 401 : 422);
}

}  // namespace customers::web::pages
