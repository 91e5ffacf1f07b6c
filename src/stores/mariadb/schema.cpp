#include "stores/mariadb/schema.hpp"

#include <array>
#include <span>
#include <string>

namespace leasehold::mariadb {
namespace {

// MariaDB commits after every statement that makes or changes a table, so a step may be cut off in
// its middle: each statement can be run again, and the version is raised at the step's end. Step i
// brings version i to i + 1. Times are microseconds since 1970. A step that was released is never
// changed.
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

const std::array<std::span<const char* const>, 1> steps{first_step};

bool has_table(Link& link, const std::string& name) {
    auto found = link.run(
        "select 1 from information_schema.tables "
        "where table_schema = database() and table_name = '" +
        name + "'");
    return found.front().next();
}

std::int64_t version_of(Link& link) {
    if (!has_table(link, "leasehold")) return 0;
    auto version = link.run("select value from leasehold where name = 'schema'");
    return version.front().next() ? version.front().integer(0) : 0;
}

// One process at a time makes or changes tables in this database.
class Migrating {
public:
    explicit Migrating(Link& link) : link_{link} {
        constexpr int attempts = 120;
        for (int i = 0; i < attempts; ++i) {
            auto got = link_.run("select get_lock(" + name() + ", 0.5)");
            if (got.front().next() && got.front().integer(0) == 1) return;
        }
        throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::unavailable,
                         "mariadb: another process has been making the tables for too long"};
    }
    Migrating(const Migrating&) = delete;
    Migrating& operator=(const Migrating&) = delete;
    ~Migrating() {
        try {
            (void)link_.run("do release_lock(" + name() + ")");
        } catch (const StoreFault&) {
            link_.disconnect();  // gives it back too
        }
    }

private:
    // At most 64 characters.
    static std::string name() { return "concat('leasehold/', md5(database()))"; }

    Link& link_;
};

}  // namespace

void migrate(Link& link) {
    constexpr auto newest = static_cast<std::int64_t>(steps.size());
    if (auto database = link.run("select database()");
        !database.front().next() || database.front().is_null(0)) {
        refuse("no database is named; name one, as in mariadb://user@host/database");
    }
    if (version_of(link) == newest) return;
    const Migrating alone{link};
    const std::int64_t version = version_of(link);
    if (version == 0 && has_table(link, "locks") && !has_table(link, "leasehold")) {
        refuse(
            "the database has a table `locks` that Leasehold did not make; rename it, or give "
            "Leasehold a database of its own");
    }
    if (version > newest) {
        refuse("the tables have schema version " + std::to_string(version) +
               ", this Leasehold knows " + std::to_string(newest) + "; use a newer Leasehold");
    }
    for (auto step = static_cast<std::size_t>(version); step < steps.size(); ++step) {
        for (const char* statement : steps[step]) (void)link.run(statement);
        (void)link.run("update leasehold set value = " + std::to_string(step + 1) +
                       " where name = 'schema'");
    }
}

}  // namespace leasehold::mariadb
