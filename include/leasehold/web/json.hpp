#pragma once

#include <string>

#include <leasehold/lease.hpp>
#include <leasehold/web/http.hpp>

// The JSON that <leasehold-guard> and leasehold.js read, for routes of your own. docs/web-kit.md
// lists the fields.
namespace leasehold::web {

// A lease with its lock id: for its holder only.
[[nodiscard]] std::string to_json(const Lease& lease);
// What everybody may know.
[[nodiscard]] std::string to_json(const Holder& holder);
[[nodiscard]] std::string to_json(const Refusal& refusal);

// The response to a refused request: a problem document (RFC 9457) with status 409 or 410.
[[nodiscard]] Response refused(const Refusal& refusal);
// A problem document with another code, for example (401, "unauthorized", "nobody is signed in").
[[nodiscard]] Response problem(int status, const std::string& code, const std::string& detail);

}  // namespace leasehold::web
