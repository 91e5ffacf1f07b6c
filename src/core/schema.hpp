#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/errors.hpp>

// The versions of a store's tables. Version 0 is an empty database, and step i brings version i to
// i + 1, so the newest version is the number of steps. A step that was released is never changed.
//
// Every process compares the version with its own in the same statement or transaction as its work,
// see docs/decisions/schema-steps.md.
namespace leasehold {

// The SQL statements of each step.
using SchemaSteps = std::vector<std::vector<std::string>>;

// How one database is migrated. Each function may throw StoreFault.
class SchemaMigration {
public:
    SchemaMigration() = default;
    SchemaMigration(const SchemaMigration&) = delete;
    SchemaMigration& operator=(const SchemaMigration&) = delete;
    virtual ~SchemaMigration() = default;

    // The version of the last step that was completed.
    [[nodiscard]] virtual std::size_t version() = 0;
    // Waits until no other process migrates this database, and keeps the others out.
    virtual void lock() = 0;
    // Brings `version` to the next one. May run again where it was interrupted.
    virtual void step(std::size_t version) = 0;
    // Completes the migration and lets other processes migrate again.
    virtual void unlock() = 0;
    // The same after a failure: undoes what can be undone.
    virtual void abandon() noexcept = 0;
};

// Brings a database to version `newest`:
//  1. Read the version. If it is the newest, nothing is to be done.
//  2. Lock out the other processes that migrate, and read the version again.
//  3. Refuse a version that is newer than the newest.
//  4. Run the steps that are missing, in order.
//  5. Unlock.
// Several processes may do it at once. `store` begins the text of a fault.
void migrate(std::string_view store, std::size_t newest, SchemaMigration& migration);

// Throws StoreFault (configuration) unless the version that was found is the version of this
// process.
void require_version(std::string_view store, std::size_t found, std::size_t ours);

}  // namespace leasehold
