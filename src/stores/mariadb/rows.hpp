#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/cell_store.hpp"
#include "core/lock_tables.hpp"
#include "stores/mariadb/connection.hpp"

// The SQL on Leasehold's tables, as text, and the readers of its results. It runs on our connection
// and, for guard(), on the caller's. Values that are not plain ASCII are written as hexadecimal
// digits, which need no escaping and are the same bytes in every session, whatever its character
// set and sql_mode.
namespace leasehold::mariadb {

// A script that is longer than this is sent in parts. Far below max_allowed_packet.
inline constexpr std::size_t longest_script = 1'000'000;

void append_literal(std::string& sql, std::string_view bytes);
[[nodiscard]] std::string literal(std::string_view bytes);

// The server's clock, the floor and the version of the tables. sysdate(6) is the time at which it
// is evaluated; now(6) is the start of the statement.
inline constexpr std::string_view clock_query =
    "select cast(unix_timestamp(sysdate(6)) * 1000000 as signed), "
    "ifnull((select value from leasehold where name = 'time_floor'), 0), "
    "ifnull((select value from leasehold where name = 'schema'), 0)";

// Before every statement with SKIP LOCKED: MariaDB 10.11 fails it with a commit error (1180) when
// it skips a row in a session whose innodb_lock_wait_timeout is 0. It does not wait in any case.
inline constexpr std::string_view for_skip_locked =
    "set statement innodb_lock_wait_timeout = 1 for ";

// Before every insert into the history on our connection: another transaction may hold the lock on
// the numbers of the rows for a moment.
inline constexpr std::string_view for_history = "set statement innodb_lock_wait_timeout = 1 for ";

using Keys = std::span<const LockKey* const>;

// Columns: type, id, lock_columns.
[[nodiscard]] std::string select_and_lock(Keys keys);
// The same without locking, in one snapshot with the shares: share_columns follow.
[[nodiscard]] std::string select_with_shares(Keys keys);
// The same with one share only.
[[nodiscard]] std::string select_with_share(Keys keys, LockId lock_id);
// Columns: type, id, share_columns, in the order of fences.
[[nodiscard]] std::string select_shares(Keys keys);
// Columns: type, id, history_columns.
[[nodiscard]] std::string select_past(std::span<const LockId> lock_ids);
// Columns: lockid, type, id.
[[nodiscard]] std::string select_keys(std::span<const LockId> lock_ids);
// Columns: type, id.
[[nodiscard]] std::string select_keys(const std::string& owner, OwnerScope scope);

// The last row of a page. Another program may have written the row, so its key may not be a valid
// LockKey.
struct Place {
    std::string type{};
    std::string id{};
    Fence fence = 0;
};
// Columns: type, id, expiration_time.
[[nodiscard]] std::string select_from(const std::optional<Place>& after, std::size_t limit);
// Columns: type, id, public_columns, mode.
[[nodiscard]] std::string select_holders(const List& request, const std::optional<Place>& after,
                                         std::size_t limit, Time now);
// Columns: type, id, history_columns, seq.
[[nodiscard]] std::string select_history(const History& request,
                                         const std::optional<std::int64_t>& before,
                                         std::size_t limit, Time oldest);

inline constexpr unsigned first_share_column = 2 + count_of(lock_columns);
inline constexpr unsigned sequence_column = 2 + count_of(history_columns);

// Fails with a duplicate if the row exists.
[[nodiscard]] std::string insert_rows(std::span<const KeyedRow> rows);
// Rows that exist and are locked by us.
[[nodiscard]] std::string overwrite_rows(std::span<const KeyedRow> rows);
// The same for rows in which only the expiry and touched_at changed.
[[nodiscard]] std::string prolong_rows(std::span<const KeyedRow> rows);
[[nodiscard]] std::string delete_rows(Keys keys);
// Fails with a duplicate if a share has the lock id already.
[[nodiscard]] std::string insert_shares(std::span<const KeyedShare> shares);
// Shares that exist.
[[nodiscard]] std::string write_shares(std::span<const KeyedShare> shares);
[[nodiscard]] std::string delete_shares(std::span<const KeyedId> shares);
[[nodiscard]] std::string add_to_history(std::span<const Ended> endings);
[[nodiscard]] std::string raise_floor(Time floor);

}  // namespace leasehold::mariadb
