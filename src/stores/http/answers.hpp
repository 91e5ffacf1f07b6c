#pragma once

#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include <leasehold/lock_key.hpp>

#include "stores/http/server_connection.hpp"

// Where a server is asked, and what its answers mean.
namespace leasehold::http {

[[nodiscard]] std::string path_of(const LockKey& key);

// The problem document of an answer that is no success; null where it has none, as that of a proxy.
[[nodiscard]] boost::json::value problem_in(const Response& response);

// The body of a success, or what the server says instead: throws StoreFault.
[[nodiscard]] boost::json::value understood(const std::string& server, const Response& response,
                                            StoreFault::Effect effect);

// A text field of a problem document; empty where it has none.
[[nodiscard]] std::string field_of(const boost::json::value& problem, std::string_view field);

[[nodiscard]] StoreFault not_understood(const std::string& server, StoreFault::Effect effect,
                                        const std::string& problem);

}  // namespace leasehold::http
