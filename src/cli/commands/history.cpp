#include <leasehold/errors.hpp>

#include <algorithm>
#include <iterator>

#include "cli/input.hpp"
#include "cli/output.hpp"

namespace leasehold::cli {
namespace {

HistoryPage look_back(LockManager& locks, History query, std::size_t most) {
    HistoryPage all;
    while (all.size() < most) {
        query.limit = std::min(most - all.size(), locks.limits().page_rows);
        HistoryPage page = locks.history(query);
        const bool last = !page.may_continue(query.limit);
        if (!last) query.before = page.last().sequence;
        std::ranges::move(page.items, std::back_inserter(all.items));
        all.store_now = page.store_now;
        if (last) break;
    }
    return all;
}

Table table_of_past(const HistoryPage& past) {
    Table table{phrases::history_headings};
    for (const PastLease& one : past) {
        const bool unusual = one.how == Gone::broken || one.how == Gone::taken;
        table.add({local_time(one.ended_at), one.lease.key.to_string(), named(one.lease.owner),
                   Cell{spoken(phrases::endings[one.how]), unusual ? Colour::yellow : Colour::none},
                   one.by, spoken(one.ended_at - one.lease.granted_at),
                   std::to_string(one.lease.fence), one.why});
    }
    return table;
}

}  // namespace

void add_history(CLI::App& app, Invocation& call) {
    struct Options {
        std::string key, type;
        std::optional<std::int64_t> limit;
    };
    const auto options = std::make_shared<Options>();
    Subcommand command{app, "history", "List ended leases, the latest first",
                       "  leasehold history Order/1\n"
                       "  leasehold history --limit 100 --json"};
    command.text("key", "KEY", options->key, "only this key, TYPE/ID or a name")
        .number("--limit", "N", options->limit, "how many to show at most (20)")
        .type(options->type)
        .store(call)
        .json(call);
    command.shows(call, [&call, options] {
        const auto most = static_cast<std::size_t>(options->limit.value_or(20));
        if (most == 0) throw BadRequest{"--limit takes a number above 0"};
        History query;
        if (!options->key.empty()) query.key = key_from(options->key, options->type);
        LockManager locks{open_shared_store(call)};
        const HistoryPage past = look_back(locks, std::move(query), most);
        if (call.json)
            print_json(past);
        else if (past.empty())
            say(spoken(phrases::nothing_ended));
        else
            table_of_past(past).print();
        return static_cast<int>(done);
    });
}

}  // namespace leasehold::cli
