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
#include "stores/mariadb/dates.hpp"

// The SQL on Leasehold's tables, as text, and the readers of its results. It runs on our connection
// and, for guard(), on the caller's.
namespace leasehold::mariadb {

// A script that is longer than this is sent in parts. Far below max_allowed_packet.
inline constexpr std::size_t longest_script = 1'000'000;

[[nodiscard]] std::string literal(std::string_view bytes);

// The server's clock in microseconds. sysdate(6) is the time at which it is evaluated; now(6) is
// the start of the statement.
inline constexpr std::string_view clock_us = "cast(unix_timestamp(sysdate(6)) * 1000000 as signed)";

// The clock, the floor and the version of the tables. `hint` follows the word select.
[[nodiscard]] std::string clock_query(std::string_view hint = "");

using Keys = std::span<const LockKey* const>;

// Columns: type, id, lock_columns.
[[nodiscard]] std::string select_and_lock(const Dialect& dialect, Keys keys);
// The same without locking, in one snapshot with the shares: share_columns follow.
[[nodiscard]] std::string select_with_shares(Keys keys);
// The same with one share only, on a caller's connection.
[[nodiscard]] std::string select_with_share(Keys keys, LockId lock_id);
// Columns: type, id, share_columns, in the order of fences.
[[nodiscard]] std::string select_shares(Keys keys);
// Columns: type, id, history_columns.
[[nodiscard]] std::string select_past(std::span<const LockId> lock_ids);
// Columns: lockid, type, id.
[[nodiscard]] std::string select_keys(std::span<const LockId> lock_ids);
// Columns: type, id, whether the lease has not ended. At most `most` rows of exclusive leases, and
// as many shared ones.
[[nodiscard]] std::string select_keys(const std::string& owner, OwnerScope scope, std::size_t most);

// The last row of a page. Another program may have written the row, so its key may not be a valid
// LockKey.
struct Place {
    std::string type{};
    std::string id{};
    Fence fence = 0;
};
// Columns: type, id, expiration_time.
[[nodiscard]] std::string select_from(const std::optional<Place>& after, std::size_t limit);
// The key that is this number of rows behind the place. Columns: type, id.
[[nodiscard]] std::string select_place_behind(const KeyPlace& place, std::size_t rows);
// The keys after the place up to `until`. Columns: type, id, public_columns, mode.
[[nodiscard]] std::string select_holders(const List& request, const std::optional<Place>& after,
                                         const KeyPlace& until, std::size_t limit, Time now);
// Columns: type, id, history_columns, seq.
[[nodiscard]] std::string select_history(const History& request,
                                         const std::optional<std::int64_t>& before,
                                         std::size_t limit);

inline constexpr unsigned first_share_column = 2 + count_of(lock_columns);
inline constexpr unsigned sequence_column = 2 + count_of(history_columns);

// Fails with a conflict if another transaction has locked one of these rows, or is about to insert
// it. Run it just before a statement that would wait for them.
[[nodiscard]] std::string probe_rows(Keys keys);
// The same for the floor.
[[nodiscard]] std::string probe_floor();

// `zone` is that of the dates in `locks`. Fails with a duplicate if the row exists.
[[nodiscard]] std::string insert_rows(Duration zone, std::span<const KeyedRow> rows);
// Rows that exist and are locked by us.
[[nodiscard]] std::string overwrite_rows(const Dialect& dialect, Duration zone,
                                         std::span<const KeyedRow> rows);
// The same for rows in which only the expiry and touched_at changed.
[[nodiscard]] std::string prolong_rows(const Dialect& dialect, Duration zone,
                                       std::span<const KeyedRow> rows);
// The same for rows whose leases ended in the same way at the same time: `row` has what changed.
[[nodiscard]] std::string end_rows(Duration zone, const LockRow& row, Keys keys);
// One row that exists and is locked by the caller, on the caller's connection. Touches no index but
// the primary key's.
[[nodiscard]] std::string update_row(const KeyedRow& keyed);
[[nodiscard]] std::string delete_rows(Keys keys);
// Fails with a duplicate if a share has the lock id already.
[[nodiscard]] std::string insert_shares(std::span<const KeyedShare> shares);
// Shares that exist.
[[nodiscard]] std::string write_shares(const Dialect& dialect, std::span<const KeyedShare> shares);
[[nodiscard]] std::string delete_shares(std::span<const KeyedId> shares);
[[nodiscard]] std::string add_to_history(std::span<const Ended> endings);
[[nodiscard]] std::string raise_floor(Time floor);

}  // namespace leasehold::mariadb
