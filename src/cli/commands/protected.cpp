#include <leasehold/open_store.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "cli/output.hpp"
#include "cli/protection_output.hpp"

namespace leasehold::cli {

void add_protected(CLI::App& app, Invocation& call) {
    Subcommand command{app, "protected", "List the protected tables",
                       "  leasehold protected\n"
                       "  leasehold protected --store postgres://app@db/shop --json"};
    command.store(call).json(call);
    command.shows(call, [&call] {
        const auto tables = open_protection(named_store(call))->tables();
        if (call.json) {
            boost::json::array list;
            for (const ProtectedTable& table : tables) list.emplace_back(as_json(table));
            print_json(boost::json::object{{"tables", std::move(list)}});
            return static_cast<int>(done);
        }
        if (tables.empty()) {
            say(spoken(phrases::nothing_protected));
            return static_cast<int>(done);
        }
        Table shown{phrases::table_headings};
        for (const ProtectedTable& table : tables) {
            shown.add({table.name, table.key, spoken(phrases::unleased[table.unleased])});
        }
        shown.print();
        return static_cast<int>(done);
    });
}

}  // namespace leasehold::cli
