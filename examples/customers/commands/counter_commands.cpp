#include <array>
#include <cstdint>
#include <optional>

#include "commands/record_commands.hpp"

// There is one counter. Seeing its next number takes an exclusive lock.
namespace customers {

template <>
struct Kind<Counter> {
    static std::string id(const Visit&) { return invoice_numbers; }
    static Locking<Counter>& records(Visit& visit) { return visit.work.counters(); }
    static std::string title(const Counter&, web::Language language) {
        return std::string{web::in(language, "Invoice numbers")};
    }
};

namespace {

web::Response counter_page(Visit& visit, const web::Html& news, int status = 200) {
    const auto holders = visit.desk.locks.holders(key_of<Counter>(invoice_numbers)).items;
    return web::pages::counter(visit.viewer(), holders, news, status);
}

class ShowCounter final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override {
        const auto used = web::integer_from(visit.request.query.get("used"));
        if (!used) return counter_page(visit, visit.news());
        return counter_page(visit,
                            web::html(visit.request.language(), "[[Number {} is used.]]", *used));
    }
};

class OpenCounter final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override {
        return open<Counter>(visit, key_of<Counter>(invoice_numbers), leasehold::Access::read,
                             "/open", [&](const auto& counter, const auto& lock) {
                                 return web::pages::counter_open(visit.viewer(), counter, lock);
                             });
    }
};

class TakeNumber final : public Command {
    [[nodiscard]] web::Response process(Visit& visit) override {
        auto& counters = visit.work.counters();
        const auto counter = counters.resume(invoice_numbers, visit.lock_id());
        if (counter && *counter) {
            const std::int64_t number = (*counter)->take();
            if (counters.save(invoice_numbers, **counter, visit.lock_id())) return used(number);
        }
        // A form that was sent twice: the number was given to this person already.
        const auto number = web::integer_from(visit.request.form.get("number"));
        const auto now = counters.look(invoice_numbers);
        if (now && number && now->next == *number + 1 &&
            now->revision.changed_by == visit.session.visitor.user()) {
            return used(*number);
        }
        return counter_page(visit,
                            web::html(visit.request.language(),
                                      "[[Not used: your lock on the counter had expired.]]"),
                            409);
    }

    static web::Response used(std::int64_t number) {
        return web::see_other("/counter?used=" + std::to_string(number));
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
