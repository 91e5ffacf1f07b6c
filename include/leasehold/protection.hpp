#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace leasehold {

// A table of an application whose rows the database protects: a row whose key is leased can be
// written only by a transaction that has presented that live, exclusive lease. guard() presents it,
// and so does `select leasehold_guard(type, id, lock_id)` in SQL. See docs/protect.md.
struct ProtectedTable {
    // The name exactly as the database lists it, without quotes; on PostgreSQL "schema.table" where
    // the search path does not find the table.
    std::string name;
    // The key of a row, with columns in braces: "Order/{id}", "{tenant}:Order/{order_no}". The
    // first '/' outside braces separates the type from the id. A child table names the key of its
    // root: "Order/{order_id}".
    std::string key;
    // Whether a row can be written while nobody has leased its key.
    enum class Unleased : std::uint8_t { writable, refused };
    Unleased unleased = Unleased::writable;

    friend bool operator==(const ProtectedTable&, const ProtectedTable&) = default;
};

// What is wrong with the protection of a table, and what mends it.
struct ProtectionProblem {
    std::string table;
    std::string text;
    std::string advice;
};

// Installs and removes the protection of tables in one database. Not thread-safe. Every function
// throws StoreFault if the database could not answer.
class TableProtection {
public:
    TableProtection() = default;
    TableProtection(const TableProtection&) = delete;
    TableProtection& operator=(const TableProtection&) = delete;
    virtual ~TableProtection() = default;

    // Protects the table from now on, or changes its key and its rule for unleased rows. Returns
    // what the caller should know: ways around the protection that this table has. Throws
    // BadRequest if there is no such table or column, or the key cannot be read.
    virtual std::vector<std::string> protect(const ProtectedTable& table) = 0;

    // Returns whether the table was protected.
    virtual bool unprotect(const std::string& table) = 0;

    // In the order of their names.
    [[nodiscard]] virtual std::vector<ProtectedTable> tables() = 0;

    // Compares what is installed with what tables() lists.
    [[nodiscard]] virtual std::vector<ProtectionProblem> problems() = 0;

    // What protect() would warn of now, for every table.
    [[nodiscard]] virtual std::vector<ProtectionProblem> warnings() = 0;
};

}  // namespace leasehold
