#include "server/v1/cursor.hpp"

#include <leasehold/errors.hpp>

#include "server/http/target.hpp"
#include "wire/url.hpp"

namespace leasehold::server::v1 {

std::string cursor_of(const Holder& last) {
    std::string cursor = std::to_string(last.fence) + '/';
    wire::append_encoded(cursor, last.key.type());
    cursor.push_back('/');
    wire::append_encoded(cursor, last.key.id());
    return cursor;
}

Holder holder_at(std::string_view cursor) {
    const BadRequest refusal{"\"after\" must be the \"next\" of the page before"};
    const std::size_t slash = cursor.find('/');
    const std::size_t next = cursor.find('/', slash + 1);
    if (slash == std::string_view::npos || next == std::string_view::npos) throw refusal;
    const auto type = decoded(cursor.substr(slash + 1, next - slash - 1));
    const auto id = decoded(cursor.substr(next + 1));
    if (!type || !id) throw refusal;
    return {.key = {*type, *id},
            .fence = integer_of("the fence in \"after\"", cursor.substr(0, slash))};
}

}  // namespace leasehold::server::v1
