#include "cli/protection_output.hpp"

#include <boost/json/object.hpp>

namespace leasehold::cli {

using Unleased = ProtectedTable::Unleased;

std::string_view name_of(Unleased unleased) {
    return unleased == Unleased::refused ? "refused" : "writable";
}

boost::json::object as_json(const ProtectedTable& table) {
    return {{"table", table.name}, {"key", table.key}, {"unleased", name_of(table.unleased)}};
}

}  // namespace leasehold::cli
