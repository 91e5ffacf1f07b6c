#include "stores/sqlite/schema.hpp"

#include <string>
#include <string_view>

#include "stores/sqlite/database.hpp"

namespace leasehold::sqlite {
namespace {

// Times are microseconds since 1970.
constexpr const char* first_step = R"sql(
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
)sql";

bool has_table(::sqlite3* db, std::string_view name) {
    Statement query{db, "select 1 from sqlite_schema where type = 'table' and name = ?1"};
    return query.bind(1, name).step();
}

class Migration final : public SchemaMigration {
public:
    Migration(::sqlite3* db, const SchemaSteps& steps) : db_{db}, steps_{steps} {}

    std::size_t version() override {
        // Both reads see one state of the file: another process may just be making the tables.
        if (!locked_) execute(db_, "begin");
        const std::size_t version = read_version();
        if (!locked_) execute(db_, "commit");
        return version;
    }
    void lock() override {
        execute(db_, "begin immediate");
        locked_ = true;
    }
    void step(std::size_t version) override {
        for (const std::string& statement : steps_[version]) execute(db_, statement.c_str());
        execute(db_, ("update leasehold set value = " + std::to_string(version + 1) +
                      " where name = 'schema'")
                         .c_str());
    }
    void unlock() override { execute(db_, "commit"); }
    void abandon() noexcept override {
        try {
            execute(db_, "rollback");
        } catch (const StoreFault&) {
            // SQLite has rolled back by itself.
        }
    }

private:
    [[nodiscard]] std::size_t read_version() {
        if (has_table(db_, "leasehold")) {
            Statement query{db_, "select value from leasehold where name = 'schema'"};
            return query.step() ? static_cast<std::size_t>(query.integer(0)) : 0;
        }
        if (!has_table(db_, "locks")) return 0;
        throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::configuration,
                         "sqlite: the file has a table `locks` that Leasehold did not make; "
                         "rename it, or give Leasehold a file of its own"};
    }

    ::sqlite3* db_;
    const SchemaSteps& steps_;
    bool locked_ = false;
};

}  // namespace

const SchemaSteps& schema_steps() {
    static const SchemaSteps steps = steps_from({first_step}, column_types);
    return steps;
}

void migrate(::sqlite3* db, const SchemaSteps& steps) {
    Migration migration{db, steps};
    leasehold::migrate("sqlite", steps.size(), migration);
}

}  // namespace leasehold::sqlite
