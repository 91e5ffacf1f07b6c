#include "stores/mariadb/schema.hpp"

#include <array>
#include <chrono>
#include <string>

#include <leasehold/limits.hpp>

#include "core/retry.hpp"

namespace leasehold::mariadb {
namespace {

// The sizes of the columns below. A later limit needs a schema step that makes its columns larger.
static_assert(Limits::type_bytes == 128 && Limits::id_bytes == 512 && Limits::owner_bytes == 512 &&
              Limits::note_bytes == 1024);

// MariaDB commits after every statement that makes or changes a table, so a step may be cut off in
// its middle: every statement must be one that can run again. Times are microseconds since 1970.
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
    expiration_time bigint not null check (expiration_time >= 1000000000000000),
    owner           varbinary(512) not null default '',
    mode            tinyint not null default 0,
    fence           bigint not null default (cast(unix_timestamp(sysdate(6)) * 1000000 as signed)),
    granted_at      bigint not null default (cast(unix_timestamp(sysdate(6)) * 1000000 as signed)),
    touched_at      bigint not null default 0,
    note            varbinary(1024) not null default '',
    ended           tinyint not null default 0,
    ended_at        bigint not null default 0,
    ended_by        varbinary(512) not null default '',
    ended_why       varbinary(1024) not null default '',
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

bool has_table(Link& link, const std::string& name) {
    auto found = link.run(
        "select 1 from information_schema.tables "
        "where table_schema = database() and table_name = '" +
        name + "'");
    return found.front().next();
}

class Migration final : public SchemaMigration {
public:
    Migration(Link& link, const SchemaSteps& steps) : link_{link}, steps_{steps} {}

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
            if (got.front().next() && got.front().integer(0) == 1) return;
        }
        throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::unavailable,
                         "mariadb: another process has been making the tables for too long"};
    }

    void step(std::size_t version) override {
        const std::string next = std::to_string(version + 1);
        if (version == 0) {
            refuse_a_foreign_table();
        } else {
            // From here on processes of the old version find the new one.
            link_.run("insert into leasehold values ('migrating', " + next +
                      ") on duplicate key update value = " + next);
            link_.run("update leasehold set value = " + next + " where name = 'schema'");
            // Waits for those of their transactions that began before.
            for (const char* table : {"locks", "lock_shares", "lock_history"}) {
                link_.run("alter table " + std::string{table} + " comment = 'Leasehold schema " +
                          next + "'");
            }
        }
        for (const std::string& statement : steps_[version]) link_.run(statement);
        link_.run("update leasehold set value = " + next + " where name = 'schema'");
        link_.run("delete from leasehold where name = 'migrating'");
    }

    void unlock() override { (void)link_.run("do release_lock(" + lock_name() + ")"); }
    void abandon() noexcept override { link_.disconnect(); }  // which unlocks

private:
    void refuse_a_foreign_table() {
        if (!has_table(link_, "locks") || has_table(link_, "leasehold")) return;
        refuse(
            "the database has a table `locks` that Leasehold did not make; rename it, or give "
            "Leasehold a database of its own");
    }

    // At most 64 characters.
    static std::string lock_name() { return "concat('leasehold/', md5(database()))"; }

    Link& link_;
    const SchemaSteps& steps_;
};

}  // namespace

const SchemaSteps& schema_steps() {
    static const SchemaSteps steps =
        steps_from({first_step.begin(), first_step.end()}, column_types);
    return steps;
}

void migrate(Link& link, const SchemaSteps& steps) {
    if (auto database = link.run("select database()");
        !database.front().next() || database.front().is_null(0)) {
        refuse("no database is named; name one, as in mariadb://user@host/database");
    }
    Migration migration{link, steps};
    leasehold::migrate("mariadb", steps.size(), migration);
}

}  // namespace leasehold::mariadb
