#include <array>
#include <cstdint>
#include <optional>

#include "commands/record_commands.hpp"
#include "domain/text.hpp"

// The counter: its commands and pages. There is one. Seeing its next number takes an exclusive
// lock.
namespace customers {

using namespace web;

template <>
struct Kind<Counter> {
    static std::string id(const Visit&) { return invoice_numbers; }
    static Locking<Counter>& records(Visit& visit) { return visit.work.counters(); }
    static std::string title(const Counter&, Language language) {
        return std::string{in(language, "Invoice numbers")};
    }
};

namespace {

Response counter_page(Visit& visit, const Html& news, int status = 200) {
    const Viewer viewer = visit.viewer();
    const auto holders = visit.desk.locks.holders(key_of<Counter>(invoice_numbers)).items;
    return page(viewer, in(viewer.language, "Counter"),
                html(viewer.language, R"({}{}<section class="card">
<h1>[[Invoice numbers]]</h1>
<p>[[Each number is used once and without gaps, so only one person at a time can look at the next one.]]</p>
<div class="actions">{}</div>
</section>
)",
                     news, held_notice(viewer, holders),
                     post_button(viewer, "/counter/open", "Look at the next number", "main")),
                status);
}

Response counter_open(const Viewer& viewer, const Counter& counter, const PageLock& lock) {
    const Html content = html(viewer.language,
                              R"(<form class="card" method="post" action="/counter/take">
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

class ShowCounter final : public Command {
    [[nodiscard]] Response process(Visit& visit) override {
        const auto used = integer_from(visit.request.query.get("used"));
        if (!used) return counter_page(visit, visit.news());
        return counter_page(
            visit, good_news(html(visit.request.language(), "[[Number {} is used.]]", *used)));
    }
};

class OpenCounter final : public Command {
    [[nodiscard]] Response process(Visit& visit) override {
        return open<Counter>(visit, key_of<Counter>(invoice_numbers), leasehold::Access::read,
                             "/open", [&](const auto& counter, const auto& lock) {
                                 return counter_open(visit.viewer(), counter, lock);
                             });
    }
};

class TakeNumber final : public Command {
    [[nodiscard]] Response process(Visit& visit) override {
        auto& counters = visit.work.counters();
        const auto counter = counters.resume(invoice_numbers, visit.lock_id());
        if (counter && *counter) {
            const std::int64_t number = (*counter)->take();
            if (counters.save(invoice_numbers, **counter, visit.lock_id())) return used(number);
        }
        // A form that was sent twice: the number was given to this person already.
        const auto number = integer_from(visit.request.form.get("number"));
        const auto now = counters.look(invoice_numbers);
        if (now && number && now->next == *number + 1 &&
            now->revision.changed_by == visit.session.visitor.user()) {
            return used(*number);
        }
        const Html why =
            html(visit.request.language(), "[[Not used: your lock on the counter had expired.]]");
        return counter_page(visit, bad_news(why), 409);
    }

    static Response used(std::int64_t number) {
        return see_other("/counter?used=" + std::to_string(number));
    }
};

}  // namespace

std::span<const Route> counter_commands() {
    static constexpr std::array routes{Route{"GET", "/counter", make<ShowCounter>},
                                       Route{"GET", "/counter/open", make<OpenCounter>},
                                       Route{"POST", "/counter/open", make<OpenCounter>},
                                       Route{"POST", "/counter/take", make<TakeNumber>},
                                       Route{"POST", "/counter/put-back", make<Leave<Counter>>}};
    return routes;
}

}  // namespace customers
