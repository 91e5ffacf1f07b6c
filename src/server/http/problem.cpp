#include "server/http/problem.hpp"

#include <algorithm>
#include <cmath>

namespace leasehold::server {

Problem not_found() {
    return {.status = 404, .code = "not_found", .detail = "there is nothing under this URL"};
}

Problem takes_no_body() {
    return {.status = 400, .code = "bad_request", .detail = "this request takes no body"};
}

Problem overloaded(std::string_view detail) {
    return {.status = 503, .code = "overloaded", .detail = std::string{detail}, .retry_after_s = 1};
}

Problem too_often(std::string_view detail, std::chrono::duration<double> wait) {
    constexpr double longest_s = 3600;
    return {.status = 429,
            .code = "too_many_requests",
            .detail = std::string{detail},
            .retry_after_s =
                static_cast<unsigned>(std::clamp(std::ceil(wait.count()), 1.0, longest_s))};
}

}  // namespace leasehold::server
