// `.load leasehold`: guard() for every language that can load an extension into SQLite.
//
//   select leasehold_guard(type, id, lock_id)
//
// presents a live, exclusive lease until the transaction ends, and returns its fence.
#include <sqlite3ext.h>

#include <leasehold/errors.hpp>
#include <leasehold/stores/sqlite.hpp>

#include <new>
#include <string>

#include "stores/sqlite/database.hpp"

SQLITE_EXTENSION_INIT1

namespace leasehold::sqlite {
namespace {

std::string text_of(sqlite3_value* value) {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_value_text(value));
    return bytes == nullptr
               ? std::string{}
               : std::string(bytes, static_cast<std::size_t>(sqlite3_value_bytes(value)));
}

// "; Order/1 is held by alice until ...", where somebody else holds the key.
std::string holder_of(::sqlite3* db, const LockKey& key) {
    const std::string type{key.type()};
    const std::string id{key.id()};
    Statement query{db, "select sentence from lock_refusals where type = ?1 and id = ?2"};
    return query.bind(1, type).bind(2, id).step() ? "; " + query.text(0) : "";
}

// Throws BadRequest where guard() would return a refusal.
Fence guard_or_throw(::sqlite3* db, const LockKey& key, const std::string& lock_id) {
    if (sqlite3_get_autocommit(db) != 0) {
        throw BadRequest{
            "leasehold_guard needs an open transaction; begin one with BEGIN IMMEDIATE"};
    }
    const auto id = LockId::parse(lock_id);
    const auto lease = guard(db, key, id.value_or(LockId{}));
    if (!lease) {
        const bool busy = lease.error().kind == Refusal::Kind::busy;
        throw BadRequest{lease.error().message() + (busy ? "" : holder_of(db, key))};
    }
    if (lease->mode == Mode::shared) {
        throw BadRequest{"the lease of " + key.to_string() +
                         " is shared; a write needs an exclusive lease"};
    }
    return lease->fence;
}

void guard_function(sqlite3_context* context, int /*argc*/, sqlite3_value** argv) {
    try {
        const LockKey key{text_of(argv[0]), text_of(argv[1])};
        sqlite3_result_int64(
            context, guard_or_throw(sqlite3_context_db_handle(context), key, text_of(argv[2])));
    } catch (const std::bad_alloc&) {
        sqlite3_result_error_nomem(context);
    } catch (const std::exception& error) {
        sqlite3_result_error(context, ("leasehold: " + std::string{error.what()}).c_str(), -1);
    }
}

}  // namespace
}  // namespace leasehold::sqlite

extern "C" __attribute__((visibility("default"))) int sqlite3_leasehold_init(
    sqlite3* db, char** /*error*/, const sqlite3_api_routines* api) {
    SQLITE_EXTENSION_INIT2(api);
    constexpr int arguments = 3;
    return sqlite3_create_function_v2(db, "leasehold_guard", arguments,
                                      SQLITE_UTF8 | SQLITE_DIRECTONLY, nullptr,
                                      leasehold::sqlite::guard_function, nullptr, nullptr, nullptr);
}
