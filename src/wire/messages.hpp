#pragma once

#include <boost/json/object.hpp>

#include <optional>
#include <string>

#include <leasehold/language.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/request.hpp>

#include "wire/json.hpp"

// Requests and answers as JSON: the same in the server, the http store and the command's --json.
namespace leasehold::wire {

// A lease with its secret, for its holder.
[[nodiscard]] json::object to_json(const Lease& lease);
// The same as text, without the object in between.
void print(std::string& out, const Lease& lease);
// What everybody may know.
[[nodiscard]] json::object to_json(const Holder& holder);
[[nodiscard]] json::object to_json(const PastLease& past);
// Only the `detail` of a refusal is in that language.
[[nodiscard]] json::object to_json(const Refusal& refusal, Language language = Language::english);
[[nodiscard]] json::object to_json(const StoreFault& fault);

// {"op": "try", "type": "Order", "id": "1", ...}. A try without a lock id gets one drawn.
[[nodiscard]] json::object to_json(const Request& request);
// Throws BadRequest, which names the field. A request without a ttl gets the default.
[[nodiscard]] Request request_from(const json::value& message,
                                   Duration default_ttl = Limits{}.default_ttl);
// The same for fields without the operation, the key and the lock id, which the caller knows from
// elsewhere.
[[nodiscard]] TryLock try_from(Fields& terms, LockKey key, std::optional<LockId> lock_id,
                               Duration default_ttl);
[[nodiscard]] Extend extend_from(Fields& terms, std::optional<LockKey> key, LockId lock_id);
[[nodiscard]] Renew renew_from(Fields& terms, std::optional<LockKey> key, LockId lock_id,
                               Duration default_ttl);
[[nodiscard]] Break break_from(Fields& terms, LockKey key);

// {"lease": {...}}, {"leases": [...]}, {"holders": [...], "store_now": ...},
// {"history": [...], "store_now": ...}, {"purged": {...}}, {"refused": {...}} or {"fault": {...}}.
// A page that was cut has "cut": true. A server that names only some of the "leases" that a
// release_all has ended adds "leases_in_all".
[[nodiscard]] json::object to_json(const Outcome& outcome, Language language = Language::english);
void print(std::string& out, const Outcome& outcome, Language language = Language::english);
// Throws BadRequest if it is not one.
[[nodiscard]] Outcome outcome_from(const json::value& message);

}  // namespace leasehold::wire
