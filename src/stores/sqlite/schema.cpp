#include "stores/sqlite/schema.hpp"

#include <array>
#include <string>

#include "stores/sqlite/database.hpp"

namespace leasehold::sqlite {
namespace {

// Step i brings version i to i + 1. Times are microseconds since 1970. A step that was released is
// never changed.
constexpr std::array steps{
    R"sql(
create table leasehold (name text primary key, value integer not null) without rowid;
insert into leasehold values ('schema', 1), ('time_floor', 0);

create table locks (
    type            text not null,
    id              text not null,
    lockid          text not null,
    expiration_time integer not null
        check (typeof(expiration_time) = 'integer' and expiration_time >= 1000000000000000),
    owner           text not null default '',
    mode            integer not null default 0,
    fence           integer not null
        default (cast((julianday('now') - 2440587.5) * 86400000000 as integer)),
    granted_at      integer not null
        default (cast((julianday('now') - 2440587.5) * 86400000000 as integer)),
    touched_at      integer not null default 0,
    note            text not null default '',
    ended           integer not null default 0,
    ended_at        integer not null default 0,
    ended_by        text not null default '',
    ended_why       text not null default '',
    past            integer not null default 0, -- the key's latest row in lock_history
    primary key (type, id)
);
create unique index locks_lockid on locks (lockid);
create index locks_owner on locks (owner) where owner <> '';

create table lock_shares (
    type            text not null,
    id              text not null,
    lockid          text not null,
    expiration_time integer not null,
    owner           text not null,
    fence           integer not null,
    granted_at      integer not null,
    note            text not null,
    primary key (type, id, lockid)
) without rowid;
create unique index lock_shares_lockid on lock_shares (lockid);
create index lock_shares_owner on lock_shares (owner) where owner <> '';

create table lock_history (
    seq             integer primary key,
    type            text not null,
    id              text not null,
    lockid          text not null,
    owner           text not null,
    mode            integer not null,
    fence           integer not null,
    granted_at      integer not null,
    expiration_time integer not null,
    ended           integer not null,
    ended_at        integer not null,
    ended_by        text not null,
    ended_why       text not null,
    note            text not null,
    past            integer not null default 0 -- the key's row before this one
);
create index lock_history_lockid on lock_history (lockid);
)sql"};

bool has_table(::sqlite3* db, std::string_view name) {
    Statement query{db, "select 1 from sqlite_schema where type = 'table' and name = ?1"};
    return query.bind(1, name).step();
}

std::int64_t version_of(::sqlite3* db) {
    if (!has_table(db, "leasehold")) {
        if (has_table(db, "locks")) {
            throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::configuration,
                             "sqlite: the file has a table `locks` that Leasehold did not make; "
                             "rename it, or give Leasehold a file of its own"};
        }
        return 0;
    }
    Statement query{db, "select value from leasehold where name = 'schema'"};
    return query.step() ? query.integer(0) : 0;
}

}  // namespace

void migrate(::sqlite3* db) {
    // Both looks in one snapshot: another process may just be making the tables.
    execute(db, "begin");
    const bool current = version_of(db) == static_cast<std::int64_t>(steps.size());
    execute(db, "commit");
    if (current) return;
    execute(db, "begin immediate");
    try {
        const auto version = version_of(db);
        if (version > static_cast<std::int64_t>(steps.size())) {
            throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::configuration,
                             "sqlite: the tables have schema version " + std::to_string(version) +
                                 ", this Leasehold knows " + std::to_string(steps.size()) +
                                 "; use a newer Leasehold"};
        }
        for (auto step = static_cast<std::size_t>(version); step < steps.size(); ++step) {
            execute(db, steps[step]);
        }
        execute(db, ("update leasehold set value = " + std::to_string(steps.size()) +
                     " where name = 'schema'")
                        .c_str());
        execute(db, "commit");
    } catch (...) {
        execute(db, "rollback");
        throw;
    }
}

}  // namespace leasehold::sqlite
