#include <leasehold/stores/postgres.hpp>

#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/key_template.hpp"
#include "core/protection_warnings.hpp"
#include "core/retry.hpp"
#include "core/sql_text.hpp"
#include "stores/postgres/connection.hpp"
#include "stores/postgres/pooler.hpp"
#include "stores/postgres/presenting.hpp"
#include "stores/postgres/protection_functions.hpp"
#include "stores/postgres/schema.hpp"

namespace leasehold::postgres {
namespace {

using Unleased = ProtectedTable::Unleased;

constexpr std::string_view refresh_advice = "run leasehold protect for this table again";

// The types whose text does not depend on the settings of a session.
constexpr std::string_view plain_types =
    "'bool', 'bpchar', 'int2', 'int4', 'int8', 'name', 'numeric', 'text', 'uuid', 'varchar'";

struct Event {
    const char* name;
    bool has_old = false;
    bool has_new = false;
};
constexpr std::array events{Event{.name = "insert", .has_new = true},
                            Event{.name = "update", .has_old = true, .has_new = true},
                            Event{.name = "delete", .has_old = true}, Event{.name = "truncate"}};

struct Table {
    std::string oid, schema, name;
    std::string quoted;  // "schema"."table", for SQL

    [[nodiscard]] std::string full_name() const { return schema + '.' + name; }
};

// A function that the triggers of all tables use.
struct Common {
    std::string_view signature;
    std::string_view sql;
};
constexpr std::array common{Common{"leasehold_holder(text, text)", sql::holder_function},
                            Common{"leasehold_is_free(text, text)", sql::free_function},
                            Common{"leasehold_admit(text, text, boolean)", sql::admit_function},
                            Common{"leasehold_guard(text, text, text)", sql::guard_function}};

class PostgresProtection final : public TableProtection {
public:
    PostgresProtection(const std::string& conninfo, const StoreOptions& options)
        : connection_{connect_to(conninfo, options.io_timeout)},
          talk_{connection_.get(), options.io_timeout} {
        PQsetNoticeProcessor(connection_.get(), [](void*, const char*) {}, nullptr);
        (void)read_status(talk_);
        (void)require_own_session(
            talk_, [&] { return connect_to(conninfo, options.io_timeout); }, options.io_timeout);
        migrate(talk_, schema_steps(), options);
        schema_ = identifier(talk_.value_of("select current_schema()").value_or("public"));
        if (schema_.contains("$function$")) {
            throw BadRequest{"the schema " + schema_ +
                             " has $function$ in its name, which ends the text of a function"};
        }
    }

    std::vector<std::string> protect(const ProtectedTable& wanted) override {
        const auto key = KeyTemplate::parse(wanted.key);
        if (!key) throw BadRequest{key.error()};
        const std::optional<Table> table = find(wanted.name);
        if (!table) throw BadRequest{"there is no table '" + wanted.name + "' in this database"};
        require_ordinary(*table);
        (void)require_columns(*table, *key);
        in_transaction([&] {
            talk_.execute(text_of(sql::protected_tables));
            for (const Common& function : common) talk_.execute(text_of(function.sql));
            for (const Event& event : events) {
                talk_.execute(trigger(event, *table, *key, wanted.unleased));
                talk_.execute(
                    "comment on function " + function_of(event, *table) + "() is " +
                    literal("Leasehold protects " + table->full_name() + " by " + key->text()));
            }
            talk_.execute("insert into " + schema_ + ".lock_protected values (" +
                          literal(table->schema) + ", " + literal(table->name) + ", " +
                          literal(key->text()) + ", " + in_sql(wanted.unleased) +
                          ") on conflict (schema_name, table_name) do update set key_template = "
                          "excluded.key_template, required = excluded.required");
        });
        return warnings_about(*table, *key);
    }

    bool unprotect(const std::string& name) override {
        const std::optional<Table> table = find_protected(name);
        if (!table) return false;
        in_transaction([&] {
            for (const Event& event : events) {
                // The trigger goes with its function, wherever the table is now.
                const std::string function = table->oid.empty()
                                                 ? schema_ + '.' + first_function_of(event, *table)
                                                 : function_of(event, *table);
                talk_.execute("drop function if exists " + function + "() cascade");
            }
            talk_.execute("delete from " + schema_ + ".lock_protected where schema_name = " +
                          literal(table->schema) + " and table_name = " + literal(table->name));
        });
        return true;
    }

    std::vector<ProtectedTable> tables() override {
        std::vector<ProtectedTable> all;
        for (const Registered& one : registered()) all.push_back(one.as_listed);
        return all;
    }

    std::vector<ProtectionProblem> problems() override {
        std::vector<ProtectionProblem> found;
        const std::vector<Registered> all = registered();
        if (all.empty()) return found;
        const auto add = [&](const Registered& one, std::string text, std::string_view advice) {
            found.push_back({one.as_listed.name, std::move(text), std::string{advice}});
        };
        for (const Common& function : common) {
            if (!is_installed(function)) {
                add(all.front(),
                    "the function " + std::string{function.signature} +
                        " is missing, or not the one that this version installs",
                    refresh_advice);
            }
        }
        for (const Registered& one : all) {
            const std::optional<Table> table = find(one.full_name());
            const auto key = KeyTemplate::parse(one.as_listed.key);
            if (!table) {
                add(one, "the table is not there: it was dropped or renamed",
                    "run leasehold unprotect for this name, and protect the table by its new name");
                continue;
            }
            try {
                (void)require_columns(*table, *key);
            } catch (const BadRequest& changed) {
                add(one, std::string{"the table has changed: "} + changed.what(),
                    "run leasehold protect with a key that fits the table");
                continue;
            }
            for (const Event& event : events) examine(event, one, *table, *key, add);
        }
        return found;
    }

    std::vector<ProtectionProblem> warnings() override {
        return repeated_warnings(
            tables(), [this](const ProtectedTable& table, const KeyTemplate& key) {
                const std::optional<Table> found = find(table.name);
                return found ? warnings_about(*found, key) : std::vector<std::string>{};
            });
    }

private:
    struct Registered {
        ProtectedTable as_listed;
        std::string schema, name;
        [[nodiscard]] std::string full_name() const { return schema + '.' + name; }
    };

    template <class Add>
    void examine(const Event& event, const Registered& one, const Table& table,
                 const KeyTemplate& key, Add add) {
        const std::string name = trigger_name(event);
        const auto state = talk_.value_of(
            "select case when tgqual is null and tgattr = '' and tgfoid = to_regproc(" +
            literal(function_of(event, table)) +
            ") then tgenabled::text else 'changed' end from pg_trigger where not tgisinternal and "
            "tgrelid = " +
            table.oid + " and tgname = " + literal(name));
        if (!state) return add(one, "the trigger " + name + " is missing", refresh_advice);
        if (*state == "changed") {
            return add(one, "the trigger " + name + " was changed", refresh_advice);
        }
        if (*state != "O" && *state != "A") {
            return add(one, "the trigger " + name + " is switched off",
                       "run alter table ... enable trigger, or leasehold protect again");
        }
        const auto body = talk_.value_of("select prosrc from pg_proc where oid = to_regproc(" +
                                         literal(function_of(event, table)) + ")");
        if (!body) return add(one, "the function of " + name + " is missing", refresh_advice);
        if (trigger_body(event, table, key, one.as_listed.unleased) != *body) {
            add(one, "the function of " + name + " is not the one that this version installs",
                refresh_advice);
        }
    }

    [[nodiscard]] std::string identifier(const std::string& name) const {
        char* quoted = PQescapeIdentifier(connection_.get(), name.data(), name.size());
        if (quoted == nullptr) throw BadRequest{"the name '" + name + "' is not valid UTF-8"};
        std::string text{quoted};
        PQfreemem(quoted);
        return text;
    }
    [[nodiscard]] std::string literal(const std::string& value) const {
        char* quoted = PQescapeLiteral(connection_.get(), value.data(), value.size());
        if (quoted == nullptr) throw BadRequest{"the text '" + value + "' is not valid UTF-8"};
        std::string text{quoted};
        PQfreemem(quoted);
        return text;
    }
    static std::string in_sql(Unleased unleased) {
        return unleased == Unleased::refused ? "true" : "false";
    }
    [[nodiscard]] bool has(const std::string& query) {
        return talk_.value_of("select exists (" + query + ")") == "t";
    }
    [[nodiscard]] bool is_installed(const Common& function) {
        const std::string text = text_of(function.sql);
        constexpr std::string_view quote = "$function$";
        const std::size_t begin = text.find(quote) + quote.size();
        return has("select from pg_proc where oid = to_regprocedure(" +
                   literal(schema_ + '.' + std::string{function.signature}) +
                   ") and prosecdef and proconfig = array['search_path=pg_catalog, pg_temp'] "
                   "and prosrc = " +
                   literal(text.substr(begin, text.find(quote, begin) - begin)));
    }
    [[nodiscard]] bool has_registry() {
        return talk_.value_of("select to_regclass(" + literal(schema_ + ".lock_protected") + ")")
            .has_value();
    }

    template <class Work>
    void in_transaction(Work work) {
        talk_.execute("begin");
        try {
            // A statement that waits for the table makes all later writers wait behind it.
            talk_.execute(sql_text("set local lock_timeout = '{patience}'",
                                   {{"patience", setting_of(retries::protection_lock_patience)}}));
            work();
            talk_.execute("commit");
        } catch (...) {
            PQclear(PQexec(connection_.get(), "rollback"));
            throw;
        }
    }

    // The table of exactly this name, or of exactly this schema and name.
    [[nodiscard]] std::optional<Table> find(const std::string& name) {
        const std::string wanted = literal(name);
        const auto rows = talk_.rows_of(
            "select c.oid, n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = "
            "c.relnamespace where c.relkind in ('r', 'p', 'v', 'm', 'f') and ((c.relname = " +
            wanted + " and pg_table_is_visible(c.oid)) or n.nspname || '.' || c.relname = " +
            wanted + ") order by c.relname = " + wanted + " desc limit 1");
        if (rows.empty()) return std::nullopt;
        const auto& row = rows.front();
        return Table{row[0], row[1], row[2], identifier(row[1]) + '.' + identifier(row[2])};
    }

    // Also one that is not there any more.
    [[nodiscard]] std::optional<Table> find_protected(const std::string& name) {
        std::optional<Table> table = find(name);
        for (const Registered& one : registered()) {
            if (table && one.schema == table->schema && one.name == table->name) return table;
            if (!table && (name == one.as_listed.name || name == one.full_name())) {
                return Table{{}, one.schema, one.name, {}};
            }
        }
        return std::nullopt;
    }

    [[nodiscard]] std::vector<Registered> registered() {
        std::vector<Registered> all;
        if (!has_registry()) return all;
        for (const auto& row : talk_.rows_of(
                 "select schema_name, table_name, key_template, required, coalesce("
                 "pg_table_is_visible(to_regclass(format('%I.%I', schema_name, table_name))), "
                 "schema_name = current_schema()) from " +
                 schema_ + ".lock_protected order by schema_name, table_name")) {
            all.push_back({{.name = row[4] == "t" ? row[1] : row[0] + '.' + row[1],
                            .key = row[2],
                            .unleased = row[3] == "t" ? Unleased::refused : Unleased::writable},
                           row[0],
                           row[1]});
        }
        std::ranges::sort(all, {}, [](const Registered& one) { return one.as_listed.name; });
        return all;
    }

    void require_ordinary(const Table& table) {
        const auto row = talk_.rows_of(
            "select relkind, relispartition, relpersistence, relnamespace "
            "= current_schema()::regnamespace from pg_class where oid = " +
            table.oid);
        const std::string& kind = row.front()[0];
        if (kind != "r" && kind != "p") {
            throw BadRequest{"'" + table.name + "' is not a table; protect the table it shows"};
        }
        if (row.front()[1] == "t") {
            throw BadRequest{"'" + table.name +
                             "' is a partition; protect the partitioned table it belongs to"};
        }
        if (row.front()[2] == "t") throw BadRequest{"'" + table.name + "' is a temporary table"};
        constexpr std::array ours{"leasehold", "lock_history", "lock_protected", "lock_shares",
                                  "locks"};
        if (row.front()[3] == "t" && std::ranges::find(ours, table.name) != ours.end()) {
            throw BadRequest{"'" + table.name + "' is Leasehold's own table"};
        }
    }

    // Returns warnings about the columns.
    [[nodiscard]] std::vector<std::string> require_columns(const Table& table,
                                                           const KeyTemplate& key) {
        const auto columns = talk_.rows_of(
            "with recursive base as (select a.attname, a.attnum, a.attnotnull, a.atttypid as type "
            "from "
            "pg_attribute a where a.attrelid = " +
            table.oid +
            " and a.attnum > 0 and not a.attisdropped union all select b.attname, b.attnum, "
            "b.attnotnull, t.typbasetype from base b join pg_type t on t.oid = b.type where "
            "t.typtype = 'd') select b.attname, format_type(t.oid, null), t.typtype = 'e' or "
            "(t.typnamespace = 'pg_catalog'::regnamespace and t.typname in (" +
            std::string{plain_types} +
            ")), b.attnotnull from base b join pg_type t on t.oid = "
            "b.type where t.typtype <> 'd' order by b.attnum");
        std::vector<std::string> warnings;
        for (const std::string& name : key.columns()) {
            const auto column =
                std::ranges::find(columns, name, [](const auto& row) { return row[0]; });
            if (column == columns.end()) {
                std::string known;
                for (const auto& row : columns) {
                    known.append(known.empty() ? "" : ", ").append(row[0]);
                }
                throw BadRequest{std::string{"the table '"}
                                     .append(table.name)
                                     .append("' has no column '")
                                     .append(name)
                                     .append("'; it has ")
                                     .append(known)};
            }
            if ((*column)[2] != "t") {
                throw BadRequest{"the column '" + name + "' is of type " + (*column)[1] +
                                 ", whose text depends on a session's settings; a key takes texts, "
                                 "whole numbers, numeric, uuid, boolean and enum columns"};
            }
            if ((*column)[3] != "t") {
                warnings.push_back("the column '" + name +
                                   "' can be null: a row with a null in its key has no key");
            }
        }
        return warnings;
    }

    [[nodiscard]] std::vector<std::string> warnings_about(const Table& table,
                                                          const KeyTemplate& key) {
        std::vector<std::string> warnings = require_columns(table, key);
        if (has("select from pg_inherits i join pg_class p on p.oid = i.inhparent where p.oid = " +
                table.oid + " and p.relkind = 'r' and not exists (select from " + schema_ +
                ".lock_protected l join pg_class c on c.oid = i.inhrelid join pg_namespace n on "
                "n.oid = c.relnamespace where l.schema_name = n.nspname and l.table_name = "
                "c.relname)")) {
            warnings.emplace_back(
                "tables that inherit from this table are not protected: protect each of them");
        }
        return warnings;
    }

    static std::string trigger_name(const Event& event) {
        return std::string{"leasehold_protect_"} + event.name;
    }

    // The function keeps this name if the table is renamed. A new table that gets the old name has
    // functions of its own.
    [[nodiscard]] std::string function_of(const Event& event, const Table& table) {
        const std::string first = first_function_of(event, table);
        const auto own = talk_.value_of(
            "select p.proname from pg_trigger t join pg_proc p on p.oid = t.tgfoid where "
            "t.tgrelid = " +
            table.oid + " and t.tgname = " + literal(trigger_name(event)) +
            " and p.pronamespace = to_regnamespace(" + literal(schema_) + ") and p.proname ~ " +
            literal("^" + first + "(_[0-9]+)?$"));
        if (own) return schema_ + '.' + *own;
        const std::string name = schema_ + '.' + first;
        const bool is_taken = has("select from pg_trigger where tgparentid = 0 and tgrelid <> " +
                                  table.oid + " and tgfoid = to_regproc(" + literal(name) + ")");
        return is_taken ? name + '_' + table.oid : name;
    }
    [[nodiscard]] std::string first_function_of(const Event& event, const Table& table) {
        const auto hash =
            talk_.value_of("select left(md5(" + literal(table.full_name()) + "), 16)").value();
        return trigger_name(event) + '_' + hash;
    }

    [[nodiscard]] std::string text_of(std::string_view function) const {
        const std::chrono::duration<double> pause = retries::protected_write.first_pause;
        return sql_text(function, {{"schema", schema_},
                                   {"type_bytes", std::to_string(Limits::type_bytes)},
                                   {"id_bytes", std::to_string(Limits::id_bytes)},
                                   {"present", sql_text(sql::present, {{"lock_id", "lock_id"}})},
                                   {"has_presented",
                                    sql_text(sql::has_presented, {{"lock_id", "seen.lockid"}})},
                                   {"attempts", std::to_string(retries::protected_write.attempts)},
                                   {"pause_s", std::to_string(pause.count())},
                                   {"expired", sql_number<Gone::expired>},
                                   {"gone_sentences", sql_gone_sentences()}});
    }

    // The owner of an enum may have made a cast to text, a function that would run with the rights
    // of the store's role. format() uses no casts.
    [[nodiscard]] std::string expression(const KeyTemplate::Parts& parts, const std::string& row,
                                         const Table& table) {
        return sql_expression(
            parts, " operator(pg_catalog.||) ",
            [&](const std::string& text) { return literal(text) + "::pg_catalog.text"; },
            [&](const std::string& name) {
                const std::string column = row + '.' + identifier(name);
                if (!is_enum(table, name)) return column + "::pg_catalog.text";
                return "case when " + column + " is not null then pg_catalog.format('%s', " +
                       column + ") end";
            });
    }
    [[nodiscard]] bool is_enum(const Table& table, const std::string& column) {
        return has(
            "with recursive base as (select atttypid as type from pg_attribute where "
            "attrelid = " +
            table.oid + " and attname = " + literal(column) +
            " union all select t.typbasetype from base b join pg_type t on t.oid = b.type "
            "where t.typtype = 'd') select from base b join pg_type t on t.oid = b.type "
            "where t.typtype = 'e'");
    }

    [[nodiscard]] std::string trigger(const Event& event, const Table& table,
                                      const KeyTemplate& key, Unleased unleased) {
        const bool of_rows = event.has_old || event.has_new;
        return sql_text(sql::trigger_function,
                        {{"function", function_of(event, table)},
                         {"event", event.name},
                         {"body", literal(trigger_body(event, table, key, unleased))},
                         {"settings", of_rows ? "" : sql::truncate_settings},
                         {"when", of_rows ? "after" : "before"},
                         {"each", of_rows ? "row" : "statement"},
                         {"table", table.quoted}});
    }

    [[nodiscard]] std::string trigger_body(const Event& event, const Table& table,
                                           const KeyTemplate& key, Unleased unleased) {
        const auto judge = [&](std::string_view pattern, const std::string& row) {
            const std::string type = expression(key.type(), row, table);
            const std::string id = expression(key.id(), row, table);
            const std::string condition =
                unleased == Unleased::refused
                    ? "true"
                    : sql_text(sql::may_be_leased,
                               {{"schema", schema_}, {"type", type}, {"id", id}});
            return sql_text(
                pattern, {{"schema", schema_},
                          {"rows", literal("select " + type + " as type, " + id + " as id from ")},
                          {"required", in_sql(unleased)},
                          {"may_be_leased", condition},
                          {"type", type},
                          {"id", id}});
        };
        std::string work;
        if (event.has_old) work += judge(sql::judge_key, "old");
        if (event.has_new && event.has_old) {
            work += sql_text(sql::judge_changed_key,
                             {{"type", expression(key.type(), "new", table)},
                              {"id", expression(key.id(), "new", table)},
                              {"old_type", expression(key.type(), "old", table)},
                              {"old_id", expression(key.id(), "old", table)},
                              {"judge", judge(sql::judge_key, "new")}});
        } else if (event.has_new) {
            work += judge(sql::judge_key, "new");
        } else if (!event.has_old) {
            work += judge(sql::judge_table, "r");
        }
        return sql_text(sql::trigger_body, {{"judge", work}});
    }

    ConnectionHandle connection_;
    Conversation talk_;
    std::string schema_;  // of the store, quoted
};

}  // namespace

std::unique_ptr<TableProtection> open_protection(const std::string& conninfo,
                                                 const StoreOptions& options) {
    return std::make_unique<PostgresProtection>(conninfo, options);
}

}  // namespace leasehold::postgres
