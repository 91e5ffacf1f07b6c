#include "core/schema.hpp"

namespace leasehold {

void migrate(std::string_view store, std::size_t newest, SchemaMigration& migration) {
    if (migration.version() == newest) return;
    migration.lock();
    try {
        std::size_t version = migration.version();
        if (version > newest) require_version(store, version, newest);
        for (; version < newest; ++version) migration.step(version);
        migration.unlock();
    } catch (...) {
        migration.abandon();
        throw;
    }
}

void require_version(std::string_view store, std::size_t found, std::size_t ours) {
    if (found == ours) return;
    throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::configuration,
                     std::string{store} + ": the store has schema version " +
                         std::to_string(found) + ", this Leasehold knows version " +
                         std::to_string(ours) +
                         (found > ours ? "; use a newer Leasehold" : "; open the store again")};
}

}  // namespace leasehold
