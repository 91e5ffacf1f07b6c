#include "stores/mariadb/dialect.hpp"

namespace leasehold::mariadb {
namespace {

constexpr ColumnTypes types_with(std::string_view add) {
    return {.add = add,
            .text = "varbinary({bytes}) not null default ''",
            .integer = "bigint not null default 0",
            .time = "bigint not null default 0",
            .hidden = " invisible"};
}

}  // namespace

constinit const Dialect mariadb_dialect{
    .product = Dialect::Product::mariadb,
    .name = "mariadb",
    .oldest = "MariaDB 10.11",
    .oldest_version = 101'100,
    .other = "for MySQL write mysql://",
    // No statement waits for a row that another transaction has locked. Long lists of keys are
    // looked up one by one, without estimating the rows first.
    .session =
        "set session transaction isolation level read committed;"
        "set innodb_lock_wait_timeout = 0, idle_transaction_timeout = 10, autocommit = 1, "
        "completion_type = 0, time_zone = '+00:00', "
        "sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', check_constraint_checks = 1, "
        "sql_select_limit = default, max_statement_time = 0, wait_timeout = 31536000;"
        "set eq_range_index_dive_limit = 1, in_predicate_conversion_threshold = 0",
    .before_begin = "",
    .before_commit = "",
    .no_wait = Dialect::NoWait::by_setting,
    // MariaDB 10.11 fails a statement with a commit error (1180) when it skips a row in a session
    // whose innodb_lock_wait_timeout is 0. It does not wait in any case.
    .for_skip_locked = "set statement innodb_lock_wait_timeout = 1 for ",
    // Another transaction may hold the lock on the numbers of the rows for a moment.
    .for_history = "set statement innodb_lock_wait_timeout = 1 for ",
    // Under SERIALIZABLE even a plain read locks rows.
    .undisturbed = "set statement innodb_lock_wait_timeout = 0, time_zone = '+00:00' for ",
    .clock_hint = "",
    .for_share_skip_locked = " lock in share mode skip locked",
    .new_row = "",
    .new_value_begin = "value(",
    .new_value_end = ")",
    .is_in_the_west = "granted_at > 0 and {expires} < granted_at",
    .says_of_the_west =
        "was over when it was taken: that program writes dates of a zone west of the store's",
    .schema_lock = "concat('leasehold/', md5(database()))",
    .column_types = types_with("add column if not exists"),
};

constinit const Dialect mysql_dialect{
    .product = Dialect::Product::mysql,
    .name = "mysql",
    .oldest = "MySQL 8.0.23",
    .oldest_version = 80'023,
    .other = "for MariaDB write mariadb://",
    .session =
        "set session transaction isolation level read committed;"
        "set innodb_lock_wait_timeout = 1, autocommit = 1, completion_type = 0, "
        "time_zone = '+00:00', sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', "
        "sql_select_limit = default, sql_safe_updates = 0, max_execution_time = 0, "
        "wait_timeout = 31536000;"
        "set eq_range_index_dive_limit = 1, range_optimizer_max_mem_size = 0",
    // MySQL has no limit for an idle transaction, only for an idle connection.
    .before_begin = "set wait_timeout = 10",
    .before_commit = "set wait_timeout = 31536000",
    .no_wait = Dialect::NoWait::by_probe,
    .for_skip_locked = "",
    .for_history = "",
    .undisturbed = "",
    .clock_hint = "/*+ SET_VAR(time_zone = '+00:00') */ ",
    .for_share_skip_locked = " for share skip locked",
    .new_row = " as new",
    .new_value_begin = "new.",
    .new_value_end = "",
    // MySQL does not note when such a program made a row: it leaves invisible columns at 0. So the
    // lock may also be one that was left behind. No two zones are more than 26 hours apart.
    .is_in_the_west =
        "granted_at = 0 and {now} - ({expires}) between 50 * 60000000 and 26 * 3600000000",
    .says_of_the_west =
        "ended long ago and is still there: if that program is still working, it writes dates of a "
        "zone west of the store's",
    .schema_lock = "concat('leasehold/', left(sha2(database(), 256), 48))",
    // A column that is there already is an error, which the migration ignores.
    .column_types = types_with("add column"),
};

}  // namespace leasehold::mariadb
