#include "server/v1/problems.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/http/status.hpp"
#include "wire/messages.hpp"

namespace leasehold::server::v1 {
namespace {

namespace json = boost::json;

// The time after which the first of the holders may be gone.
unsigned retry_after(const Refusal& refusal) {
    constexpr std::chrono::seconds shortest{1};
    constexpr std::chrono::seconds longest{60};
    if (refusal.holders.empty()) return static_cast<unsigned>(shortest.count());
    const Time first = std::ranges::min(refusal.holders, {}, &Holder::expires_at).expires_at;
    if (first == never) return static_cast<unsigned>(longest.count());
    const auto left = std::chrono::ceil<std::chrono::seconds>(first - refusal.store_now);
    return static_cast<unsigned>(std::clamp(left, shortest, longest).count());
}

}  // namespace

Reply reply_to(const Problem& problem, Language preferred) {
    json::object body = problem.facts;
    body["type"] = "urn:leasehold:" + std::string{problem.code};
    body["title"] = reason_of(problem.status);
    body["status"] = problem.status;
    body["detail"] = problem.detail.in(preferred);
    body["code"] = problem.code;
    Reply reply = json_reply(problem.status, body);
    reply.content_type = "application/problem+json";
    reply.language = problem.detail.language(preferred);
    reply.fields = problem.fields;
    reply.retry_after_s = problem.retry_after_s;
    reply.last = problem.last;
    return reply;
}

Reply reply_to(const Refusal& refusal, Language preferred) {
    const bool gone = refusal.kind == Refusal::Kind::gone;
    Reply reply = reply_to(Problem{.status = gone ? 410U : 409U,
                                   .code = to_string(refusal.kind),
                                   .detail = refusal.message(preferred),
                                   .facts = wire::to_json(refusal),
                                   .retry_after_s = gone ? 0 : retry_after(refusal)},
                           Language::english);
    reply.language = preferred;
    return reply;
}

Reply reply_to(const StoreFault& fault) {
    if (fault.cause() == StoreFault::Cause::lock_id_in_use) {
        return reply_to(Problem{.status = 409, .code = "lock_id_in_use", .detail = fault.what()},
                        Language::english);
    }
    return reply_to(Problem{.status = 503,
                            .code = "fault",
                            .detail = fault.what(),
                            .facts = wire::to_json(fault),
                            .retry_after_s = 1},
                    Language::english);
}

}  // namespace leasehold::server::v1
