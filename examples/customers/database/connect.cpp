#include "database/mariadb/connect.hpp"
#include "database/connection.hpp"
#include "database/postgres/connect.hpp"
#include "database/sqlite/connect.hpp"

namespace customers::database {

std::unique_ptr<Connection> connect(const std::string& url) {
    if (url.starts_with("sqlite:")) return sqlite::connect(url);
    if (url.starts_with("postgres")) return postgres::connect(url);
    if (url.starts_with("mysql:") || url.starts_with("mariadb:")) return mariadb::connect(url);
    throw DatabaseError{
        "the database must be sqlite:FILE, postgres://..., mysql://... or mariadb://..."};
}

}  // namespace customers::database
