#include "conformance/pattern_program.hpp"

#include <variant>

#include "conformance/mariadb_harness.hpp"
#include "conformance/postgres_harness.hpp"

namespace leasehold::conformance {
namespace {

using Rows = std::vector<std::vector<std::string>>;
// A time is passed to the driver as a time, as a Java program passes a Timestamp.
using Value = std::variant<std::string, Time>;

// Uses the clock of this process for its decisions.
class Program : public PatternProgram {
public:
    std::optional<Row> find(const LockKey& key) override {
        const Rows rows = ask("select * from locks where type = ? and id = ?",
                              {std::string{key.type()}, std::string{key.id()}});
        if (rows.empty()) return std::nullopt;
        EXPECT_EQ(rows.front()[0], key.type());
        EXPECT_EQ(rows.front()[1], key.id());
        return Row{rows.front()[2], is_over(rows.front()[3])};
    }
    void insert(const LockKey& key, const std::string& lock_id, std::chrono::minutes ttl) override {
        ask("insert into locks values (?, ?, ?, ?)",
            {std::string{key.type()}, std::string{key.id()}, lock_id, after(ttl)});
    }
    void remove(const LockKey& key) override {
        ask("delete from locks where type = ? and id = ?",
            {std::string{key.type()}, std::string{key.id()}});
    }
    bool check(const std::string& lock_id) override {
        const Rows rows = ask("select * from locks where lockid = ?", {lock_id});
        return !rows.empty() && !is_over(rows.front()[3]);
    }
    void extend(const LockKey& key, std::chrono::minutes ttl) override {
        ask("update locks set expiration_time = ? where type = ? and id = ?",
            {after(ttl), std::string{key.type()}, std::string{key.id()}});
    }
    void release(const std::string& lock_id) override {
        ask("delete from locks where lockid = ?", {lock_id});
    }

protected:
    // Runs a prepared statement with a `?` for each value. A date is returned as date_of() writes
    // it.
    virtual Rows ask(const std::string& sql, const std::vector<Value>& values) = 0;

    // UTC, as in 2026-11-15 09:20:00.000000
    static std::string date_of(Time time) {
        std::string text = to_string(time);  // 2026-11-15T09:20:00.000000Z
        text[10] = ' ';
        text.pop_back();
        return text;
    }

private:
    static Time after(std::chrono::minutes ttl) {
        return std::chrono::floor<Duration>(std::chrono::system_clock::now()) + ttl;
    }
    static bool is_over(const std::string& date) { return date < date_of(after(0min)); }
};

class ProgramOnPostgres final : public Program {
public:
    ProgramOnPostgres() { connection_.run("set time zone 'UTC'"); }

    void run(const std::string& sql) override { connection_.run(sql); }
    std::vector<std::string> first_columns() override {
        std::vector<std::string> names;
        for (const auto& row : connection_.run(
                 "select column_name from information_schema.columns where table_name = 'locks' "
                 "and ordinal_position <= 4 order by ordinal_position")) {
            names.push_back(row.front());
        }
        return names;
    }
    bool is_kept_from_removing(const LockKey& key) override {
        PostgresConnection impatient;
        impatient.run("set lock_timeout = '200ms'");
        try {
            impatient.run("delete from locks where type = $1 and id = $2",
                          {std::string{key.type()}, std::string{key.id()}});
            return false;
        } catch (const std::runtime_error&) {
            return true;
        }
    }

protected:
    // The server chooses the types of the values, as with a Timestamp of its JDBC driver.
    Rows ask(const std::string& sql, const std::vector<Value>& values) override {
        std::string numbered;
        for (int number = 0; const char c : sql) {
            numbered += c == '?' ? "$" + std::to_string(++number) : std::string{c};
        }
        std::vector<std::string> texts;
        for (const Value& value : values) {
            const auto* time = std::get_if<Time>(&value);
            texts.push_back(time == nullptr ? std::get<std::string>(value)
                                            : date_of(*time) + "+00");
        }
        Rows rows = connection_.run(numbered, texts);
        for (auto& row : rows) row[3] = with_microseconds(row[3]);
        return rows;
    }

private:
    // Takes a date such as 2026-11-15 09:20:00.5+00. An infinite date stays as it is.
    static std::string with_microseconds(std::string date) {
        if (!date.ends_with("+00")) return date;
        date.resize(date.size() - 3);
        if (!date.contains('.')) date += '.';
        date.resize(std::string_view{"2026-11-15 09:20:00.000000"}.size(), '0');
        return date;
    }

    PostgresConnection connection_;
};

class ProgramOnMariadb final : public Program {
public:
    explicit ProgramOnMariadb(MariadbOr product) : product_{product}, connection_{product} {}

    void run(const std::string& sql) override { connection_.run(sql); }
    std::vector<std::string> first_columns() override {
        std::vector<std::string> names;
        for (const auto& row : connection_.run("show columns from locks")) {
            names.push_back(row.front());
            if (names.size() == 4) break;
        }
        return names;
    }
    bool is_kept_from_removing(const LockKey& key) override {
        MariadbConnection impatient{product_};
        impatient.run("set innodb_lock_wait_timeout = 1");
        try {
            impatient.run_prepared("delete from locks where type = ? and id = ?",
                                   {std::string{key.type()}, std::string{key.id()}});
            return false;
        } catch (const std::runtime_error&) {
            return true;
        }
    }

protected:
    Rows ask(const std::string& sql, const std::vector<Value>& values) override {
        Rows rows = connection_.run_prepared(sql, values);
        for (const auto& row : rows) {
            EXPECT_EQ(row.size(), 4U) << "the pattern's programs know four columns";
        }
        return rows;
    }

private:
    MariadbOr product_;
    MariadbConnection connection_;
};

}  // namespace

std::unique_ptr<PatternProgram> make_pattern_program(const std::string& store) {
    if (store == "postgres") return std::make_unique<ProgramOnPostgres>();
    return std::make_unique<ProgramOnMariadb>(store == "mysql" ? MariadbOr::mysql
                                                               : MariadbOr::mariadb);
}

}  // namespace leasehold::conformance
