#include "server/v1/query.hpp"

#include <leasehold/errors.hpp>

#include "core/enum_names.hpp"

namespace leasehold::server::v1 {

OwnerScope scope_in(const Query& query) {
    const auto value = query.text("scope");
    if (!value) return OwnerScope::exact;
    if (const auto scope = owner_scope_names.find(*value)) return *scope;
    throw BadRequest{R"("scope" must be one of "exact", "below")"};
}

std::optional<LockKey> key_in(const Query& query) {
    const auto type = query.text("type");
    const auto id = query.text("id");
    if (type.has_value() != id.has_value()) {
        throw BadRequest{R"("type" and "id" name a key only together)"};
    }
    if (!type) return std::nullopt;
    return LockKey{*type, *id};
}

std::size_t limit_in(const Query& query, std::size_t otherwise) {
    const auto value = query.integer("limit");
    if (value && *value < 1) throw BadRequest{"\"limit\" must be at least 1"};
    return value ? static_cast<std::size_t>(*value) : otherwise;
}

}  // namespace leasehold::server::v1
