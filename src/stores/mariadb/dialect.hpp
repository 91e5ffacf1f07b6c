#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/lock_tables.hpp"

// All that differs between the servers that this folder speaks to. MySQL has no RETURNING and no
// SET STATEMENT, and its innodb_lock_wait_timeout is at least a second.
namespace leasehold::mariadb {

struct Dialect {
    enum class Product : std::uint8_t { mariadb, mysql };
    // How a server is kept from waiting for a row that another transaction has locked.
    enum class NoWait : std::uint8_t {
        by_setting,  // innodb_lock_wait_timeout = 0 for the whole session
        by_probe,    // a locking read with NOWAIT of the same rows, just before the statement
    };

    Product product;
    std::string_view name;    // of the store: in URLs, and at the beginning of faults
    std::string_view oldest;  // the oldest server that is supported, for people
    unsigned oldest_version;  // the same as the connector counts
    std::string_view other;   // which URL is for the other product

    // Statements for every connection of the store.
    std::string_view session;

    // Before "start transaction" where the client decides between two round trips, and before its
    // commit: the server must end the transaction of a client that fell silent. May be empty.
    std::string_view before_begin;
    std::string_view before_commit;

    NoWait no_wait;
    // Before a statement that skips locked rows, that writes the history, and that runs in a
    // caller's transaction. May be empty.
    std::string_view for_skip_locked;
    std::string_view for_history;
    std::string_view undisturbed;
    // A part of the query for the time in the caller's session. Without it, MySQL answers in the
    // session's time zone.
    std::string_view clock_hint;
    std::string_view for_share_skip_locked;

    // "insert ... values (...){new_row} on duplicate key update x = {new_value_begin}x{..._end}".
    std::string_view new_row;
    std::string_view new_value_begin;
    std::string_view new_value_end;

    // Which rows of the pattern's programs show that such a program writes dates of a zone west of
    // the store's, and what a warning says of such a lock. {expires} is the expiry, {now} the
    // clock, in microseconds.
    std::string_view is_in_the_west;
    std::string_view says_of_the_west;

    // The name of the lock that a process has while it makes or migrates the tables; at most 64
    // characters. MySQL 9.6 and later have no md5().
    std::string_view schema_lock;
    // The types of added columns. A step may run again where it was interrupted.
    ColumnTypes column_types;

    [[nodiscard]] std::string new_value(std::string_view column) const {
        return std::string{new_value_begin}.append(column).append(new_value_end);
    }
};

extern const Dialect mariadb_dialect;
extern const Dialect mysql_dialect;

}  // namespace leasehold::mariadb
