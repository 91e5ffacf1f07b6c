#include "server/v1/lock_token.hpp"

#include <leasehold/errors.hpp>

namespace leasehold::server::v1 {
namespace {

constexpr std::string_view lock_token = "Lock-Token";

}  // namespace

bool has_lock_token(const HttpRequest& request) {
    return request.fields.find(lock_token).has_value();
}

LockId lock_id_in(const HttpRequest& request) {
    const auto text = request.fields.find(lock_token);
    if (!text) throw BadRequest{"the Lock-Token field is missing: it carries the lock id"};
    auto id = LockId::parse(*text);
    if (!id) throw BadRequest{"Lock-Token: " + id.error()};
    return *id;
}

void refuse_lock_token(const HttpRequest& request) {
    if (has_lock_token(request)) throw BadRequest{"this request takes no Lock-Token"};
}

}  // namespace leasehold::server::v1
