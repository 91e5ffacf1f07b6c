#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <leasehold/store.hpp>

#include "core/lock_tables.hpp"
#include "core/lane_store.hpp"
#include "core/schema.hpp"

struct pg_conn;
struct pg_result;

namespace leasehold::postgres {

// Throws a fault: Leasehold cannot use the database as it is set up.
[[noreturn]] void refuse(const std::string& why);

// Simple statements on a new connection, each with a deadline. Throws StoreFault: unavailable where
// the connection is lost or silent, configuration where the server refuses.
class Conversation {
public:
    Conversation(::pg_conn* connection, Duration timeout)
        : connection_{connection}, timeout_{timeout} {}

    // One or several statements without parameters.
    void execute(const std::string& sql);
    // The first column of the first row as text, if there is one.
    [[nodiscard]] std::optional<std::string> value_of(const std::string& sql);
    // All rows as text. Null is empty.
    [[nodiscard]] std::vector<std::vector<std::string>> rows_of(const std::string& sql);

    [[nodiscard]] ::pg_conn* connection() const { return connection_; }

private:
    struct Clear {
        void operator()(::pg_result* result) const noexcept;
    };
    using Answer = std::unique_ptr<::pg_result, Clear>;

    Answer ask(const std::string& sql);
    void wait(SteadyClock::time_point deadline);

    ::pg_conn* connection_;
    Duration timeout_;
};

// The types of added columns.
inline constexpr ColumnTypes column_types{.text = "text not null default ''",
                                          .integer = "bigint not null default 0",
                                          .time = "timestamptz not null default 'epoch'"};

// The steps that were released.
[[nodiscard]] const SchemaSteps& schema_steps();

// Makes or migrates the tables in the current schema. Takes over a table `locks` of the pattern's
// programs, see adoption.hpp; refuses any other, and a newer version. Close the connection where it
// throws.
void migrate(Conversation& talk, const SchemaSteps& steps, const StoreOptions& options);

// open() with other steps than the released ones, as a later version has them, or with other lanes.
[[nodiscard]] std::unique_ptr<Store> open_with(const SchemaSteps& steps,
                                               const std::string& conninfo,
                                               const StoreOptions& options,
                                               const LaneOptions& lanes = {});

// What the server's settings mean for durability. Refuses a server that is too old.
[[nodiscard]] StoreStatus read_status(Conversation& talk);

// Warns if a program that shares table `locks` made a lock that was over already, as a program does
// that means another zone than its session has. Looks at the first keys only.
void warn_of_a_zone_in_the_west(Conversation& talk, StoreStatus& status);

}  // namespace leasehold::postgres
