#include <libpq-fe.h>

#include <leasehold/stores/postgres.hpp>

#include <charconv>

#include "database/connection.hpp"

namespace customers::database {
namespace {

// Every ? as PostgreSQL wants it: $1, $2, ...
std::string numbered(std::string_view sql) {
    std::string text;
    int number = 0;
    for (const char c : sql) {
        text += c == '?' ? '$' + std::to_string(++number) : std::string{c};
    }
    return text;
}

class PostgresConnection final : public Connection {
public:
    explicit PostgresConnection(const std::string& url)
        : connection_{PQconnectdb(url.c_str()), PQfinish} {
        if (PQstatus(connection_.get()) != CONNECTION_OK) fail("cannot connect");
        run("set client_min_messages = warning");
    }

    void begin(Purpose purpose) override {
        run(purpose == Purpose::writing ? "begin isolation level read committed"
                                        : "begin isolation level repeatable read, read only");
    }

    leasehold::Result<leasehold::Lease> guard(const leasehold::LockKey& key,
                                              leasehold::LockId lock_id) override {
        return leasehold::postgres::guard(connection_.get(), key, lock_id);
    }
    leasehold::Result<leasehold::Lease> release(const leasehold::LockKey& key,
                                                leasehold::LockId lock_id) override {
        return leasehold::postgres::release(connection_.get(), key, lock_id);
    }

private:
    Answer execute(std::string_view sql, const Parameters& parameters) override {
        std::vector<const char*> values;
        for (const std::string& text : parameters) values.push_back(text.c_str());
        const std::unique_ptr<::pg_result, void (*)(::pg_result*)> result{
            PQexecParams(connection_.get(), numbered(sql).c_str(), static_cast<int>(values.size()),
                         nullptr, values.data(), nullptr, nullptr, 0),
            PQclear};
        const ExecStatusType status = PQresultStatus(result.get());
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail(sql);
        Answer answer;
        for (int r = 0; r < PQntuples(result.get()); ++r) {
            Row& row = answer.rows.emplace_back();
            for (int c = 0; c < PQnfields(result.get()); ++c) {
                row.emplace_back(PQgetvalue(result.get(), r, c), PQgetlength(result.get(), r, c));
            }
        }
        const std::string_view changed = PQcmdTuples(result.get());
        std::from_chars(changed.data(), changed.data() + changed.size(), answer.changed);
        return answer;
    }

    [[noreturn]] void fail(std::string_view doing) const {
        throw DatabaseError{"postgres: " + std::string{doing} + ": " +
                            PQerrorMessage(connection_.get())};
    }

    const std::unique_ptr<::pg_conn, void (*)(::pg_conn*)> connection_;
};

}  // namespace

std::unique_ptr<Connection> connect_postgres(const std::string& url) {
    return std::make_unique<PostgresConnection>(url);
}

}  // namespace customers::database
