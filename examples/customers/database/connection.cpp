#include "database/connection.hpp"

namespace customers::database {

std::unique_ptr<Connection> connect(const std::string& url) {
    if (url.starts_with("sqlite:")) return connect_sqlite(url);
    if (url.starts_with("postgres")) return connect_postgres(url);
    if (url.starts_with("mysql:") || url.starts_with("mariadb:")) return connect_mariadb(url);
    throw DatabaseError{
        "the database must be sqlite:FILE, postgres://..., mysql://... or mariadb://..."};
}

}  // namespace customers::database
