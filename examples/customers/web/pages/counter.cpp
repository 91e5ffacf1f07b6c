#include "web/pages/parts.hpp"

namespace customers::web::pages {

Response counter(const Viewer& viewer, const Holders& holders, const Html& news, int status) {
    return page(viewer, in(viewer.language, "Counter"),
                html(viewer.language, R"({}{}<section class="card">
<h1>[[Invoice numbers]]</h1>
<p>[[Each number is used once and without gaps, so only one person at a time can look at the next one.]]</p>
<div class="actions">{}</div>
</section>
)",
                     status == 200 ? good_news(news) : bad_news(news), held_notice(viewer, holders),
                     post_button(viewer, "/counter/open", "Look at the next number", "main")),
                status);
}

Response counter_open(const Viewer& viewer, const Counter& counter, const PageLock& lock) {
    const Html content =
        html(viewer.language, R"(<form class="card" method="post" action="/counter/take">
<h1>[[Invoice numbers]]</h1>
{}{}{}
<p>[[You can use the next number or put it back:]]</p>
<p class="big">{}</p>
<div class="actions"><button class="main">[[Use this number]]</button>
<button class="quiet" formaction="/counter/put-back" data-always>[[Put the number back]]</button></div>
</form>
)",
             session_fields(viewer), hidden("lock_id", lock.lock_id),
             hidden("number", std::to_string(counter.next)), counter.next);
    return page(viewer, in(viewer.language, "Counter"),
                guarded(viewer, lock, content,
                        "You have the counter. Nobody else can see the next number."));
}

}  // namespace customers::web::pages
