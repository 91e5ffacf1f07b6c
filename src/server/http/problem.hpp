#pragma once

#include <boost/json/object.hpp>

#include <chrono>
#include <string>
#include <string_view>

// Why a request is refused, as the parts below the protocols say it. Each protocol writes a problem
// in its own form (Protocol::error).
namespace leasehold::server {

struct Problem {
    unsigned status = 500;
    std::string_view code{};  // stable; for programs
    std::string detail{};     // for people
    boost::json::object facts{};
    std::string fields{};        // header fields of the reply, each a whole line
    unsigned retry_after_s = 0;  // 0: the reply has no Retry-After
    bool last = false;           // the connection ends with the reply
};

// Thrown to refuse a request.
struct Refused {
    Problem problem;
};

[[nodiscard]] Problem not_found();
[[nodiscard]] Problem takes_no_body();
// Nothing was done; the same request may succeed in a moment.
[[nodiscard]] Problem overloaded(std::string_view detail);
[[nodiscard]] Problem too_often(std::string_view detail, std::chrono::duration<double> wait);

}  // namespace leasehold::server
