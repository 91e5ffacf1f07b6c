#include "server/v1/native.hpp"

#include <algorithm>

#include "core/text.hpp"
#include "server/http/bodies.hpp"
#include "server/v1/problems.hpp"

namespace leasehold::server::v1 {
namespace {

constexpr std::size_t longest_token = 8 * 1024;  // a JWT

// The text after "Bearer", which is written in any case.
std::optional<std::string_view> bearer_token(std::string_view authorization, std::string&) {
    const std::size_t space = authorization.find(' ');
    if (lower(authorization.substr(0, space)) != "bearer") return std::nullopt;
    std::string_view token = authorization.substr(std::min(space, authorization.size()));
    token.remove_prefix(std::min(token.find_first_not_of(' '), token.size()));
    if (token.empty() || token.size() > longest_token) return std::nullopt;
    return token;
}

}  // namespace

const Scheme bearer{
    .token_in = bearer_token,
    .form = "Bearer TOKEN",
    .challenge = R"(Bearer realm="leasehold")",
    .challenge_after_failure = R"(Bearer realm="leasehold", error="invalid_token")"};

Native::Native(Backend& backend) : backend_{backend} {}

void Native::check_body_type(const HttpRequest& request) const {
    if (media_type(request.content_type) == "application/json") return;
    throw Refused{{.status = 415,
                   .code = "unsupported_media_type",
                   .detail = "the body must be JSON, with Content-Type: application/json"}};
}

Reply Native::error(const Problem& problem, Language preferred) const {
    return reply_to(problem, preferred);
}

Reply Native::error(const StoreFault& fault) const {
    return reply_to(fault);
}

Reply Native::without_memory(StoreFault::Effect effect) const noexcept {
    static constexpr std::string_view none =
        R"({"type":"urn:leasehold:fault","title":"Service Unavailable","status":503,"code":"fault",)"
        R"("detail":"the server has not enough memory for this request; nothing was done",)"
        R"("effect":"none","cause":"unavailable"})";
    static constexpr std::string_view unknown =
        R"({"type":"urn:leasehold:fault","title":"Service Unavailable","status":503,"code":"fault",)"
        R"("detail":"the server had not enough memory for this request; it may have been carried out",)"
        R"("effect":"unknown","cause":"unavailable"})";
    return {.status = 503,
            .static_body = effect == StoreFault::Effect::none ? none : unknown,
            .content_type = "application/problem+json",
            .retry_after_s = 1};
}

}  // namespace leasehold::server::v1
