#include "stores/postgres/schema.hpp"

#include <libpq-fe.h>
#include <poll.h>

#include <utility>

#include "core/pattern_zones.hpp"
#include "core/sql_text.hpp"
#include "stores/postgres/adoption.hpp"

namespace leasehold::postgres {
namespace {

// The pattern's own table comes first, so that one that exists already is taken over.
constexpr const char* first_step = R"sql(
create table if not exists locks (
    type            text,
    id              text,
    lockid          text,
    expiration_time timestamptz,
    primary key (type, id)
);
alter table locks
    alter column type type text collate "C",
    alter column id type text collate "C",
    alter column lockid type text collate "C",
    alter column lockid set not null,
    alter column expiration_time type timestamptz,
    alter column expiration_time set not null,
    add column owner      text collate "C" not null default '',
    add column mode       smallint not null default 0,
    add column fence      bigint not null default (extract(epoch from clock_timestamp()) * 1000000)::bigint,
    add column granted_at timestamptz not null default clock_timestamp(),
    add column touched_at timestamptz not null default 'epoch',
    add column note       text not null default '',
    add column ended      smallint not null default 0,
    add column ended_at   timestamptz not null default '-infinity',
    add column ended_by   text not null default '',
    add column ended_why  text not null default '',
    set (fillfactor = 50);
-- Nobody takes a lock that is over already, see warn_of_other_zones.
update locks set granted_at = least(granted_at, expiration_time);
create unique index if not exists locks_lockid on locks (lockid);
create index locks_owner on locks (owner) where owner <> '';

create table lock_shares (
    type            text collate "C" not null,
    id              text collate "C" not null,
    lockid          text collate "C" not null,
    expiration_time timestamptz not null,
    owner           text collate "C" not null,
    fence           bigint not null,
    granted_at      timestamptz not null,
    note            text not null,
    primary key (type, id, lockid)
);
create unique index lock_shares_lockid on lock_shares (lockid);
create index lock_shares_owner on lock_shares (owner) where owner <> '';

create table lock_history (
    seq             bigint generated always as identity primary key,
    type            text collate "C" not null,
    id              text collate "C" not null,
    lockid          text collate "C" not null,
    owner           text collate "C" not null,
    mode            smallint not null,
    fence           bigint not null,
    granted_at      timestamptz not null,
    expiration_time timestamptz not null,
    ended           smallint not null,
    ended_at        timestamptz not null,
    ended_by        text not null,
    ended_why       text not null,
    note            text not null
);
create index lock_history_lockid on lock_history (lockid);
create index lock_history_key on lock_history (type, id, seq);

create table leasehold (schema integer not null, time_floor timestamptz not null);
insert into leasehold values (1, 'epoch');
)sql";

class Migration final : public SchemaMigration {
public:
    Migration(Conversation& talk, const SchemaSteps& steps, const StoreOptions& options)
        : talk_{talk}, steps_{steps}, options_{options} {}

    std::size_t version() override {
        if (!talk_.value_of("select to_regclass('leasehold')")) return 0;
        return std::stoul(talk_.value_of("select schema from leasehold").value_or("0"));
    }
    void lock() override {
        // Locked before the transaction begins, so that it sees what another process has just made.
        talk_.execute("select pg_advisory_lock(hashtext('leasehold schema'))");
        talk_.execute("begin");
    }
    void step(std::size_t version) override {
        if (version == 0) {
            adopt_the_patterns_table(talk_, options_);
        } else {
            // Waits for the transactions of processes of the old version.
            talk_.execute(
                "lock table leasehold, locks, lock_shares, lock_history in access exclusive mode");
        }
        for (const std::string& statement : steps_[version]) talk_.execute(statement);
        talk_.execute("update leasehold set schema = " + std::to_string(version + 1));
    }
    void unlock() override {
        talk_.execute("commit");
        talk_.execute("select pg_advisory_unlock(hashtext('leasehold schema'))");
    }
    // The connection is closed, which undoes and unlocks everything.
    void abandon() noexcept override {}

private:
    Conversation& talk_;
    const SchemaSteps& steps_;
    const StoreOptions& options_;
};

}  // namespace

void refuse(const std::string& why) {
    throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::configuration,
                     "postgres: " + why};
}

void Conversation::Clear::operator()(::pg_result* result) const noexcept {
    PQclear(result);
}

void Conversation::wait(SteadyClock::time_point deadline) {
    const auto lost = [](const std::string& why) {
        return StoreFault{StoreFault::Effect::none, StoreFault::Cause::unavailable,
                          "postgres: " + why};
    };
    while (PQisBusy(connection_) != 0) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now());
        pollfd socket{PQsocket(connection_), POLLIN, 0};
        if (left.count() <= 0 || poll(&socket, 1, static_cast<int>(left.count())) == 0) {
            throw lost("no answer in time from a new connection");
        }
        if (PQconsumeInput(connection_) == 0) throw lost(PQerrorMessage(connection_));
    }
}

Conversation::Answer Conversation::ask(const std::string& sql) {
    const auto deadline = SteadyClock::now() + timeout_;
    Answer answer;
    const bool sent = PQsendQuery(connection_, sql.c_str()) != 0;
    while (sent) {
        wait(deadline);
        Answer next{PQgetResult(connection_)};
        if (!next) break;
        // Of several statements, the first error counts, otherwise the last answer.
        if (!answer || PQresultStatus(answer.get()) != PGRES_FATAL_ERROR) answer = std::move(next);
    }
    if (PQstatus(connection_) != CONNECTION_OK || !answer) {
        throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::unavailable,
                         std::string{"postgres: "} + PQerrorMessage(connection_)};
    }
    if (const char* state = PQresultErrorField(answer.get(), PG_DIAG_SQLSTATE);
        state != nullptr && state == std::string_view{"55P03"}) {  // lock_timeout
        throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::unavailable,
                         "postgres: another transaction is using the table; try again when it has "
                         "ended"};
    }
    if (PQresultStatus(answer.get()) == PGRES_FATAL_ERROR)
        refuse(PQresultErrorMessage(answer.get()));
    return answer;
}

void Conversation::execute(const std::string& sql) {
    (void)ask(sql);
}

std::optional<std::string> Conversation::value_of(const std::string& sql) {
    const Answer answer = ask(sql);
    if (PQntuples(answer.get()) == 0 || PQgetisnull(answer.get(), 0, 0) != 0) return std::nullopt;
    return PQgetvalue(answer.get(), 0, 0);
}

std::vector<std::vector<std::string>> Conversation::rows_of(const std::string& sql) {
    const Answer answer = ask(sql);
    std::vector<std::vector<std::string>> rows;
    for (int row = 0; row < PQntuples(answer.get()); ++row) {
        std::vector<std::string>& fields = rows.emplace_back();
        for (int field = 0; field < PQnfields(answer.get()); ++field) {
            fields.emplace_back(PQgetvalue(answer.get(), row, field));
        }
    }
    return rows;
}

const SchemaSteps& schema_steps() {
    static const SchemaSteps steps = steps_from({first_step}, column_types);
    return steps;
}

void migrate(Conversation& talk, const SchemaSteps& steps, const StoreOptions& options) {
    Migration migration{talk, steps, options};
    leasehold::migrate("postgres", steps.size(), migration);
}

StoreStatus read_status(Conversation& talk) {
    const auto setting = [&](const std::string& name) {
        return talk.value_of("show " + name).value_or("");
    };
    constexpr int oldest_server = 140000;
    if (PQserverVersion(talk.connection()) < oldest_server) {
        refuse("the server is version " + setting("server_version") + "; 14 or later is needed");
    }
    if (const auto encoding = setting("server_encoding"); encoding != "UTF8") {
        refuse("the database has encoding " + encoding + "; keys need UTF8");
    }
    StoreStatus status{.name = "postgres " + setting("server_version"),
                       .durability = Durability::strong};
    const auto expect_on = [&](const char* name, const char* danger) {
        if (setting(name) != "off") return;
        status.durability = Durability::weak;
        status.warnings.push_back(std::string{name} + " is off: " + danger);
    };
    expect_on("fsync", "a power cut loses or corrupts everything");
    expect_on("full_page_writes", "a power cut can corrupt pages");
    expect_on("synchronous_commit", "a crash of the server loses the latest grants");
    const auto commit = setting("synchronous_commit");
    if (!setting("synchronous_standby_names").empty() && (commit == "local" || commit == "off")) {
        status.durability = Durability::weak;
        status.warnings.push_back("synchronous_commit is " + commit +
                                  ": a promoted standby lacks the latest grants");
    }
    return status;
}

void warn_of_other_zones(Conversation& talk, StoreStatus& status) {
    const auto first_where = [&](std::string_view condition) {
        return talk.rows_of(sql_text(
            "select type, id, case when isfinite(expiration_time) then floor(extract(epoch from "
            "expiration_time - clock_timestamp()) / 60)::bigint end from (select type, id, owner, "
            "mode, ended, expiration_time, "
            "granted_at, touched_at from locks order by type, id limit 1000) l where owner = '' "
            "and mode = {exclusive} and ended = {not_ended} and {condition} limit 1",
            {{"condition", std::string{condition}}}));
    };
    const auto lock = [](const std::vector<std::string>& row) {
        return "the lock " + row[0] + '/' + row[1] + " of another program ";
    };
    if (const auto west = first_where("expiration_time < granted_at"); !west.empty()) {
        status.warnings.push_back(
            lock(west.front()) +
            "was over when it was taken: that program writes times without a zone, and means a "
            "zone west of its session's, so nobody respects its locks; see "
            "docs/decisions/pattern-programs.md");
    }
    // Of another program's lock no time is known at which Leasehold wrote it.
    const std::string longer = std::to_string(longest_usual_lock.count());
    if (const auto east = first_where(
            "touched_at = 'epoch' and expiration_time < 'infinity' and expiration_time > "
            "clock_timestamp() + interval '" +
            longer + " minutes'");
        !east.empty()) {
        status.warnings.push_back(lock(east.front()) + says_of_the_east(std::chrono::minutes{
                                                           std::stoll(east.front()[2])}));
    }
}

}  // namespace leasehold::postgres
