#pragma once

#include <boost/json/object.hpp>

#include <leasehold/store.hpp>

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
[[nodiscard]] json::object to_json(const Refusal& refusal);
[[nodiscard]] json::object to_json(const StoreFault& fault);

// {"op": "try", "type": "Order", "id": "1", ...}. A try without a lock id gets one drawn.
[[nodiscard]] json::object to_json(const Request& request);
// Throws BadRequest, which names the field.
[[nodiscard]] Request request_from(const json::value& message);

// {"lease": {...}}, {"leases": [...]}, {"holders": [...]}, {"history": [...]}, {"purged": {...}},
// {"refused": {...}} or {"fault": {...}}.
[[nodiscard]] json::object to_json(const Outcome& outcome);
void print(std::string& out, const Outcome& outcome);
// Throws BadRequest where it is none.
[[nodiscard]] Outcome outcome_from(const json::value& message);

}  // namespace leasehold::wire
