#pragma once

#include <functional>
#include <string>

#include "core/work.hpp"
#include "stores/mariadb/dialect.hpp"

namespace leasehold::mariadb {

// Gives `add` the statements that write the changed and forgotten slots, the endings and the floor,
// in the order in which they are to run. `zone` is that of the dates in `locks`.
void write_changes(const Dialect& dialect, Duration zone, const Work& work,
                   const std::function<void(const std::string&)>& add);

}  // namespace leasehold::mariadb
