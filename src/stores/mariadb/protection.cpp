#include <leasehold/stores/mariadb.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/key_template.hpp"
#include "core/protection_warnings.hpp"
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

// A handler in a function or trigger of somebody else may go on after a statement that failed, and
// the server does not undo the statement there. So rows are judged before they are written; and
// again after it, if something else has changed the key meanwhile.
enum class Moment : std::uint8_t { before, after };
struct Event {
    Moment moment;
    const char* name;
};
constexpr std::array events{Event{Moment::before, "insert"}, Event{Moment::after, "insert"},
                            Event{Moment::before, "update"}, Event{Moment::after, "update"},
                            Event{Moment::before, "delete"}};

struct TableColumn {
    std::string name, type, full_type, collation;
    bool nullable = false;
    bool counts_up = false;
    bool generated = false;

    [[nodiscard]] bool is_binary() const {
        return type.ends_with("binary") || type.ends_with("blob");
    }
    [[nodiscard]] bool is_number() const { return type.ends_with("int") || type == "decimal"; }
    // Whether values that the server takes for equal have the same text.
    [[nodiscard]] bool is_exact() const {
        return is_number() || is_binary() || type == "uuid" || collation.ends_with("0900_bin") ||
               collation.ends_with("nopad_bin");
    }
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
                     {"leasehold_zone", "function", sql::zone_function},
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
        // The new triggers work before the old ones go.
        const std::vector<Trigger> triggers = triggers_of(table, spelled, wanted.unleased);
        for (const Trigger& trigger : triggers) {
            if (has_trigger(trigger, table)) continue;
            link_.run("drop trigger if exists " + trigger.name);
            link_.run("create trigger " + trigger.name + ' ' + trigger.when + " on " +
                      identifier(table) + " for each row " + trigger.body);
        }
        drop_triggers(table, triggers);
        drop_old_views();
        std::vector<std::string> warnings = warnings_about(table, spelled);
        for (const auto& [text, advice] : cascades_around(table, spelled, wanted.unleased)) {
            warnings.push_back(std::string{text}.append("; ").append(advice));
        }
        return warnings;
    }

    bool unprotect(const std::string& name) override {
        for (const ProtectedTable& table : tables()) {
            if (table.name != name) continue;
            drop_triggers(table.name);
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
        read_proof();
        std::string missing;
        for (const Routine& routine : routines_) {
            if (is_installed(routine)) continue;
            missing.append(missing.empty() ? "" : ", ").append(routine.name);
        }
        if (!missing.empty()) {
            found.push_back({all.front().name,
                             "routines are missing, or differ from the ones that this version "
                             "installs: " +
                                 missing,
                             protect_again});
        }
        for (const sql::Proof& proof : sql::proofs) {
            if (!is_needed(proof) || has_secret(proof)) continue;
            found.push_back({all.front().name,
                             "the table " + std::string{proof.table} +
                                 " is missing, or its row with the secret: every write is refused",
                             protect_again});
        }
        if (std::string unfit = unfitness(); !unfit.empty()) {
            found.push_back({all.front().name, std::move(unfit), "change the server's settings"});
        }
        for (const ProtectedTable& table : all) examine(table, found);
        return found;
    }

    std::vector<ProtectionProblem> warnings() override {
        return repeated_warnings(
            tables(), [this](const ProtectedTable& table, const KeyTemplate& key) {
                return warnings_about(require_table(table.name), require_columns(table.name, key));
            });
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
        for (const Trigger& trigger : triggers_of(table.name, *key, table.unleased)) {
            if (!has_trigger(trigger, table.name)) {
                add("the trigger " + trigger.name + " is missing or was changed", protect_again);
            }
        }
        for (auto& [text, advice] : cascades_around(table.name, *key, table.unleased)) {
            add(std::move(text), std::move(advice));
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
        if (const std::string unfit = unfitness_of_clock(link_); !unfit.empty()) return unfit;
        if (!is_mysql()) return {};
        auto counted =
            ask("select (select count(*) from performance_schema.setup_consumers where name in "
                "('global_instrumentation', 'thread_instrumentation', "
                "'events_transactions_current') and enabled = 'YES') = 3 and exists (select 1 from "
                "performance_schema.setup_instruments where name = 'transaction' and enabled = "
                "'YES' and timed = 'YES') and exists (select 1 from "
                "performance_schema.setup_actors where host = '%' and user = '%' and enabled = "
                "'YES') and not exists (select 1 from performance_schema.setup_actors where "
                "enabled <> 'YES')");
        if (counted.next() && counted.integer(0) != 0) return {};
        return "the performance schema does not count every transaction, by which a protected "
               "table tells them apart; set performance_schema = ON, and leave on, as by default, "
               "the instrument 'transaction', the consumers 'global_instrumentation', "
               "'thread_instrumentation' and 'events_transactions_current', and all of "
               "setup_actors";
    }

    void install_routines() {
        link_.run(sql::protected_tables);
        link_.run(sql::presented_table);
        if (!is_mysql()) make_transactions_table();
        link_.run(sql_text(sql::probe_row, {{"date_of_never", date_of_never}}));
        link_.run(sql_text(sql::set_secret, {{"secret", literal(LockId::random().to_string())}}));
        read_proof();
        if (!std::ranges::all_of(sql::proofs, [&](const sql::Proof& proof) {
                return !is_needed(proof) || has_secret(proof);
            })) {
            spread_secret();
        }
        if (!is_mysql()) forget_presented_leases();
        for (const Routine& routine : routines_) {
            // Writers use it: they would fail while it is being replaced.
            if (is_installed(routine)) continue;
            link_.run(std::string{"drop "} + routine.kind + " if exists " + routine.name);
            link_.run(text_of(routine, version_of(routine)));
        }
    }

    void make_transactions_table() {
        // As an earlier version made it. It is always empty.
        const std::string columns =
            "information_schema.columns where table_schema = database() and table_name = "
            "'lock_transactions' and column_name = ";
        if (has(columns + "'started'") && !has(columns + "'proof'")) {
            link_.run("drop table lock_transactions");
        }
        link_.run(sql::mariadb_transactions_table);
    }
    void spread_secret() {
        for (const std::string_view statement : sql::spread_secret) {
            link_.run(std::string{statement});
        }
        if (!is_mysql()) link_.run(std::string{sql::mariadb_spread_secret});
    }
    // A dump restores rows with the numbers of another server's transactions, which transactions of
    // this one may get. A row that is locked is of a transaction of this server.
    void forget_presented_leases() {
        link_.run("start transaction");
        auto rows =
            ask("select hex(type), hex(id) from lock_presented where type <> x'00' "
                "for update skip locked");
        while (rows.next()) {
            link_.run(std::string{"delete from lock_presented where type = x'"}
                          .append(rows.text(0))
                          .append("' and id = x'")
                          .append(rows.text(1))
                          .append("'"));
        }
        link_.run("commit");
    }
    // MySQL needs no table to number its transactions.
    [[nodiscard]] bool is_needed(const sql::Proof& proof) const {
        return proof.table != "lock_transactions" || !is_mysql();
    }
    [[nodiscard]] bool has_secret(const sql::Proof& proof) {
        const std::string table{proof.table};
        return has("information_schema.tables where table_schema = database() and table_name = " +
                   literal(table)) &&
               has(table + " where " + std::string{proof.where} + " and sha2(" +
                   std::string{proof.column} + ", 256) = " + proof_);
    }
    void read_proof() {
        auto hash = ask("select sha2((" + std::string{sql::secret} + "), 256)");
        proof_ = hash.next() && !hash.is_null(0) ? literal(hash.text(0)) : "''";
    }
    // Statements that fail if a temporary table hides this table.
    [[nodiscard]] std::string require_real(std::string_view table) const {
        const auto* const proof = std::ranges::find(sql::proofs, table, &sql::Proof::table);
        return sql_text(sql::require_real, {{"table", proof->table},
                                            {"column", proof->column},
                                            {"where", proof->where},
                                            {"proof", proof_}});
    }

    [[nodiscard]] std::string text_of(const Routine& routine, const std::string& version) const {
        const std::string never_micros = std::to_string(never.time_since_epoch().count());
        return sql_text(
            routine.sql,
            {{"version", version},
             {"require_real locks", require_real("locks")},
             {"require_real lock_shares", require_real("lock_shares")},
             {"require_real lock_presented", require_real("lock_presented")},
             {"require_real lock_transactions", require_real("lock_transactions")},
             {"require_real leasehold", require_real("leasehold")},
             {"waiting_briefly", words_.waiting_briefly},
             {"not_waiting", words_.not_waiting},
             {"for_share", words_.for_share},
             {"isolation", words_.isolation},
             {"fixed_snapshot", words_.fixed_snapshot},
             {"set_repeats", words_.set_repeats},
             {"expires", micros_of("expiration_time", "zone")},
             {"look_for_unseen", sql_text(words_.look_for_unseen,
                                          {{"date_of_now", date_of("leasehold_clock()", "zone")}})},
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
        auto rows =
            ask("select column_name, data_type, column_type, is_nullable = 'YES', extra like "
                "'%auto_increment%', ifnull(generation_expression, '') <> '', "
                "ifnull(collation_name, '') from "
                "information_schema.columns where table_schema = database() and table_name = " +
                literal(table) + " order by ordinal_position");
        while (rows.next()) {
            columns.push_back({.name = std::string{rows.text(0)},
                               .type = lower(rows.text(1)),
                               .full_type = lower(rows.text(2)),
                               .collation = lower(rows.text(6)),
                               .nullable = rows.integer(3) != 0,
                               .counts_up = rows.integer(4) != 0,
                               .generated = rows.integer(5) != 0});
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
            if (column->type == "binary") {
                throw BadRequest{"the column '" + name + "' is of type " + column->full_type +
                                 ", which the server fills up with zero bytes, so that no key "
                                 "matches it; a key takes varbinary columns"};
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
        return warnings;
    }

    // A foreign key by which a write to the parent changes or deletes rows of its table. No trigger
    // sees that.
    struct Cascade {
        std::string name, schema, parent;
        std::vector<std::pair<std::string, std::string>> columns;  // child, parent
    };
    [[nodiscard]] std::vector<Cascade> cascades_of(const std::string& table) {
        std::vector<Cascade> cascades;
        auto rows = ask(
            "select k.constraint_name, if(k.referenced_table_schema = database(), '', "
            "k.referenced_table_schema), k.referenced_table_name, k.column_name, "
            "k.referenced_column_name from information_schema.referential_constraints r join "
            "information_schema.key_column_usage k on k.constraint_schema = r.constraint_schema "
            "and k.constraint_name = r.constraint_name and k.table_name = r.table_name where "
            "r.constraint_schema = database() and r.table_name = " +
            literal(table) +
            " and k.referenced_table_name is not null and (r.delete_rule in ('CASCADE', 'SET "
            "NULL') or r.update_rule in ('CASCADE', 'SET NULL')) order by 3, 1, "
            "k.ordinal_position");
        while (rows.next()) {
            if (cascades.empty() || cascades.back().name != rows.text(0)) {
                cascades.push_back({.name = std::string{rows.text(0)},
                                    .schema = std::string{rows.text(1)},
                                    .parent = std::string{rows.text(2)},
                                    .columns = {}});
            }
            cascades.back().columns.emplace_back(rows.text(3), rows.text(4));
        }
        return cascades;
    }

    // The key of a child's row, made from the row of the parent. Nothing if the parent's columns
    // do not determine it.
    [[nodiscard]] std::optional<std::string> key_by_parent(const std::string& table,
                                                           const KeyTemplate& key,
                                                           const Cascade& cascade) {
        const std::vector<TableColumn> columns = columns_of(table);
        const std::vector<TableColumn> parents_columns = columns_of(cascade.parent);
        bool determined = true;
        const KeyTemplate mapped = key.with_columns([&](const std::string& name) {
            const auto pair =
                std::ranges::find(cascade.columns, lower(name),
                                  [](const auto& columns) { return lower(columns.first); });
            const TableColumn* const of_child = find(columns, name);
            const TableColumn* const of_parent =
                pair == cascade.columns.end() ? nullptr : find(parents_columns, pair->second);
            determined =
                determined && of_child != nullptr && of_child->is_exact() && of_parent != nullptr;
            return of_parent == nullptr ? name : of_parent->name;
        });
        if (!determined) return std::nullopt;
        return mapped.text();
    }

    // What a foreign key does to leased rows without their lease, and what mends it. Nothing if
    // the parent is protected by the same key, and at least as strictly: then a write to its row
    // needs what a write to the child's row needs.
    struct Gap {
        std::string text, advice;
    };
    [[nodiscard]] std::vector<Gap> cascades_around(const std::string& table, const KeyTemplate& key,
                                                   Unleased unleased) {
        std::vector<Gap> gaps;
        const std::vector<ProtectedTable> all = tables();
        for (const Cascade& cascade : cascades_of(table)) {
            const bool elsewhere = !cascade.schema.empty();
            const auto parent = elsewhere
                                    ? all.end()
                                    : std::ranges::find(all, cascade.parent, &ProtectedTable::name);
            const auto by_parent = key_by_parent(table, key, cascade);
            const std::string name = '\'' + cascade.parent + '\'';
            std::string text =
                "a foreign key with CASCADE or SET NULL changes or deletes its rows when " + name +
                " is written, ";
            std::string advice;
            if (parent == all.end()) {
                text += "and that is not judged";
                if (by_parent && !elsewhere) {
                    advice = "protect " + name + " too, by the key " + *by_parent + ", or ";
                }
            } else if (by_parent != parent->key) {
                text.append("which is judged by the key of that table, ")
                    .append(parent->key)
                    .append(": under it, leased rows of '")
                    .append(table)
                    .append("' can be deleted");
                advice = by_parent ? "protect " + name + " by the key " + *by_parent + ", or "
                                   : "give both tables one key, made of the foreign key's columns "
                                     "(numbers, or texts that are compared byte by byte), or ";
            } else if (unleased == Unleased::refused && parent->unleased != Unleased::refused) {
                text += "which needs no lease if nobody has leased the key";
                advice = "protect " + name + " with --require, too, or ";
            } else {
                continue;
            }
            gaps.push_back(
                {std::move(text), advice + "take CASCADE and SET NULL out of the foreign key"});
        }
        return gaps;
    }

    // Of a text: 16 hexadecimal digits.
    [[nodiscard]] std::string hash_of(const std::string& text) {
        auto hash = ask("select left(sha2(" + literal(text) + ", 256), 16)");
        hash.next();
        return std::string{hash.text(0)};
    }

    struct Trigger {
        std::string name, when, body;
    };
    // The triggers that the table needs. Triggers with different bodies have different names.
    [[nodiscard]] std::vector<Trigger> triggers_of(const std::string& table, const KeyTemplate& key,
                                                   Unleased unleased) {
        std::vector<Trigger> triggers;
        const std::vector<TableColumn> columns = columns_of(table);
        for (const Event& event : events) {
            const std::string judging = body(event, columns, key, unleased);
            if (judging.empty()) continue;
            const std::string moment = event.moment == Moment::before ? "before" : "after";
            std::string text = "begin " + judging + "end";
            std::string name = "leasehold_" + moment + '_' + event.name + '_' + hash_of(table) +
                               '_' + hash_of(text);
            triggers.push_back({std::move(name), moment + ' ' + event.name, std::move(text)});
        }
        return triggers;
    }

    // A table that was renamed takes its triggers along.
    [[nodiscard]] bool has_trigger(const Trigger& trigger, const std::string& table) {
        if (!has("information_schema.triggers where trigger_schema = database() and "
                 "trigger_name = " +
                 literal(trigger.name) + " and " + is_on(table))) {
            return false;
        }
        // The information schema of MySQL spoils names with backticks.
        auto created = ask("show create trigger " + trigger.name);
        constexpr unsigned statement = 2;
        return created.next() && created.text(statement).ends_with(trigger.body);
    }
    [[nodiscard]] static std::string is_on(const std::string& table) {
        return "cast(event_object_table as binary) = " + literal(table);
    }

    // Those on the table, and those made for a table of its name, wherever that table is now.
    void drop_triggers(const std::string& table, const std::vector<Trigger>& except = {}) {
        std::vector<std::string> names;
        auto rows =
            ask("select trigger_name from information_schema.triggers where trigger_schema = "
                "database() and trigger_name like 'leasehold\\_%' and (" +
                is_on(table) + " or instr(trigger_name, " + literal('_' + hash_of(table) + '_') +
                ") > 0)");
        while (rows.next()) names.emplace_back(rows.text(0));
        for (const std::string& name : names) {
            if (std::ranges::find(except, name, &Trigger::name) != except.end()) continue;
            link_.run("drop trigger if exists " + name);
        }
    }

    // An earlier version read the tables through views.
    void drop_old_views() {
        std::vector<std::string> names;
        auto rows = ask(
            "select table_name from information_schema.views where table_schema = database() and "
            "table_name regexp "
            "'^leasehold_(locks|lock_shares|lock_presented|lock_transactions|leasehold)_[0-9a-f]{"
            "16}$'");
        while (rows.next()) names.emplace_back(rows.text(0));
        for (const std::string& name : names) link_.run("drop view if exists " + name);
    }

    // The text of a column, as bytes.
    static std::string value_of(const TableColumn& column, const std::string& row) {
        std::string value = row + '.' + identifier(column.name);
        if (column.is_binary()) return value;
        if (column.full_type.contains("zerofill")) {
            const std::string number =
                column.type == "decimal"
                    ? column.full_type.substr(0, column.full_type.find(')') + 1)
                    : "unsigned";
            value = "cast(" + value + " as " + number + ")";
        }
        return "cast(convert(" + value + " using utf8mb4) as binary)";
    }

    // What the trigger does; nothing if the table does not need it.
    [[nodiscard]] std::string body(const Event& event, const std::vector<TableColumn>& columns,
                                   const KeyTemplate& key, Unleased unleased) const {
        const auto fill_in = [&](std::string_view pattern, const std::string& row) {
            const auto expression = [&](const KeyTemplate::Parts& parts) {
                // Nobody can lease a key that is longer.
                return "left(concat(" +
                       sql_expression(
                           parts, ", ", [](const std::string& text) { return literal(text); },
                           [&](const std::string& name) {
                               return value_of(*find(columns, name), row);
                           }) +
                       "), 1024)";
            };
            return sql_text(pattern, {{"type", expression(key.type())},
                                      {"id", expression(key.id())},
                                      {"proof", proof_},
                                      {"isolation", words_.isolation},
                                      {"not_waiting", words_.not_waiting},
                                      {"for_share", words_.for_share},
                                      {"set_repeats", words_.set_repeats}});
        };
        const auto judge = [&](const std::string& row) {
            return fill_in(unleased == Unleased::refused ? sql::judge_row_strictly : sql::judge_row,
                           row);
        };
        bool generated = false;
        std::string changed;
        std::string is_known;
        for (const std::string& name : key.columns()) {
            const TableColumn& column = *find(columns, name);
            generated = generated || column.generated;
            if (column.counts_up) is_known = "ifnull(new." + identifier(column.name) + ", 0) <> 0";
            const auto comparable = [&](const std::string& row) {
                const std::string value = row + '.' + identifier(column.name);
                // Texts that differ may be equal in the column's collation.
                return column.is_number() ? value : "cast(" + value + " as binary)";
            };
            changed += (changed.empty() ? "not (" : " and ") + comparable("new") + " <=> " +
                       comparable("old");
        }
        const bool constant = changed.empty();
        const std::string name = event.name;
        if (event.moment == Moment::after) {
            if (constant) return {};
            if (name == "update") return "if " + changed + ") then " + judge("new") + "end if; ";
            return judge("new");
        }
        if (name == "delete") return judge("old");
        if (name == "insert") {
            if (generated) return {};  // it has no value yet
            if (is_known.empty()) return judge("new");
            const std::string otherwise =
                unleased == Unleased::refused ? "else " + std::string{sql::refuse_unknown_key} : "";
            return "if " + is_known + " then " + judge("new") + otherwise + "end if; ";
        }
        if (constant || generated) return judge("old");
        return judge("old") + "if " + changed + ") then " + judge("new") + "end if; ";
    }

    const Dialect& dialect_;
    const sql::RoutineWords& words_;
    const std::array<Routine, 11> routines_;
    Link link_;
    std::string proof_;  // SHA-256 of the secret, as a literal
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
