#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "server/http/message.hpp"

namespace leasehold::server {

// Thrown where a request is refused with a reply of its own.
struct Refused {
    Reply reply;
};

// What a Content-Type names, or one part of an Accept field, without its parameters.
[[nodiscard]] std::string media_type(std::string_view field);

// Throws BadRequest where it carries a lock id.
void refuse_token(const HttpRequest& request);

// Throws Refused where the content type is not JSON's.
void refuse_unless_json(const HttpRequest& request);

// The same, and BadRequest where the body is not JSON. Drops it once it is read.
[[nodiscard]] boost::json::value json_body(HttpRequest& request,
                                           boost::json::storage_ptr storage = {});

// The fields of the body, none where there is no body.
[[nodiscard]] boost::json::object optional_fields(HttpRequest& request,
                                                  boost::json::storage_ptr storage = {});

}  // namespace leasehold::server
