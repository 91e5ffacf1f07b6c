#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace customers::database::mariadb {

// mysql://user:password@host:port/database, or the same with mariadb:
struct Url {
    enum class Product : std::uint8_t { mysql, mariadb };
    Product product = Product::mariadb;
    std::string host{};
    unsigned port = 3306;
    std::string user{};
    std::string password{};
    std::string database{};
};

// Throws DatabaseError, which does not repeat the URL: it may hold a password.
[[nodiscard]] Url read_url(std::string_view text);

}  // namespace customers::database::mariadb
