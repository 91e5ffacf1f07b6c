#include "web/problems.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include "wire/messages.hpp"

namespace leasehold::web {
namespace {

// The time after which the first of the holders may be gone.
std::string retry_after(const Refusal& refusal) {
    constexpr std::chrono::seconds shortest{1};
    constexpr std::chrono::seconds longest{60};
    if (refusal.holders.empty()) return std::to_string(shortest.count());
    const Time first = std::ranges::min(refusal.holders, {}, &Holder::expires_at).expires_at;
    if (first == never) return std::to_string(longest.count());
    const auto left = std::chrono::ceil<std::chrono::seconds>(first - refusal.store_now);
    return std::to_string(std::clamp(left, shortest, longest).count());
}

}  // namespace

Response json_response(int status, const boost::json::object& body) {
    Response response{.status = status, .body = wire::print(body)};
    response.headers.emplace_back("Cache-Control", "no-store");
    return response;
}

Response problem_response(int status, std::string_view code, std::string_view detail,
                          boost::json::object fields) {
    fields["type"] = "urn:leasehold:" + std::string{code};
    fields["status"] = status;
    fields["code"] = code;
    fields["detail"] = detail;
    Response response = json_response(status, fields);
    response.content_type = "application/problem+json";
    return response;
}

Response refusal_response(const Refusal& refusal) {
    const bool gone = refusal.kind == Refusal::Kind::gone;
    Response response = problem_response(gone ? 410 : 409, to_string(refusal.kind),
                                         refusal.message(), wire::to_json(refusal));
    if (!gone) response.headers.emplace_back("Retry-After", retry_after(refusal));
    return response;
}

}  // namespace leasehold::web
