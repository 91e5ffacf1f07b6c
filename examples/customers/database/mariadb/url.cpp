#include "database/mariadb/url.hpp"

#include <leasehold/web/http.hpp>

#include <charconv>

#include "database/connection.hpp"

namespace customers::database::mariadb {
namespace {

// Cuts `text` at the separator: returns the part before it and leaves the part after it.
std::string_view take_until(std::string_view& text, char separator) {
    const std::string_view before = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(text.size(), before.size() + 1));
    return before;
}

std::string decoded(std::string_view text) {
    return leasehold::web::decode_url(text).value_or(std::string{text});
}

}  // namespace

Url read_url(std::string_view text) {
    const std::string_view scheme = text.substr(0, text.find("://"));
    if (scheme != "mysql" && scheme != "mariadb") {
        throw DatabaseError{"the URL begins with mysql:// or mariadb://"};
    }
    text.remove_prefix(scheme.size() + std::string_view{"://"}.size());
    Url url{.product = scheme == "mysql" ? Url::Product::mysql : Url::Product::mariadb};
    if (text.find('@') != std::string_view::npos) {
        std::string_view who = take_until(text, '@');
        url.user = decoded(take_until(who, ':'));
        url.password = decoded(who);
    }
    std::string_view where = take_until(text, '/');
    url.host = decoded(take_until(where, ':'));
    if (!where.empty()) {
        const auto [end, error] =
            std::from_chars(where.data(), where.data() + where.size(), url.port);
        if (error != std::errc{} || end != where.data() + where.size()) {
            throw DatabaseError{std::string{scheme} + ": the port of the URL is not a number"};
        }
    }
    url.database = decoded(text.substr(0, text.find('?')));
    return url;
}

}  // namespace customers::database::mariadb
