#include "conformance/postgres_harness.hpp"
#include "conformance/conformance.hpp"
#include "conformance/later_fields.hpp"

#include <libpq-fe.h>
#include <sys/socket.h>

#include <stdexcept>
#include <utility>

#include <leasehold/stores/postgres.hpp>

#include "stores/postgres/schema.hpp"
#include "support/private_server.hpp"

namespace leasehold::conformance {

PostgresConnection::PostgresConnection()
    : connection_{PQconnectdb(leasehold::testing::shared_postgres().url().c_str())} {
    if (PQstatus(connection_) != CONNECTION_OK) {
        const std::string message = PQerrorMessage(connection_);
        PQfinish(connection_);
        throw std::runtime_error{message};
    }
    PQsetNoticeProcessor(connection_, [](void*, const char*) {}, nullptr);
}

PostgresConnection::~PostgresConnection() {
    PQfinish(connection_);
}

PostgresConnection::Rows PostgresConnection::run(const std::string& sql,
                                                 const std::vector<std::string>& parameters) {
    std::vector<const char*> values;
    for (const std::string& parameter : parameters) values.push_back(parameter.c_str());
    PGresult* result = PQexecParams(connection_, sql.c_str(), static_cast<int>(values.size()),
                                    nullptr, values.data(), nullptr, nullptr, 0);
    const ExecStatusType status = PQresultStatus(result);
    Rows rows;
    for (int row = 0; row < PQntuples(result); ++row) {
        std::vector<std::string>& fields = rows.emplace_back();
        for (int field = 0; field < PQnfields(result); ++field) {
            fields.emplace_back(PQgetvalue(result, row, field));
        }
    }
    PQclear(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        throw std::runtime_error{sql + ": " + PQerrorMessage(connection_)};
    }
    return rows;
}

namespace {

class PostgresTransaction final : public CallerTransaction {
public:
    Result<Lease> guard(const LockKey& key, LockId lock_id) override {
        return postgres::guard(connection_.get(), key, lock_id);
    }
    Result<Lease> release(const LockKey& key, LockId lock_id) override {
        return postgres::release(connection_.get(), key, lock_id);
    }
    Result<Lease> guard(const CoarseGrained& aggregates, const LockKey& member,
                        LockId lock_id) override {
        return aggregates.guard(postgres::guard, connection_.get(), member, lock_id);
    }
    Result<Lease> release(const CoarseGrained& aggregates, const LockKey& member,
                          LockId lock_id) override {
        return aggregates.release(postgres::release, connection_.get(), member, lock_id);
    }
    void write(const std::string& record, const std::string& text) override {
        connection_.run(
            "insert into app_records values ($1, $2) on conflict (record) do update set text = "
            "excluded.text",
            {record, text});
    }
    std::string read(const std::string& record) override {
        const auto rows =
            connection_.run("select text from app_records where record = $1", {record});
        return rows.empty() ? "" : rows.front().front();
    }
    void begin() override { connection_.run("begin"); }
    void commit() override { connection_.run("commit"); }
    void rollback() override { connection_.run("rollback"); }
    Rows run(const std::string& sql) override { return connection_.run(sql); }
    Fence guard_in_sql(const LockKey& key, const std::string& lock_id) override {
        const auto rows =
            connection_.run("select leasehold_guard($1, $2, $3)",
                            {std::string{key.type()}, std::string{key.id()}, lock_id});
        return std::stoll(rows.front().front());
    }
    void wait_for_nobody() override { connection_.run("set lock_timeout = '1ms'"); }
    void repeat_reads() override {
        connection_.run("set default_transaction_isolation = 'repeatable read'");
    }
    void die() override { ::shutdown(PQsocket(connection_.get()), SHUT_RDWR); }

private:
    PostgresConnection connection_;
};

class PostgresHarness final : public SqlHarness {
public:
    explicit PostgresHarness(const LaneOptions& lanes = {}) : lanes_{lanes} {
        own_.run("drop schema public cascade");
        own_.run("create schema public");
        own_.run("create table app_records (record text primary key, text text not null)");
    }

    std::unique_ptr<Store> open(StoreOptions options) override {
        return open_with(postgres::schema_steps(), options);
    }

    std::unique_ptr<Store> open_later_version() override {
        SchemaSteps steps = postgres::schema_steps();
        steps.push_back(schema_step(later_fields, steps.size() + 1, postgres::column_types));
        return open_with(steps, {});
    }

    void become_version_1() override {
        for (const std::string table : {"locks", "lock_shares", "lock_history"}) {
            own_.run("alter table " + table + " drop column token_id");
        }
        own_.run("update leasehold set schema = 1");
    }

    void overwrite(const std::string& field, int number) override {
        for (const std::string table : {"locks", "lock_history"}) {
            own_.run("update " + table + " set " + field + " = " + std::to_string(number));
        }
    }

    void let_pass(Duration duration) override {
        const std::string by =
            " - interval '" + std::to_string(duration.count()) + " microseconds'";
        own_.run("begin");
        own_.run("update locks set expiration_time = expiration_time" + by +
                 ", granted_at = granted_at" + by + ", touched_at = touched_at" + by +
                 ", ended_at = ended_at" + by);
        own_.run("update lock_shares set expiration_time = expiration_time" + by +
                 ", granted_at = granted_at" + by);
        own_.run("update lock_history set expiration_time = expiration_time" + by +
                 ", granted_at = granted_at" + by + ", ended_at = ended_at" + by);
        own_.run("commit");
    }

    std::string dump() override {
        std::string text;
        for (const auto& table :
             own_.run("select tablename from pg_tables where schemaname = 'public' order by 1")) {
            text += table.front() + '\n';
            for (const auto& row :
                 own_.run("select t::text from \"" + table.front() + "\" t order by 1")) {
                text += row.front() + '\n';
            }
        }
        return text;
    }

    [[nodiscard]] std::size_t crowd() const override {
        return lanes_.use == LaneOptions::Use::always_in_turn ? 12 : 64;
    }
    [[nodiscard]] OtherKeys other_keys_beside_a_transaction() const override {
        return OtherKeys::granted;
    }
    std::unique_ptr<CallerTransaction> connect() override {
        return std::make_unique<PostgresTransaction>();
    }
    std::unique_ptr<TableProtection> protection() override {
        return postgres::open_protection(leasehold::testing::shared_postgres().url());
    }
    [[nodiscard]] std::string quoted(const std::string& name) const override {
        std::string text;
        for (const char c : name) text.append(c == '"' ? 2 : 1, c);
        return '"' + text + '"';
    }
    // PostgreSQL counts the rows of a session when the session ends.
    std::int64_t rows_read() override {
        const bool alone = eventually([&] {
            return own_
                .run(
                    "select 1 from pg_stat_activity where backend_type = 'client backend' "
                    "and pid <> pg_backend_pid()")
                .empty();
        });
        if (!alone) throw std::runtime_error{"another session is open"};
        return std::stoll(own_.run("select sum(coalesce(seq_tup_read, 0) + coalesce("
                                   "(select sum(idx_tup_read) from pg_stat_user_indexes i "
                                   "where i.relid = t.relid), 0)) from pg_stat_user_tables t")
                              .front()
                              .front());
    }
    void analyze() override { own_.run("analyze"); }
    void drop_a_trigger(const std::string& table) override {
        own_.run("drop trigger leasehold_protect_update on " + quoted(table));
    }

private:
    [[nodiscard]] std::unique_ptr<Store> open_with(const SchemaSteps& steps,
                                                   const StoreOptions& options) const {
        return postgres::open_with(steps, leasehold::testing::shared_postgres().url(), options,
                                   lanes_);
    }

    const LaneOptions lanes_;
    PostgresConnection own_;
};

}  // namespace

std::unique_ptr<SqlHarness> make_postgres_harness() {
    return std::make_unique<PostgresHarness>();
}

std::unique_ptr<SqlHarness> make_distant_harness() {
    // The server takes 50 connections, and a test may have a dozen handles and as many
    // transactions.
    return std::make_unique<PostgresHarness>(
        LaneOptions{.lanes = 2, .use = LaneOptions::Use::always_in_turn});
}

}  // namespace leasehold::conformance
