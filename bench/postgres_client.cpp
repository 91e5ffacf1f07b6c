#include "postgres_client.hpp"

#include <libpq-fe.h>

#include <cstdlib>
#include <stdexcept>

namespace leasehold::bench {
namespace {

using Answer = std::unique_ptr<PGresult, decltype(&PQclear)>;

Answer checked(PGconn* connection, PGresult* raw) {
    Answer answer{raw, PQclear};
    const auto status = PQresultStatus(raw);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        throw std::runtime_error{PQerrorMessage(connection)};
    }
    return answer;
}

Answer run_prepared(PGconn* connection, const char* name,
                    std::initializer_list<const char*> parameters) {
    return checked(connection, PQexecPrepared(connection, name, static_cast<int>(parameters.size()),
                                              parameters.begin(), nullptr, nullptr, 0));
}

}  // namespace

void PostgresClient::Close::operator()(pg_conn* connection) const noexcept {
    PQfinish(connection);
}

PostgresClient::PostgresClient(const std::string& url) : connection_{PQconnectdb(url.c_str())} {
    if (PQstatus(connection_.get()) != CONNECTION_OK) {
        throw std::runtime_error{PQerrorMessage(connection_.get())};
    }
}

void PostgresClient::execute(const std::string& sql) {
    checked(connection_.get(), PQexec(connection_.get(), sql.c_str()));
}

void PostgresClient::prepare(const char* name, const char* sql) {
    checked(connection_.get(), PQprepare(connection_.get(), name, sql, 0, nullptr));
}

std::size_t PostgresClient::run(const char* name, std::initializer_list<const char*> parameters) {
    const Answer answer = run_prepared(connection_.get(), name, parameters);
    if (PQresultStatus(answer.get()) == PGRES_TUPLES_OK) {
        return static_cast<std::size_t>(PQntuples(answer.get()));
    }
    return std::strtoul(PQcmdTuples(answer.get()), nullptr, 10);
}

std::optional<std::string> PostgresClient::find(const char* name,
                                                std::initializer_list<const char*> parameters) {
    const Answer answer = run_prepared(connection_.get(), name, parameters);
    if (PQntuples(answer.get()) == 0) return std::nullopt;
    return PQgetvalue(answer.get(), 0, 0);
}

}  // namespace leasehold::bench
