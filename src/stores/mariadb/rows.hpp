#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/cell_store.hpp"
#include "stores/mariadb/connection.hpp"

// The SQL on Leasehold's tables, as text, and how to read what it returns. It runs on our
// connection and on the caller's of guard(): values that are not plain ASCII stand in it as
// hexadecimal digits, which need no escaping and are the same bytes in every session, whatever its
// character set and sql_mode.
namespace leasehold::mariadb {

// How long a script gets before it is sent: far below max_allowed_packet.
inline constexpr std::size_t longest_script = 1'000'000;

void append_literal(std::string& sql, std::string_view bytes);
[[nodiscard]] std::string literal(std::string_view bytes);

// The server's clock, and the floor. sysdate(6) is read where it stands, unlike now(6).
inline constexpr std::string_view clock_query =
    "select cast(unix_timestamp(sysdate(6)) * 1000000 as signed), "
    "ifnull((select value from leasehold where name = 'time_floor'), 0)";

// Before every statement with SKIP LOCKED: MariaDB 10.11 fails it with a commit error (1180) when
// it skips a row in a session whose innodb_lock_wait_timeout is 0. It does not wait in any case.
inline constexpr std::string_view for_skip_locked =
    "set statement innodb_lock_wait_timeout = 1 for ";

// Before every insert into the history on our connection: for a moment another may be numbering its
// rows there.
inline constexpr std::string_view for_history = "set statement innodb_lock_wait_timeout = 1 for ";

using Keys = std::span<const LockKey* const>;

// Columns: type, id, and those of row_at().
[[nodiscard]] std::string select_and_lock(Keys keys);
// The same without locking, in one snapshot with the shares: columns of share_at() follow.
[[nodiscard]] std::string select_with_shares(Keys keys);
// The same with one share alone.
[[nodiscard]] std::string select_with_share(Keys keys, LockId lock_id);
// Columns: type, id, and those of share_at(), in the order of fences.
[[nodiscard]] std::string select_shares(Keys keys);
[[nodiscard]] std::string select_past(std::span<const LockId> lock_ids);
// Columns: lockid, type, id.
[[nodiscard]] std::string select_keys(std::span<const LockId> lock_ids);
// Columns: type, id.
[[nodiscard]] std::string select_keys(const std::string& owner, OwnerScope scope);

// Where a page ended. Its key may be no LockKey: other programs can have written the row.
struct Place {
    std::string type{};
    std::string id{};
    Fence fence = 0;
};
// Columns: type, id, expiration_time.
[[nodiscard]] std::string select_from(const std::optional<Place>& after, std::size_t limit);
[[nodiscard]] std::string select_holders(const List& request, const std::optional<Place>& after,
                                         std::size_t limit, Time now);
[[nodiscard]] std::string select_history(const History& request,
                                         const std::optional<std::int64_t>& before,
                                         std::size_t limit, Time oldest);

inline constexpr std::string_view row_columns =
    "lockid, expiration_time, owner, mode, fence, granted_at, touched_at, note, ended, ended_at, "
    "ended_by, ended_why";
inline constexpr unsigned row_column_count = 12;
inline constexpr std::string_view share_columns =
    "lockid, expiration_time, owner, fence, granted_at, note";

[[nodiscard]] LockRow row_at(const ResultSet& row, unsigned column);
[[nodiscard]] Grant share_at(const ResultSet& row, unsigned column);
// Nothing where the row's key is none that we could have written.
[[nodiscard]] std::optional<LockKey> key_at(const ResultSet& row, unsigned column);
[[nodiscard]] std::optional<Holder> holder_at(const ResultSet& row);
[[nodiscard]] std::optional<Ended> ended_at(const ResultSet& row);

struct KeyedRow {
    const LockKey* key;
    LockRow row;
};
struct KeyedShare {
    const LockKey* key;
    const Grant* grant;
};
using KeyedId = std::pair<const LockKey*, LockId>;

// Fails with a duplicate where the row exists.
[[nodiscard]] std::string insert_rows(std::span<const KeyedRow> rows);
// Rows that exist and are locked by us.
[[nodiscard]] std::string overwrite_rows(std::span<const KeyedRow> rows);
// The same where only expiry and touched_at differ.
[[nodiscard]] std::string prolong_rows(std::span<const KeyedRow> rows);
[[nodiscard]] std::string delete_rows(Keys keys);
// Fails with a duplicate where the lock id names one already.
[[nodiscard]] std::string insert_shares(std::span<const KeyedShare> shares);
// Shares that exist.
[[nodiscard]] std::string write_shares(std::span<const KeyedShare> shares);
[[nodiscard]] std::string delete_shares(std::span<const KeyedId> shares);
[[nodiscard]] std::string add_to_history(std::span<const Ended> endings);
[[nodiscard]] std::string raise_floor(Time floor);

}  // namespace leasehold::mariadb
