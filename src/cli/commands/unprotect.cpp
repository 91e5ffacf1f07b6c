#include <leasehold/open_store.hpp>

#include <boost/json/object.hpp>

#include "cli/output.hpp"

namespace leasehold::cli {

void add_unprotect(CLI::App& app, Invocation& call) {
    const auto table = std::make_shared<std::string>();
    Subcommand command{app, "unprotect", "Let a protected table be written by anybody again",
                       "  leasehold unprotect orders"};
    command.required_text("table", "TABLE", *table, "a table that `leasehold protected` lists")
        .store(call)
        .json(call);
    command.does(call, [&call, table] {
        const bool was_protected = open_protection(named_store(call))->unprotect(*table);
        if (call.json)
            print_json(boost::json::object{{"table", *table}, {"was_protected", was_protected}});
        else
            say(spoken(was_protected ? phrases::not_protected_any_more : phrases::was_not_protected,
                       {{"table", *table}}));
        return static_cast<int>(done);
    });
}

}  // namespace leasehold::cli
