#pragma once

#include <string>
#include <string_view>

namespace customers::database::mariadb {

// mariadb://user:password@host:port/database
struct Url {
    std::string host{};
    unsigned port = 3306;
    std::string user{};
    std::string password{};
    std::string database{};
};

// Throws DatabaseError, which does not repeat the URL: it may hold a password.
[[nodiscard]] Url read_url(std::string_view text);

}  // namespace customers::database::mariadb
