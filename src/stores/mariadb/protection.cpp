#include <leasehold/stores/mariadb.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "core/key_template.hpp"
#include "core/sql_text.hpp"
#include "core/text.hpp"
#include "stores/mariadb/connection.hpp"
#include "stores/mariadb/dates.hpp"
#include "stores/mariadb/dialect.hpp"
#include "stores/mariadb/protection.hpp"
#include "stores/mariadb/protection_routines.hpp"
#include "stores/mariadb/rows.hpp"
#include "stores/mariadb/schema.hpp"

namespace leasehold::mariadb {
namespace {

using Unleased = ProtectedTable::Unleased;

constexpr const char* protect_again = "run leasehold protect for this table again";

struct Routine {
    const char* name;
    const char* kind;
    std::string_view sql;
};

// The types whose text does not depend on the settings of a session.
constexpr std::array<std::string_view, 18> plain_types{
    "tinyint", "smallint",  "mediumint", "int",  "bigint",     "decimal",
    "char",    "varchar",   "tinytext",  "text", "mediumtext", "longtext",
    "binary",  "varbinary", "enum",      "uuid", "tinyblob",   "blob"};

struct Event {
    const char* name;
    bool has_old;
    bool has_new;
};
constexpr std::array events{Event{"insert", false, true}, Event{"update", true, true},
                            Event{"delete", true, false}};

struct TableColumn {
    std::string name, type;
    bool nullable = false;
};

std::string identifier(std::string_view name) {
    std::string out = "`";
    for (const char c : name) out.append(c == '`' ? 2 : 1, c);
    return out + '`';
}

class MariadbProtection final : public TableProtection {
public:
    MariadbProtection(const Dialect& dialect, const Login& login, const StoreOptions& options)
        : dialect_{dialect},
          words_{is_mysql() ? sql::mysql_words : sql::mariadb_words},
          // In the order in which they are made.
          routines_{{{"leasehold_transaction", "function", words_.transaction_function},
                     {"leasehold_clock", "function", words_.clock_function},
                     {"leasehold_presented", "function", sql::presented_function},
                     {"leasehold_sentence", "function", sql::sentence_function},
                     {"leasehold_sharers", "function", sql::sharers_function},
                     {"leasehold_judge", "procedure", sql::judge_procedure},
                     {"leasehold_share", "procedure", sql::share_procedure},
                     {"leasehold_lock", "procedure", sql::lock_procedure},
                     {"leasehold_admit", "procedure", sql::admit_procedure},
                     {"leasehold_guard", "function", sql::guard_function}}},
          link_{dialect, login, options.io_timeout} {
        link_.connect();
        migrate(link_, schema_steps(dialect), options);
        // Tables and triggers are made under locks that other sessions and the server's own threads
        // may have for a moment.
        link_.run("set names utf8mb4");
        link_.run("set innodb_lock_wait_timeout = 50");
        auto zone = ask("select " + std::string{callers_zone});
        zone.next();
        zone_ = '(' + std::string{zone.text(0)} + ')';
    }

    std::vector<std::string> protect(const ProtectedTable& wanted) override {
        const auto key = KeyTemplate::parse(wanted.key);
        if (!key) throw BadRequest{key.error()};
        if (const std::string unfit = unfitness(); !unfit.empty()) refuse(dialect_, unfit);
        const std::string table = require_table(wanted.name);
        const KeyTemplate spelled = require_columns(table, *key);
        install_routines();
        // The table is listed before it has triggers, so that unprotect() finds what a protect()
        // that was interrupted has made; and guard() presents leases before anybody demands it.
        link_.run("replace into lock_protected values (" + literal(table) + ", " +
                  literal(spelled.text()) + ", " +
                  (wanted.unleased == Unleased::refused ? "1" : "0") + ")");
        link_.run("insert ignore into leasehold values ('protected', 1)");
        for (const Event& event : events) {
            // The new trigger works before the old one goes.
            const Trigger trigger = trigger_of(event, table, spelled, wanted.unleased);
            if (!has_trigger(trigger)) {
                link_.run("drop trigger if exists " + trigger.name);
                link_.run("create trigger " + trigger.name + " after " + event.name + " on " +
                          identifier(table) + " for each row " + trigger.body);
            }
            drop_triggers(event, table, trigger.name);
        }
        return warnings_about(table, spelled);
    }

    bool unprotect(const std::string& name) override {
        for (const ProtectedTable& table : tables()) {
            if (table.name != name) continue;
            for (const Event& event : events) drop_triggers(event, table.name);
            link_.run("delete from lock_protected where table_name = " + literal(table.name));
            return true;
        }
        return false;
    }

    std::vector<ProtectedTable> tables() override {
        std::vector<ProtectedTable> all;
        if (!has("information_schema.tables where table_schema = database() and table_name = "
                 "'lock_protected'")) {
            return all;
        }
        auto rows = ask("select table_name, key_template, required from lock_protected order by 1");
        while (rows.next()) {
            all.push_back(
                {.name = std::string{rows.text(0)},
                 .key = std::string{rows.text(1)},
                 .unleased = rows.integer(2) != 0 ? Unleased::refused : Unleased::writable});
        }
        return all;
    }

    std::vector<ProtectionProblem> problems() override {
        std::vector<ProtectionProblem> found;
        const std::vector<ProtectedTable> all = tables();
        if (all.empty()) return found;
        name_views();
        std::string missing;
        for (const Routine& routine : routines_) {
            if (is_installed(routine)) continue;
            missing.append(missing.empty() ? "" : ", ").append(routine.name);
        }
        for (const sql::View& view : sql::views) {
            if (!is_needed(view) || is_installed(view)) continue;
            missing.append(missing.empty() ? "" : ", ").append("a view of ").append(view.table);
        }
        if (!missing.empty()) {
            found.push_back({all.front().name,
                             "routines or views are missing, or differ from the ones that this "
                             "version installs: " +
                                 missing,
                             protect_again});
        }
        if (std::string unfit = unfitness(); !unfit.empty()) {
            found.push_back({all.front().name, std::move(unfit), "change the server's settings"});
        }
        for (const ProtectedTable& table : all) examine(table, found);
        return found;
    }

private:
    [[nodiscard]] ResultSet ask(const std::string& query) {
        return std::move(link_.run(query).front());
    }
    [[nodiscard]] bool has(const std::string& from_where) {
        return ask("select 1 from " + from_where + " limit 1").next();
    }

    void examine(const ProtectedTable& table, std::vector<ProtectionProblem>& found) {
        const auto add = [&](std::string text, std::string advice) {
            found.push_back({table.name, std::move(text), std::move(advice)});
        };
        const auto key = KeyTemplate::parse(table.key);
        try {
            (void)require_table(table.name);
        } catch (const BadRequest&) {
            return add(
                "the table is not there: it was dropped or renamed",
                "run leasehold unprotect for this name, and protect the table by its new name");
        }
        try {
            (void)require_columns(table.name, *key);
        } catch (const BadRequest& changed) {
            return add(std::string{"the table has changed: "} + changed.what(),
                       "run leasehold protect with a key that fits the table");
        }
        for (const Event& event : events) {
            const Trigger trigger = trigger_of(event, table.name, *key, table.unleased);
            if (!has_trigger(trigger)) {
                add("the trigger " + trigger.name + " is missing or was changed", protect_again);
            }
        }
    }

    [[nodiscard]] bool is_mysql() const { return dialect_.product == Dialect::Product::mysql; }

    // Why this server cannot protect tables, or nothing.
    [[nodiscard]] std::string unfitness() {
        // A replica that repeats statements would run the triggers again, with the leases of
        // another moment.
        if (auto format = ask("show variables like 'binlog_format'");
            format.next() && format.text(1) == "STATEMENT") {
            return "binlog_format is STATEMENT; protected tables need ROW or MIXED";
        }
        if (!is_mysql()) return {};
        auto counted =
            ask("select count(*) from performance_schema.setup_consumers c, "
                "performance_schema.setup_instruments i where c.name = "
                "'events_transactions_current' and "
                "c.enabled = 'YES' and i.name = 'transaction' and i.enabled = 'YES' and i.timed = "
                "'YES'");
        if (counted.next() && counted.integer(0) != 0) return {};
        return "the performance schema does not count transactions, by which a protected table "
               "tells them apart; set performance_schema = ON, and leave the instrument "
               "'transaction' and the consumer 'events_transactions_current' on, as by default";
    }

    void install_routines() {
        link_.run(sql::protected_tables);
        link_.run(sql::presented_table);
        if (!is_mysql()) link_.run(sql::mariadb_transactions_table);
        link_.run(sql_text(sql::probe_row, {{"date_of_never", date_of_never}}));
        link_.run(sql_text(sql::set_secret, {{"secret", literal(LockId::random().to_string())}}));
        name_views();
        for (const sql::View& view : sql::views) {
            if (!is_needed(view) || is_installed(view)) continue;
            link_.run("create view " + view_names_.at(view.table) + " as select " +
                      std::string{view.columns} + " from " + std::string{view.table});
        }
        for (const Routine& routine : routines_) {
            // Writers use it: they would fail while it is being replaced.
            if (is_installed(routine)) continue;
            link_.run(std::string{"drop "} + routine.kind + " if exists " + routine.name);
            link_.run(text_of(routine, version_of(routine)));
        }
    }

    // The names that routines and triggers know the views by. Views with different texts have
    // different names.
    void name_views() {
        auto found = ask(std::string{sql::secret});
        const std::string secret = found.next() ? std::string{found.text(0)} : "";
        for (const sql::View& view : sql::views) {
            view_names_[view.table] = "leasehold_" + std::string{view.table} + '_' +
                                      hash_of(secret + std::string{view.columns});
        }
    }
    [[nodiscard]] bool is_installed(const sql::View& view) {
        return has("information_schema.views where table_schema = database() and table_name = " +
                   literal(view_names_.at(view.table)));
    }
    // MySQL needs no table to number its transactions.
    [[nodiscard]] bool is_needed(const sql::View& view) const {
        return view.table != "lock_transactions" || !is_mysql();
    }

    [[nodiscard]] std::string text_of(const Routine& routine, const std::string& version) const {
        const std::string never_micros = std::to_string(never.time_since_epoch().count());
        return sql_text(
            routine.sql,
            {{"version", version},
             {"locks", view_names_.at("locks")},
             {"lock_shares", view_names_.at("lock_shares")},
             {"lock_presented", view_names_.at("lock_presented")},
             {"lock_transactions", view_names_.at("lock_transactions")},
             {"leasehold", view_names_.at("leasehold")},
             {"waiting_briefly", words_.waiting_briefly},
             {"not_waiting", words_.not_waiting},
             {"for_share", words_.for_share},
             {"isolation", words_.isolation},
             {"fixed_snapshot", words_.fixed_snapshot},
             {"expires", micros_of("expiration_time", zone_)},
             {"look_for_unseen", sql_text(words_.look_for_unseen,
                                          {{"require_the_real_table", sql::require_the_real_table},
                                           {"date_of_now", date_of("leasehold_clock()", zone_)}})},
             {"never", never_micros},
             {"expired", sql_number<Gone::expired>},
             {"gone_sentences", sql_gone_sentences()}});
    }

    // A routine's comment has a hash of its text.
    [[nodiscard]] std::string version_of(const Routine& routine) {
        return "comment 'leasehold " + hash_of(text_of(routine, "")) + "'";
    }
    [[nodiscard]] bool is_installed(const Routine& routine) {
        return has(
            "information_schema.routines where routine_schema = database() and "
            "routine_name = " +
            literal(routine.name) + " and routine_comment = 'leasehold " +
            hash_of(text_of(routine, "")) + "'");
    }

    [[nodiscard]] std::string require_table(const std::string& wanted) {
        auto rows =
            ask("select table_name, table_type, engine from information_schema.tables where "
                "table_schema = database() and table_name = " +
                literal(wanted));
        if (!rows.next()) {
            throw BadRequest{"there is no table '" + wanted + "' in this database"};
        }
        const std::string name{rows.text(0)};
        if (rows.text(1) != "BASE TABLE" && rows.text(1) != "SYSTEM VERSIONED") {
            throw BadRequest{"'" + name + "' is not a table; protect the table it shows"};
        }
        constexpr std::array<std::string_view, 7> ours{
            "leasehold",   "lock_history",      "lock_presented", "lock_protected",
            "lock_shares", "lock_transactions", "locks"};
        if (std::ranges::find(ours, name) != ours.end()) {
            throw BadRequest{"'" + name + "' is Leasehold's own table"};
        }
        if (rows.text(2) != "InnoDB") {
            throw BadRequest{
                "the table '" + name + "' is of the engine " + std::string{rows.text(2)} +
                ", which cannot undo a statement; only InnoDB tables can be protected"};
        }
        return name;
    }

    [[nodiscard]] std::vector<TableColumn> columns_of(const std::string& table) {
        std::vector<TableColumn> columns;
        auto rows = ask(
            "select column_name, data_type, is_nullable = 'YES' from information_schema.columns "
            "where table_schema = database() and table_name = " +
            literal(table) + " order by ordinal_position");
        while (rows.next()) {
            columns.push_back(
                {std::string{rows.text(0)}, lower(rows.text(1)), rows.integer(2) != 0});
        }
        return columns;
    }

    static const TableColumn* find(const std::vector<TableColumn>& columns,
                                   const std::string& name) {
        const auto found = std::ranges::find(columns, lower(name),
                                             [](const TableColumn& c) { return lower(c.name); });
        return found == columns.end() ? nullptr : &*found;
    }

    // The key with the columns' names as the table spells them.
    [[nodiscard]] KeyTemplate require_columns(const std::string& table, const KeyTemplate& key) {
        const std::vector<TableColumn> columns = columns_of(table);
        return key.with_columns([&](const std::string& name) {
            const TableColumn* column = find(columns, name);
            if (column == nullptr) {
                std::string known;
                for (const TableColumn& one : columns)
                    known += (known.empty() ? "" : ", ") + one.name;
                throw BadRequest{"the table '" + table + "' has no column '" + name + "'; it has " +
                                 known};
            }
            if (std::ranges::find(plain_types, column->type) == plain_types.end()) {
                throw BadRequest{"the column '" + name + "' is of type " + column->type +
                                 "; a key takes texts, binary texts, whole numbers, decimal, uuid "
                                 "and enum columns"};
            }
            return column->name;
        });
    }

    [[nodiscard]] std::vector<std::string> warnings_about(const std::string& table,
                                                          const KeyTemplate& key) {
        std::vector<std::string> warnings;
        const std::vector<TableColumn> columns = columns_of(table);
        for (const std::string& name : key.columns()) {
            if (const TableColumn* column = find(columns, name);
                column != nullptr && column->nullable) {
                warnings.push_back("the column '" + name +
                                   "' can be null: a row with a null in its key has no key");
            }
        }
        if (has("information_schema.referential_constraints where constraint_schema = database() "
                "and "
                "table_name = " +
                literal(table) +
                " and (delete_rule in ('CASCADE', 'SET NULL') or update_rule in ('CASCADE', 'SET "
                "NULL'))")) {
            warnings.emplace_back(
                "the table has a foreign key with CASCADE or SET NULL: what that does to its rows "
                "is "
                "not judged, because triggers do not see it; protect the referenced table too");
        }
        return warnings;
    }

    // Of a text: 16 hexadecimal digits.
    [[nodiscard]] std::string hash_of(const std::string& text) {
        auto hash = ask("select left(sha2(" + literal(text) + ", 256), 16)");
        hash.next();
        return std::string{hash.text(0)};
    }

    struct Trigger {
        std::string name, body;
    };
    // Triggers with different bodies have different names.
    [[nodiscard]] Trigger trigger_of(const Event& event, const std::string& table,
                                     const KeyTemplate& key, Unleased unleased) {
        std::string judging = body(event, table, key, unleased);
        return {first_of_names(event, table) + hash_of(judging), std::move(judging)};
    }
    // How the names of all triggers begin that are ours, for one event on one table.
    [[nodiscard]] std::string first_of_names(const Event& event, const std::string& table) {
        return "leasehold_protect_" + std::string{event.name} + '_' + hash_of(table) + '_';
    }

    [[nodiscard]] bool has_trigger(const Trigger& trigger) {
        if (!has("information_schema.triggers where trigger_schema = database() and "
                 "trigger_name = " +
                 literal(trigger.name))) {
            return false;
        }
        // The information schema of MySQL spoils names with backticks.
        auto created = ask("show create trigger " + trigger.name);
        constexpr unsigned statement = 2;
        return created.next() && created.text(statement).ends_with(trigger.body);
    }

    void drop_triggers(const Event& event, const std::string& table,
                       const std::string& except = "") {
        const std::string first = first_of_names(event, table);
        std::vector<std::string> names;
        auto rows =
            ask("select trigger_name from information_schema.triggers where trigger_schema = "
                "database() and left(trigger_name, " +
                std::to_string(first.size()) + ") = " + literal(first) + " and trigger_name <> " +
                literal(except));
        while (rows.next()) names.emplace_back(rows.text(0));
        for (const std::string& name : names) link_.run("drop trigger if exists " + name);
    }

    [[nodiscard]] std::string body(const Event& event, const std::string& table,
                                   const KeyTemplate& key, Unleased unleased) {
        const std::vector<TableColumn> columns = columns_of(table);
        const auto expression = [&](const KeyTemplate::Parts& parts, const std::string& row) {
            // Nobody can lease a key that is longer.
            return "left(concat(" +
                   sql_expression(
                       parts, ", ", [](const std::string& text) { return literal(text); },
                       [&](const std::string& name) {
                           const std::string& type = find(columns, name)->type;
                           std::string value = row + '.' + identifier(name);
                           if (type.ends_with("binary") || type.ends_with("blob")) {
                               return value;
                           }
                           return "cast(convert(" + value + " using utf8mb4) as binary)";
                       }) +
                   "), 1024)";
        };
        const std::string required = unleased == Unleased::refused ? "true" : "false";
        const auto admit = [&](const std::string& type, const std::string& id) {
            return sql_text(
                "if {required} or {fixed_snapshot} then call leasehold_admit({type}, {id}, "
                "{required}); else set key_type = {type}, key_id = {id}; open looked; fetch looked "
                "into known; close looked; "
                // The key may have been leased for the first time since the statement began.
                "if known = 0 and {isolation} = 'READ-COMMITTED' then {not_waiting} call "
                "leasehold_share({type}, {id}, known, ended, mode, expires, touched, owner); "
                "end if; "
                "if known > 0 then call leasehold_admit({type}, {id}, {required}); end if; end "
                "if; ",
                {{"required", required},
                 {"fixed_snapshot", words_.fixed_snapshot},
                 {"isolation", words_.isolation},
                 {"not_waiting", words_.not_waiting},
                 {"type", type},
                 {"id", id}});
        };
        std::string text =
            "begin declare old_type, old_id, new_type, new_id, key_type, key_id varbinary(1024); "
            "declare known, expires, touched bigint; declare ended, mode tinyint; "
            "declare owner varbinary(512); declare looked cursor for select count(*) from " +
            view_names_.at("locks") + " as looked where type = key_type and id = key_id; ";
        if (event.has_old) {
            text += "set old_type = " + expression(key.type(), "old") +
                    ", old_id = " + expression(key.id(), "old") + "; " +
                    admit("old_type", "old_id");
        }
        if (event.has_new) {
            text += "set new_type = " + expression(key.type(), "new") +
                    ", new_id = " + expression(key.id(), "new") +
                    "; if not (new_type <=> old_type and new_id <=> old_id) then " +
                    admit("new_type", "new_id") + "end if; ";
        }
        return text + "end";
    }

    const Dialect& dialect_;
    const sql::RoutineWords& words_;
    const std::array<Routine, 10> routines_;
    Link link_;
    std::string zone_;  // of the dates in `locks`, in microseconds; it never changes
    std::map<std::string_view, std::string> view_names_;  // by table
};

}  // namespace

std::unique_ptr<TableProtection> open_protection(const Dialect& dialect, const Login& connection,
                                                 const StoreOptions& options) {
    return std::make_unique<MariadbProtection>(dialect, connection, options);
}

std::unique_ptr<TableProtection> open_protection(const Login& connection,
                                                 const StoreOptions& options) {
    return open_protection(mariadb_dialect, connection, options);
}

}  // namespace leasehold::mariadb
