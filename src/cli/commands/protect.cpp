#include <leasehold/open_store.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "cli/output.hpp"
#include "cli/protection_output.hpp"

namespace leasehold::cli {

void add_protect(CLI::App& app, Invocation& call) {
    struct Options {
        ProtectedTable table;
        bool require = false;
    };
    const auto options = std::make_shared<Options>();
    Subcommand command{app, "protect", "Let a table's rows be written only under their lease",
                       "  leasehold protect orders --key 'Order/{id}'\n"
                       "  leasehold protect order_lines --key 'Order/{order_id}'\n"
                       "  leasehold protect orders --key '{tenant}:Order/{order_no}' --require"};
    command
        .required_text("table", "TABLE", options->table.name, "a table in the store's own database")
        .required_text("--key", "KEY", options->table.key,
                       "the key of a row, with columns in braces")
        .flag("--require", options->require, "refuse writes to rows that nobody has leased, too")
        .store(call)
        .json(call);
    command.does(call, [&call, options] {
        ProtectedTable table = options->table;
        if (options->require) table.unleased = ProtectedTable::Unleased::refused;
        const auto warnings = open_protection(named_store(call))->protect(table);
        if (call.json) {
            boost::json::object answer = as_json(table);
            answer["warnings"] = boost::json::array(warnings.begin(), warnings.end());
            print_json(answer);
            return static_cast<int>(done);
        }
        say(spoken(options->require ? phrases::is_protected : phrases::is_protected_if_leased,
                   {{"table", table.name}, {"key", table.key}}));
        for (const std::string& warning : warnings) {
            say({{spoken(phrases::warning), Colour::yellow}, {warning}});
        }
        return static_cast<int>(done);
    });
}

}  // namespace leasehold::cli
