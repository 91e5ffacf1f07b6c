#include "stores/mariadb/schema.hpp"

#include <mysqld_error.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <string>

#include <leasehold/limits.hpp>

#include "core/pattern_zones.hpp"
#include "core/retry.hpp"
#include "core/sql_text.hpp"
#include "stores/mariadb/adoption.hpp"
#include "stores/mariadb/dates.hpp"
#include "stores/mariadb/rows.hpp"

namespace leasehold::mariadb {
namespace {

// The sizes of the columns below, in adoption.cpp and in protection_routines.hpp. A later limit
// needs a schema step that makes its columns larger.
static_assert(Limits::type_bytes == 128 && Limits::id_bytes == 512 && Limits::owner_bytes == 512 &&
              Limits::note_bytes == 1024);

// The server commits after every statement that makes or changes a table, so a step may be cut off
// in its middle: every statement must be one that can run again. Times are microseconds since 1970.
constexpr std::array first_step{
    R"sql(
create table if not exists leasehold (
    name  varbinary(64) not null primary key,
    value bigint not null
) engine = InnoDB row_format = dynamic
)sql", "insert ignore into leasehold values ('schema', 0), ('time_floor', 0)",
    R"sql(
create table if not exists locks (
    type            varbinary(128) not null,
    id              varbinary(512) not null,
    lockid          varbinary(255) not null,
    expiration_time datetime(6) not null,
    owner           varbinary(512) not null default '' invisible,
    mode            tinyint not null default 0 invisible,
    fence           bigint not null default (cast(unix_timestamp(sysdate(6)) * 1000000 as signed)) invisible,
    granted_at      bigint not null default (cast(unix_timestamp(sysdate(6)) * 1000000 as signed)) invisible,
    touched_at      bigint not null default 0 invisible,
    note            varbinary(1024) not null default '' invisible,
    ended           tinyint not null default 0 invisible,
    ended_at        bigint not null default 0 invisible,
    ended_by        varbinary(512) not null default '' invisible,
    ended_why       varbinary(1024) not null default '' invisible,
    primary key (type, id),
    unique key locks_lockid (lockid),
    key locks_owner (owner)
) engine = InnoDB row_format = dynamic
)sql",
    R"sql(
create table if not exists lock_shares (
    type            varbinary(128) not null,
    id              varbinary(512) not null,
    lockid          varbinary(255) not null,
    expiration_time bigint not null,
    owner           varbinary(512) not null,
    fence           bigint not null,
    granted_at      bigint not null,
    note            varbinary(1024) not null,
    primary key (type, id, lockid),
    unique key lock_shares_lockid (lockid),
    key lock_shares_owner (owner)
) engine = InnoDB row_format = dynamic
)sql",
    R"sql(
create table if not exists lock_history (
    seq             bigint not null auto_increment primary key,
    type            varbinary(128) not null,
    id              varbinary(512) not null,
    lockid          varbinary(255) not null,
    owner           varbinary(512) not null,
    mode            tinyint not null,
    fence           bigint not null,
    granted_at      bigint not null,
    expiration_time bigint not null,
    ended           tinyint not null,
    ended_at        bigint not null,
    ended_by        varbinary(512) not null,
    ended_why       varbinary(1024) not null,
    note            varbinary(1024) not null,
    key lock_history_lockid (lockid),
    key lock_history_key (type, id, seq)
) engine = InnoDB row_format = dynamic
)sql",
};

// Runs `statement` if table `locks` is still as version 2 had it: with microseconds, and with no
// invisible column.
std::vector<std::string> while_version_2(const std::string& column, const std::string& is,
                                         const std::string& statement) {
    return {
        "set @leasehold_step = if((select count(*) from information_schema.columns where "
        "table_schema = database() and table_name = 'locks' and column_name = '" +
            column + "' and " + is + ") > 0, \"" + statement + "\", 'do 0')",
        "prepare leasehold_step from @leasehold_step", "execute leasehold_step"};
}

// Version 3: the pattern's own programs can use table `locks`. It has a date for a time, in the
// zone @leasehold_zone, and only the pattern's four columns are visible.
std::vector<std::string> third_step() {
    std::vector<std::string> step;
    const auto add = [&](const std::string& column, const std::string& is,
                         const std::string& statement) {
        for (auto& each : while_version_2(column, is, statement)) step.push_back(std::move(each));
    };
    const std::string is_number = "data_type = 'bigint'";
    add("expiration_time", is_number,
        "alter table locks add column expiration_date datetime(6) null after lockid");
    add("expiration_time", is_number,
        "update locks set expiration_date = if(expiration_time = " + std::to_string(micros(never)) +
            ", " + std::string{date_of_never} + ", " + date_of("expiration_time", own_zone) + ")");
    add("expiration_time", is_number,
        "alter table locks drop column expiration_time, "
        "change column expiration_date expiration_time datetime(6) not null");
    add("token_id", "extra not like '%INVISIBLE%'",
        "alter table locks "
        "modify owner varbinary(512) not null default '' invisible, "
        "modify mode tinyint not null default 0 invisible, "
        "modify fence bigint not null default "
        "(cast(unix_timestamp(sysdate(6)) * 1000000 as signed)) invisible, "
        "modify granted_at bigint not null default "
        "(cast(unix_timestamp(sysdate(6)) * 1000000 as signed)) invisible, "
        "modify touched_at bigint not null default 0 invisible, "
        "modify note varbinary(1024) not null default '' invisible, "
        "modify ended tinyint not null default 0 invisible, "
        "modify ended_at bigint not null default 0 invisible, "
        "modify ended_by varbinary(512) not null default '' invisible, "
        "modify ended_why varbinary(1024) not null default '' invisible, "
        "modify token_id varbinary(" +
            std::to_string(Limits::token_id_bytes) + ") not null default '' invisible");
    return step;
}

bool has_table(Link& link, const std::string& name) {
    auto found = link.run(
        "select 1 from information_schema.tables "
        "where table_schema = database() and table_name = '" +
        name + "'");
    return found.front().next();
}

// In microseconds east of UTC.
std::int64_t zone_of(const StoreOptions& options) {
    return std::chrono::duration_cast<Duration>(options.time_zone.value_or(std::chrono::minutes{0}))
        .count();
}

class Migration final : public SchemaMigration {
public:
    Migration(Link& link, const SchemaSteps& steps, const StoreOptions& options)
        : link_{link}, steps_{steps}, options_{options} {}

    std::size_t version() override {
        if (!has_table(link_, "leasehold")) return 0;
        // A step that was begun and not completed has to run again.
        auto found = link_.run(
            "select ifnull((select value - 1 from leasehold where name = 'migrating'), "
            "(select value from leasehold where name = 'schema'))");
        return found.front().next() ? static_cast<std::size_t>(found.front().integer(0)) : 0;
    }

    void lock() override {
        Retry retry{retries::schema_lock};
        while (const auto pause = retry.next_pause()) {
            // The server does the waiting.
            const std::chrono::duration<double> seconds = *pause;
            auto got = link_.run("select get_lock(" + lock_name() + ", " +
                                 std::to_string(seconds.count()) + ")");
            if (got.front().next() && got.front().integer(0) == 1) {
                wait_for_locks();
                return;
            }
        }
        throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::unavailable,
                         std::string{link_.dialect().name} +
                             ": another process has been making the tables for too long"};
    }

    void step(std::size_t version) override {
        const std::string next = std::to_string(version + 1);
        if (version == 0) {
            adopt_or_refuse_a_foreign_table();
        } else {
            // From here on processes of the old version find the new one.
            link_.run("insert into leasehold values ('migrating', " + next +
                      ") on duplicate key update value = " + next);
            link_.run("update leasehold set value = " + next + " where name = 'schema'");
            // Waits for transactions that began before.
            for (const char* table : {"locks", "lock_shares", "lock_history"}) {
                link_.run("alter table " + std::string{table} + " comment = 'Leasehold schema " +
                          next + "'");
            }
        }
        if (version == 2) {
            link_.run("insert ignore into leasehold values ('zone', " +
                      std::to_string(zone_of(options_)) + ")");  // an adopted table has it
            link_.run("set @leasehold_zone = " + std::string{callers_zone});
        }
        for (const std::string& statement : steps_[version]) run_once_more(statement);
        link_.run("update leasehold set value = " + next + " where name = 'schema'");
        link_.run("delete from leasehold where name = 'migrating'");
    }

    void unlock() override {
        link_.run("set innodb_lock_wait_timeout = @leasehold_lock_wait");
        (void)link_.run("do release_lock(" + lock_name() + ")");
    }
    void abandon() noexcept override { link_.disconnect(); }  // which unlocks

private:
    // The server's own threads lock rows of its dictionary for a moment, to keep statistics. A
    // statement that changes a table has to wait for them.
    void wait_for_locks() {
        link_.run(
            "set @leasehold_lock_wait = @@innodb_lock_wait_timeout, innodb_lock_wait_timeout = 50");
    }

    // The statement may have run before, in a step that was interrupted.
    void run_once_more(const std::string& statement) {
        try {
            link_.run(statement);
        } catch (const SqlError& error) {
            if (error.number() != ER_DUP_FIELDNAME) throw;
        }
    }

    void adopt_or_refuse_a_foreign_table() {
        if (!has_table(link_, "locks")) {
            // Left by an adoption that failed, of a table that is gone.
            if (has_table(link_, "leasehold")) {
                link_.run("delete from leasehold where name = 'zone'");
            }
            return;
        }
        if (has_our_columns() && has_table(link_, "leasehold")) {
            // Made or adopted in a step that was cut off.
            return date_the_adopted_locks(link_);
        }
        if (!has_the_patterns_table(link_)) {
            refuse(
                link_.dialect(),
                "the database has a table `locks` that is neither Leasehold's nor the pattern's "
                "(type, id, lockid, expiration_time); rename it, or give Leasehold a database of "
                "its own");
        }
        if (options_.adopt != StoreOptions::Adopt::pattern_table) {
            refuse(link_.dialect(),
                   "the database has a table `locks` that Leasehold did not make; to share it with "
                   "the programs that use it, open the store with adopt=locks, and with time_zone "
                   "if they do not write UTC");
        }
        require_the_patterns_rows(link_);
        // The zone is known before the first date is in it.
        for (const std::string_view statement : {first_step[0], first_step[1]}) {
            link_.run(std::string{statement});
        }
        link_.run("insert into leasehold values ('zone', " + std::to_string(zone_of(options_)) +
                  ") on duplicate key update value = " +
                  (options_.time_zone ? std::to_string(zone_of(options_)) : "value"));
        auto zone = link_.run("select value from leasehold where name = 'zone'");
        zone.front().next();
        // A timestamp is read as a date of the session's zone.
        const std::int64_t minutes = zone.front().integer(0) / 60'000'000;
        const auto two = [](std::int64_t number) {
            return (number < 10 ? "0" : "") + std::to_string(number);
        };
        link_.run("set time_zone = '" + std::string{minutes < 0 ? "-" : "+"} +
                  two(std::abs(minutes) / 60) + ":" + two(std::abs(minutes) % 60) + "'");
        adopt_the_patterns_table(link_);
        link_.run("set time_zone = '+00:00'");
        date_the_adopted_locks(link_);
    }

    bool has_our_columns() {
        auto found = link_.run(
            "select count(*) from information_schema.columns where table_schema = database() and "
            "table_name = 'locks' and column_name in ('touched_at', 'ended_why', 'fence')");
        return found.front().next() && found.front().integer(0) == 3;
    }

    [[nodiscard]] std::string lock_name() const { return std::string{link_.dialect().schema_lock}; }

    Link& link_;
    const SchemaSteps& steps_;
    const StoreOptions& options_;
};

void require_zone(Link& link, const StoreOptions& options) {
    if (!options.time_zone) return;
    auto zone = link.run("select " + std::string{callers_zone});
    zone.front().next();
    if (zone.front().integer(0) == zone_of(options)) return;
    const auto text = [](std::int64_t us) {
        return std::to_string(us / 60'000'000) + " minutes east of UTC";
    };
    refuse(link.dialect(), "the dates in table `locks` are in the zone " +
                               text(zone.front().integer(0)) + ", time_zone says " +
                               text(zone_of(options)) +
                               "; docs/decisions/pattern-programs.md says how to move the table "
                               "to another zone");
}

}  // namespace

const SchemaSteps& schema_steps(const Dialect& dialect) {
    const auto steps_of = [](const Dialect& of) {
        SchemaSteps steps = steps_from({first_step.begin(), first_step.end()}, of.column_types);
        const auto third = third_step();
        steps[2].insert(steps[2].end(), third.begin(), third.end());
        return steps;
    };
    static const SchemaSteps mariadb = steps_of(mariadb_dialect);
    static const SchemaSteps mysql = steps_of(mysql_dialect);
    return dialect.product == Dialect::Product::mariadb ? mariadb : mysql;
}

std::vector<std::string> warnings_of_other_zones(Link& link) {
    const Dialect& dialect = link.dialect();
    auto rows = std::move(
        link
            .run(sql_text(
                "select type, id, west, minutes_left from (select type, id, touched_at, " +
                    std::string{dialect.is_in_the_west} +
                    " as west, if({expires} < {never}, ({expires} - {now}) div 60000000, 0) as "
                    "minutes_left from (select type, id, expiration_time, granted_at, touched_at "
                    "from locks where owner = '' limit 1000) of_nobody) of_programs "
                    "where touched_at = 0 and (west or minutes_left > {longest})",
                {{"expires", micros_of("expiration_time", own_zone)},
                 {"never", std::to_string(micros(never))},
                 {"longest", std::to_string(longest_usual_lock.count())},
                 {"now", std::string{clock_us}}}))
            .front());
    std::string west;
    std::string east;
    while (rows.next() && (west.empty() || east.empty())) {
        const auto key = LockKey::parse(rows.text(0), rows.text(1));
        const std::string lock =
            "the lock " + (key ? key->to_string() + ' ' : "") + "of another program ";
        if (rows.integer(2) != 0) {
            west = lock + std::string{dialect.says_of_the_west} +
                   ", so nobody respects its locks; see docs/decisions/pattern-programs.md";
        } else {
            east = lock + says_of_the_east(std::chrono::minutes{rows.integer(3)});
        }
    }
    std::vector<std::string> warnings;
    for (std::string* warning : {&west, &east}) {
        if (!warning->empty()) warnings.push_back(std::move(*warning));
    }
    return warnings;
}

// With sysdate-is-now, SYSDATE() is the time at which the statement began, and a session can set
// that time.
std::string unfitness_of_clock(Link& link) {
    auto clock = link.run("select sleep(0.001), sysdate(6) = now(6)");
    if (!clock.front().next() || clock.front().integer(1) == 0) return {};
    return "the server was started with sysdate-is-now, so that SYSDATE() is not the time of the "
           "clock; start the server without that option";
}

void migrate(Link& link, const SchemaSteps& steps, const StoreOptions& options) {
    if (auto database = link.run("select database()");
        !database.front().next() || database.front().is_null(0)) {
        refuse(link.dialect(), "no database is named; name one, as in " +
                                   std::string{link.dialect().name} + "://user@host/database");
    }
    Migration migration{link, steps, options};
    leasehold::migrate(link.dialect().name, steps.size(), migration);
    require_zone(link, options);
}

}  // namespace leasehold::mariadb
