#include "support/empty_database.hpp"

#include <atomic>

#include "support/private_server.hpp"

namespace leasehold::testing {

std::string EmptyDatabase::make(const std::string& store) const {
    if (store == "memory") return "memory:";
    if (store == "sqlite") return "sqlite:" + (folder_.path() / "locks.db").string();
    static std::atomic<int> databases{0};
    const std::string name = "empty_" + std::to_string(++databases);
    shared_postgres().create_database(name);
    return shared_postgres().url(name);
}

}  // namespace leasehold::testing
