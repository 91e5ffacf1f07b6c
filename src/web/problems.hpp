#pragma once

#include <boost/json/object.hpp>

#include <string_view>

#include <leasehold/lease.hpp>
#include <leasehold/web/http.hpp>

namespace leasehold::web {

[[nodiscard]] Response json_response(int status, const boost::json::object& body);
// A problem document (RFC 9457), as the Leasehold server sends them, with these fields in addition.
[[nodiscard]] Response problem_response(int status, std::string_view code, std::string_view detail,
                                        boost::json::object fields);
[[nodiscard]] Response refusal_response(const Refusal& refusal);

}  // namespace leasehold::web
