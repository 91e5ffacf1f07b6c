#include "web/pages/parts.hpp"

namespace customers::web::pages {

Response counter(const Viewer& viewer, const std::vector<leasehold::Holder>& holders,
                 const CounterNews& news, int status) {
    const Language language = viewer.language;
    Html told = notice(viewer, news.text);
    if (news.used) {
        told = html("<p class=\"notice good\" role=\"status\">{}</p>\n",
                    say(language, "Number {} is used.", *news.used));
    }
    if (!news.problem.empty()) {
        told = html("<p class=\"notice bad\" role=\"alert\">{}</p>\n", in(language, news.problem));
    }
    Html held;
    if (!holders.empty()) {
        held = html("<p class=\"notice\">{} {}</p>\n", in(language, "It is being used by"),
                    names_of(viewer, holders));
    }
    return page(viewer, in(language, "Counter"),
                html(R"({}{}<section class="card">
<h1>{}</h1>
<p>{}</p>
<div class="actions">{}</div>
</section>
)",
                     told, held, in(language, "Invoice numbers"),
                     in(language,
                        "Each number is used once and without gaps, so only one person at a time "
                        "can look at the next one."),
                     post_button(viewer, "/counter/open", "Look at the next number", "main")),
                status);
}

Response counter_open(const Viewer& viewer, const Counter& counter, const PageLock& lock) {
    const Language language = viewer.language;
    const Html content = html(
        R"(<form class="card" method="post" action="/counter/take">
<h1>{}</h1>
{}{}{}
<p>{}</p>
<p class="big">{}</p>
<div class="actions"><button class="main">{}</button>
<button class="quiet" formaction="/counter/put-back" data-always>{}</button></div>
</form>
)",
        in(language, "Invoice numbers"), session_fields(viewer), hidden("lock_id", lock.lock_id),
        hidden("number", std::to_string(counter.next)),
        in(language, "You can use the next number or put it back:"), counter.next,
        in(language, "Use this number"), in(language, "Put the number back"));
    PageLock looking = lock;
    looking.held_text = "You have the counter. Nobody else can see the next number.";
    return page(viewer, in(language, "Counter"), guarded(viewer, looking, content));
}

}  // namespace customers::web::pages
