#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "server/http/message.hpp"
#include "server/http/problem.hpp"

namespace leasehold::server {

// The media type in a Content-Type field, or in one part of an Accept field, without its
// parameters.
[[nodiscard]] std::string media_type(std::string_view field);

// The body, whose media type the protocol has checked. Throws BadRequest if it is not JSON. Frees
// the body's text.
[[nodiscard]] boost::json::value json_body(HttpRequest& request,
                                           boost::json::storage_ptr storage = {});

// The fields of the body; none if there is no body.
[[nodiscard]] boost::json::object optional_fields(HttpRequest& request,
                                                  boost::json::storage_ptr storage = {});

}  // namespace leasehold::server
