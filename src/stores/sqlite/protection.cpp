#include <leasehold/stores/sqlite.hpp>

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/key_template.hpp"
#include "core/protection_warnings.hpp"
#include "core/sql_text.hpp"
#include "core/text.hpp"
#include "stores/sqlite/database.hpp"

namespace leasehold::sqlite {
namespace {

using Unleased = ProtectedTable::Unleased;

constexpr std::string_view protection_schema = R"sql(
create table if not exists lock_protected (
    table_name   text primary key,
    key_template text not null,
    required     integer not null
) without rowid;
create table if not exists lock_presented (lockid text primary key) without rowid;
insert into leasehold values ('protected', 1) on conflict (name) do nothing;
drop view if exists lock_refusals;
)sql";

// lock_refusals: why a write to a row with this key is refused. No row if it is not: the key is
// free, or this transaction has presented its live lease. One search in `locks`.
constexpr std::string_view refusals_view = R"sql(CREATE VIEW lock_refusals as
select type, id, case
    when exists (select 1 from lock_presented p where p.lockid = locks.lockid) then
        'the lease of ' || type || '/' || id || ' that this transaction presented has ' ||
        case when ended in ({endings}) then 'ended' else 'expired' end
    when mode = {shared} then
        (select locks.type || '/' || locks.id || ' is shared by ' ||
                case when s.owner = '' then 'somebody' else s.owner end ||
                case when count(*) over () > 1 then ' and ' || (count(*) over () - 1) || ' more' else '' end ||
                case when s.expiration_time = {never} then ' until it is released'
                     else strftime(' until %Y-%m-%d %H:%M:%S UTC', s.expiration_time / 1000000, 'unixepoch') end
         from lock_shares s
         where s.type = locks.type and s.id = locks.id and s.expiration_time > {now}
         order by s.fence limit 1)
    else type || '/' || id || ' is held by ' || case when owner = '' then 'somebody' else owner end ||
         case when expiration_time = {never} then ' until it is released'
              else strftime(' until %Y-%m-%d %H:%M:%S UTC', expiration_time / 1000000, 'unixepoch') end
    end as sentence
from locks
where case
    when exists (select 1 from lock_presented p where p.lockid = locks.lockid) then
        ended in ({endings}) or expiration_time <= max({now}, touched_at,
            (select value from leasehold where name = 'time_floor'))
    when ended in ({endings}) then false
    when mode = {shared} then exists (
        select 1 from lock_shares s
        where s.type = locks.type and s.id = locks.id and s.expiration_time > {now})
    else expiration_time > {now} end)sql";

constexpr std::string_view now_in_sql =
    "cast((julianday('now') - 2440587.5) * 86400000000 as integer)";

// The trigger after one kind of write. SQLite's RAISE takes no text that is put together; the error
// of json_extract() does, and quotes it.
constexpr std::string_view trigger_sql =
    R"sql(CREATE TRIGGER {name} AFTER {event} ON {table} FOR EACH ROW WHEN {refused}
BEGIN
{explain}    SELECT RAISE(ABORT, 'leasehold: this row is leased');
END)sql";

// For each key of the row. {required} is 1 or 0.
constexpr std::string_view explain_sql =
    R"sql(    SELECT json_extract('{}', 'leasehold: ' || sentence) FROM lock_refusals
        WHERE type = {type} AND id = {id};
    SELECT json_extract('{}', 'leasehold: ' || coalesce('a write to ' || {type} || '/' || {id} ||
        ' needs a lease, and this transaction has presented none',
        'this row needs a lease, and a column of its key is null')) WHERE {unadmitted};
)sql";

// Whether a write is refused under the key {type}, {id}, and under a key that an update brings.
constexpr std::string_view first_key_sql =
    "exists (SELECT 1 FROM lock_refusals WHERE type = {type} AND id = {id}) OR {unadmitted}";
constexpr std::string_view changed_key_sql =
    "(({type}, {id}) IS NOT ({old_type}, {old_id}) AND (exists (SELECT 1 FROM lock_refusals WHERE "
    "type = {type} AND id = {id}) OR {unadmitted}))";
// If every write needs a lease: whether none was presented.
constexpr std::string_view unadmitted_sql =
    "not exists (SELECT 1 FROM lock_presented p JOIN locks l ON l.lockid = p.lockid WHERE l.type = "
    "{type} AND l.id = {id})";

struct Event {
    const char* name;
    std::vector<const char*> rows;
};
const std::array events{Event{"INSERT", {"new"}}, Event{"UPDATE", {"old", "new"}},
                        Event{"DELETE", {"old"}}};

std::string quoted(std::string_view text, char quote) {
    std::string out(1, quote);
    for (const char c : text) out.append(c == quote ? 2 : 1, c);
    return out + quote;
}
std::string identifier(std::string_view name) {
    return quoted(name, '"');
}
std::string literal(std::string_view text) {
    return quoted(text, '\'');
}

// The beginning of the names of the triggers for this kind of write.
std::string trigger_prefix(const Event& event) {
    return "leasehold_protect_" + lower(event.name) + ' ';
}

class SqliteProtection final : public TableProtection {
public:
    explicit SqliteProtection(const std::string& path, const StoreOptions& options) {
        (void)sqlite::open(path, options);  // makes or migrates the store's tables
        db_ = open_database(path);
        sqlite3_busy_timeout(
            db_.get(),
            static_cast<int>(
                std::chrono::ceil<std::chrono::milliseconds>(options.io_timeout).count()));
        execute(db_.get(), "pragma synchronous = full");
        execute(db_.get(), "pragma cache_spill = off");  // as GatheredLog demands
    }

    std::vector<std::string> protect(const ProtectedTable& wanted) override {
        const auto key = KeyTemplate::parse(wanted.key);
        if (!key) throw BadRequest{key.error()};
        std::vector<std::string> warnings;
        in_transaction([&] {
            const std::string table = require_table(wanted.name);
            const KeyTemplate spelled = require_columns(table, *key);
            execute(db_.get(), std::string{protection_schema}.c_str());
            execute(db_.get(), view_sql().c_str());
            drop_triggers(table);
            for (const Event& event : events) {
                execute(db_.get(),
                        trigger(free_name(event, table), event, table, spelled, wanted.unleased)
                            .c_str());
            }
            Statement{db_.get(), "insert or replace into lock_protected values (?1, ?2, ?3)"}
                .bind(1, table)
                .bind(2, spelled.text())
                .bind(3, wanted.unleased == Unleased::refused ? 1 : 0)
                .run();
            warnings = warnings_about(table, spelled);
        });
        return warnings;
    }

    bool unprotect(const std::string& name) override {
        bool was_protected = false;
        in_transaction([&] {
            for (const ProtectedTable& table : tables()) {
                if (lower(table.name) != lower(name)) continue;
                if (find_table(table.name)) {
                    drop_triggers(table.name);
                } else {
                    drop_triggers_of_renamed(table.name);
                }
                Statement{db_.get(), "delete from lock_protected where table_name = ?1"}
                    .bind(1, table.name)
                    .run();
                was_protected = true;
            }
        });
        return was_protected;
    }

    std::vector<ProtectedTable> tables() override {
        std::vector<ProtectedTable> all;
        if (!text_of("select 1 from sqlite_schema where name = 'lock_protected' and ?1 = ''", "")) {
            return all;
        }
        Statement rows{db_.get(),
                       "select table_name, key_template, required from lock_protected order by 1"};
        while (rows.step()) {
            all.push_back(
                {.name = rows.text(0),
                 .key = rows.text(1),
                 .unleased = rows.integer(2) != 0 ? Unleased::refused : Unleased::writable});
        }
        return all;
    }

    std::vector<ProtectionProblem> problems() override {
        std::vector<ProtectionProblem> found;
        const std::string again = "run leasehold protect for this table again";
        for (const ProtectedTable& table : tables()) {
            const auto add = [&](std::string text, std::string advice) {
                found.push_back({table.name, std::move(text), std::move(advice)});
            };
            if (!find_table(table.name)) {
                add("the table is not there: it was dropped or renamed",
                    "run leasehold unprotect for this name, and protect the table by its new name");
                continue;
            }
            const auto key = KeyTemplate::parse(table.key);
            try {
                (void)require_columns(table.name, *key);
            } catch (const BadRequest& changed) {
                add(std::string{"the table has changed: "} + changed.what(),
                    "run leasehold protect with a key that fits the table");
                continue;
            }
            for (const Event& event : events) {
                const std::vector<std::string> names = triggers_on(table.name, event);
                if (names.empty()) {
                    add("the trigger " + trigger_prefix(event) + table.name + " is missing", again);
                    continue;
                }
                const std::string& name = names.front();
                if (text_of("select sql from sqlite_schema where type = 'trigger' and name = ?1",
                            name) != trigger(name, event, table.name, *key, table.unleased)) {
                    add("the trigger " + name + " is not the one that this version installs",
                        again);
                }
            }
        }
        if (const auto all = tables(); !all.empty()) examine_shared(all.front().name, again, found);
        return found;
    }

    std::vector<ProtectionProblem> warnings() override {
        return repeated_warnings(
            tables(), [this](const ProtectedTable& table, const KeyTemplate& key) {
                return warnings_about(require_table(table.name), require_columns(table.name, key));
            });
    }

private:
    static std::string view_sql() {
        return sql_text(
            refusals_view,
            {{"now", now_in_sql}, {"never", std::to_string(never.time_since_epoch().count())}});
    }

    // What all triggers need.
    void examine_shared(const std::string& table, const std::string& again,
                        std::vector<ProtectionProblem>& found) {
        for (const std::string needed : {"lock_presented", "lock_refusals"}) {
            if (text_of("select 1 from sqlite_schema where name = ?1", needed)) continue;
            found.push_back({table, "'" + needed + "' is missing: every write is refused", again});
            return;
        }
        if (text_of("select sql from sqlite_schema where name = ?1", "lock_refusals") !=
            view_sql()) {
            found.push_back(
                {table, "the view lock_refusals is not the one that this version installs", again});
        }
        if (text_of("select 1 from lock_presented where ?1 = '' limit 1", "")) {
            found.push_back({table,
                             "the table lock_presented has rows: their leases count as presented "
                             "by everybody",
                             "run delete from lock_presented, and find out who wrote to it"});
        }
    }

    template <class Work>
    void in_transaction(Work work) {
        execute(db_.get(), "begin immediate");
        try {
            work();
            execute(db_.get(), "commit");
        } catch (...) {
            sqlite3_exec(db_.get(), "rollback", nullptr, nullptr, nullptr);
            throw;
        }
    }

    [[nodiscard]] std::optional<std::string> text_of(const char* sql, const std::string& value) {
        Statement query{db_.get(), sql};
        if (!query.bind(1, value).step()) return std::nullopt;
        return query.text(0);
    }

    // The name as the file spells it.
    [[nodiscard]] std::optional<std::string> find_table(const std::string& name) {
        return text_of(
            "select name from sqlite_schema where type in ('table', 'view') and lower(name) = "
            "lower(?1)",
            name);
    }

    [[nodiscard]] std::string require_table(const std::string& wanted) {
        const auto name = find_table(wanted);
        if (!name) throw BadRequest{"there is no table '" + wanted + "' in this database"};
        const auto sql =
            text_of("select coalesce(sql, '') from sqlite_schema where name = ?1", *name);
        if (text_of("select 1 from sqlite_schema where type = 'view' and name = ?1", *name) ||
            lower(*sql).starts_with("create virtual")) {
            throw BadRequest{"'" + *name + "' is not a table; protect the table it shows"};
        }
        constexpr std::array<std::string_view, 6> ours{"leasehold",      "lock_history",
                                                       "lock_presented", "lock_protected",
                                                       "lock_shares",    "locks"};
        if (std::ranges::find(ours, *name) != ours.end()) {
            throw BadRequest{"'" + *name + "' is Leasehold's own table"};
        }
        if (name->starts_with("sqlite_")) throw BadRequest{"'" + *name + "' is SQLite's own table"};
        return *name;
    }

    // The key with the columns' names as the file spells them.
    [[nodiscard]] KeyTemplate require_columns(const std::string& table, const KeyTemplate& key) {
        std::vector<std::string> columns;
        Statement query{db_.get(), "select name from pragma_table_xinfo(?1)"};
        query.bind(1, table);
        while (query.step()) columns.push_back(query.text(0));
        return key.with_columns([&](const std::string& name) {
            for (const std::string& column : columns) {
                if (lower(column) == lower(name)) return column;
            }
            std::string known;
            for (const std::string& column : columns) known += (known.empty() ? "" : ", ") + column;
            throw BadRequest{"the table '" + table + "' has no column '" + name + "'; it has " +
                             known};
        });
    }

    // A row that INSERT OR REPLACE or UPDATE OR REPLACE deletes has the values of the new row in
    // some unique columns. If these do not determine its key, its key may be another one than that
    // of the new row.
    [[nodiscard]] std::vector<std::string> warnings_about(const std::string& table,
                                                          const KeyTemplate& key) {
        const auto determine_the_key = [&](const std::vector<std::string>& unique) {
            return std::ranges::all_of(key.columns(), [&](const std::string& column) {
                return std::ranges::find(unique, column) != unique.end();
            });
        };
        for (const std::vector<std::string>& unique : unique_columns(table)) {
            if (determine_the_key(unique)) continue;
            std::string names;
            for (const std::string& name : unique) names += (names.empty() ? "" : ", ") + name;
            return {
                "INSERT OR REPLACE and UPDATE OR REPLACE can delete a leased row that has the "
                "same (" +
                names + ") and another key, unless the writer sets PRAGMA recursive_triggers = on"};
        }
        return {};
    }

    // The columns of the primary key, and those of each unique index.
    [[nodiscard]] std::vector<std::vector<std::string>> unique_columns(const std::string& table) {
        const auto names_of = [&](const char* sql, const std::string& of) {
            std::vector<std::string> names;
            Statement query{db_.get(), sql};
            query.bind(1, of);
            while (query.step()) names.push_back(query.text(0));
            return names;
        };
        std::vector<std::vector<std::string>> all;
        if (auto primary = names_of("select name from pragma_table_info(?1) where pk > 0", table);
            !primary.empty()) {
            all.push_back(std::move(primary));
        }
        for (const std::string& index :
             names_of("select name from pragma_index_list(?1) where \"unique\" and origin <> 'pk'",
                      table)) {
            all.push_back(names_of("select name from pragma_index_info(?1)", index));
        }
        return all;
    }

    // A table that was renamed keeps its triggers, and their names.
    [[nodiscard]] std::vector<std::string> triggers_on(const std::string& table,
                                                       const Event& event) {
        const std::string prefix = trigger_prefix(event);
        std::vector<std::string> names;
        Statement query{db_.get(),
                        "select name from sqlite_schema where type = 'trigger' and "
                        "lower(tbl_name) = lower(?1) and substr(name, 1, length(?2)) = ?2"};
        query.bind(1, table).bind(2, prefix);
        while (query.step()) names.push_back(query.text(0));
        return names;
    }
    // Another name if the triggers of a renamed table have the first one.
    [[nodiscard]] std::string free_name(const Event& event, const std::string& table) {
        const std::string first = trigger_prefix(event) + table;
        std::string name = first;
        for (int number = 2;
             text_of("select 1 from sqlite_schema where lower(name) = lower(?1)", name); ++number) {
            name = first + ' ' + std::to_string(number);
        }
        return name;
    }
    void drop_trigger(const std::string& name) {
        execute(db_.get(), ("drop trigger if exists " + identifier(name)).c_str());
    }
    void drop_triggers(const std::string& table) {
        for (const Event& event : events) {
            for (const std::string& name : triggers_on(table, event)) drop_trigger(name);
        }
    }
    void drop_triggers_of_renamed(const std::string& former_name) {
        for (const Event& event : events) drop_trigger(trigger_prefix(event) + former_name);
    }

    static std::string trigger(const std::string& name, const Event& event,
                               const std::string& table, const KeyTemplate& key,
                               Unleased unleased) {
        // The concatenation strips a column's collation: keys are bytes.
        const auto expression = [](const KeyTemplate::Parts& parts, const std::string& row) {
            return "('' || " +
                   sql_expression(parts, " || ", literal,
                                  [&](const std::string& column) {
                                      return "cast(" + row + '.' + identifier(column) + " as text)";
                                  }) +
                   ")";
        };
        std::string refused;
        std::string explain;
        std::string type, id;
        for (const char* row : event.rows) {
            const std::string old_type = std::exchange(type, expression(key.type(), row));
            const std::string old_id = std::exchange(id, expression(key.id(), row));
            const std::string unadmitted =
                unleased == Unleased::refused
                    ? sql_text(unadmitted_sql, {{"type", type}, {"id", id}})
                    : "false";
            std::string_view pattern = first_key_sql;
            if (!refused.empty()) {
                pattern = changed_key_sql;
                refused += "\n    OR ";
            }
            refused += sql_text(pattern, {{"type", type},
                                          {"id", id},
                                          {"old_type", old_type},
                                          {"old_id", old_id},
                                          {"unadmitted", unadmitted}});
            explain += sql_text(
                explain_sql, {{"", "{}"}, {"type", type}, {"id", id}, {"unadmitted", unadmitted}});
        }
        return sql_text(trigger_sql, {{"name", identifier(name)},
                                      {"event", event.name},
                                      {"table", identifier(table)},
                                      {"refused", refused},
                                      {"explain", explain}});
    }

    Database db_;
};

}  // namespace

std::unique_ptr<TableProtection> open_protection(const std::string& path,
                                                 const StoreOptions& options) {
    return std::make_unique<SqliteProtection>(path, options);
}

}  // namespace leasehold::sqlite
