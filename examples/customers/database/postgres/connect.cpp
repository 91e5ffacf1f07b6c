#include "database/postgres/connect.hpp"

#include <libpq-fe.h>

#include <leasehold/stores/postgres.hpp>

#include <charconv>

namespace customers::database::postgres {
namespace {

struct Finish {
    void operator()(::pg_conn* connection) const { PQfinish(connection); }
};
struct Clear {
    void operator()(::pg_result* result) const { PQclear(result); }
};

// "?" as PostgreSQL wants it: $1, $2, ...
std::string numbered(std::string_view sql) {
    std::string text;
    int number = 0;
    for (const char c : sql) {
        if (c == '?') {
            text += '$' + std::to_string(++number);
        } else {
            text += c;
        }
    }
    return text;
}

class PostgresConnection final : public Connection {
public:
    explicit PostgresConnection(const std::string& url) : connection_{PQconnectdb(url.c_str())} {
        if (PQstatus(connection_.get()) != CONNECTION_OK) fail("cannot connect");
        run("set client_min_messages = warning");
    }

    Answer run(std::string_view sql, const Parameters& parameters) override {
        std::vector<const char*> values;
        for (const std::string& text : parameters) values.push_back(text.c_str());
        const std::unique_ptr<::pg_result, Clear> result{
            PQexecParams(connection_.get(), numbered(sql).c_str(), static_cast<int>(values.size()),
                         nullptr, values.data(), nullptr, nullptr, 0)};
        const ExecStatusType status = PQresultStatus(result.get());
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail(sql);
        return answer_of(result.get());
    }
    using Connection::run;

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
    static Answer answer_of(::pg_result* result) {
        Answer answer;
        for (int r = 0; r < PQntuples(result); ++r) {
            Row& row = answer.rows.emplace_back();
            for (int c = 0; c < PQnfields(result); ++c) {
                row.emplace_back(PQgetvalue(result, r, c),
                                 static_cast<std::size_t>(PQgetlength(result, r, c)));
            }
        }
        const std::string_view changed = PQcmdTuples(result);
        std::from_chars(changed.data(), changed.data() + changed.size(), answer.changed);
        return answer;
    }

    [[noreturn]] void fail(std::string_view doing) const {
        throw DatabaseError{"postgres: " + std::string{doing} + ": " +
                            PQerrorMessage(connection_.get())};
    }

    std::unique_ptr<::pg_conn, Finish> connection_;
};

}  // namespace

std::unique_ptr<Connection> connect(const std::string& url) {
    return std::make_unique<PostgresConnection>(url);
}

}  // namespace customers::database::postgres
