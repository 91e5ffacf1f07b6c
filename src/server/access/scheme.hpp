#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace leasehold::server {

// How the clients of a protocol show their token: Bearer, Basic.
struct Scheme {
    // The token in an Authorization field, perhaps decoded into `space`. Nothing if the field does
    // not have the form.
    std::optional<std::string_view> (*token_in)(std::string_view authorization, std::string& space);
    std::string_view form;  // what the field must look like, for people: "Bearer TOKEN"
    // The WWW-Authenticate fields of a 401: for a request without a token, and for one whose token
    // is not known.
    std::string_view challenge;
    std::string_view challenge_after_failure;
};

}  // namespace leasehold::server
