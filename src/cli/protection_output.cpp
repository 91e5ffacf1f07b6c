#include "cli/protection_output.hpp"

#include <boost/json/object.hpp>

namespace leasehold::cli {

using Unleased = ProtectedTable::Unleased;

std::string_view name_of(Unleased unleased) {
    return unleased == Unleased::refused ? "refused" : "writable";
}

std::string rule_of(const ProtectedTable& table) {
    return "a write to a row needs the lease of " + table.key +
           (table.unleased == Unleased::refused ? "" : ", if somebody has leased it");
}

boost::json::object as_json(const ProtectedTable& table) {
    return {{"table", table.name}, {"key", table.key}, {"unleased", name_of(table.unleased)}};
}

}  // namespace leasehold::cli
