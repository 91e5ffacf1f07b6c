#pragma once

#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include <leasehold/lock_key.hpp>
#include <leasehold/request.hpp>

#include "stores/http/server_connection.hpp"

// The paths of a server, and the meaning of its answers.
namespace leasehold::http {

// Throws BadRequest if no URL can name the key.
[[nodiscard]] std::string path_of(const LockKey& key);

// Throws BadRequest if the answer is about another key, or another lease of the caller's own, than
// the request: the caller would act on a lock that it does not hold.
void require_fit(const Request& request, const Outcome& outcome);

// The problem document of an error answer; null if it has none, as an answer of a proxy.
[[nodiscard]] boost::json::value problem_in(const Response& response);

// The body of a successful answer. Throws StoreFault for any other answer.
[[nodiscard]] boost::json::value understood(const std::string& server, const Response& response,
                                            StoreFault::Effect effect);

// A text field of a problem document; empty if it is missing.
[[nodiscard]] std::string field_of(const boost::json::value& problem, std::string_view field);

[[nodiscard]] StoreFault not_understood(const std::string& server, StoreFault::Effect effect,
                                        const std::string& problem);

}  // namespace leasehold::http
