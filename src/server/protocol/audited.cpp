#include "server/protocol/audited.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <variant>
#include <vector>

#include "server/access/tokens.hpp"
#include "wire/messages.hpp"

namespace leasehold::server {
namespace {

namespace json = boost::json;

// More ended leases than this are only counted.
constexpr std::size_t most_leases_named = 5;

json::object lease_facts(const Lease& lease) {
    json::object facts;
    facts["type"] = lease.key.type();
    facts["id"] = lease.key.id();
    facts["fence"] = lease.fence;
    facts["owner"] = lease.owner;
    return facts;
}

void put(json::object& facts, const Break& request) {
    facts["type"] = request.key.type();
    facts["id"] = request.key.id();
    facts["fence"] = request.fence;
    facts["by"] = request.by;
    facts["reason"] = request.reason;
}

void put(json::object& facts, const ReleaseAll& request) {
    facts["owner"] = request.owner;
    facts["scope"] = request.scope == OwnerScope::exact ? "exact" : "below";
}

void put(json::object& facts, const std::vector<Lease>& ended) {
    json::array named;
    for (std::size_t i = 0; i < std::min(ended.size(), most_leases_named); ++i) {
        named.emplace_back(lease_facts(ended[i]));
    }
    facts["ended"] = ended.size();
    facts["leases"] = std::move(named);
}

}  // namespace

bool is_audited(const Request& request) noexcept {
    const RequestKind kind = kind_of(request);
    return !only_reads(kind) && !takes(kind) && !names_own_lease(kind);
}

std::string_view outcome_name(const Outcome& outcome) noexcept {
    if (std::holds_alternative<Refusal>(outcome)) return "refused";
    const auto* const fault = std::get_if<StoreFault>(&outcome);
    if (fault == nullptr) return "done";
    return fault->effect() == StoreFault::Effect::none ? "failed" : "unknown";
}

bool changed_leases(const Outcome& outcome) noexcept {
    const auto* const leases = std::get_if<std::vector<Lease>>(&outcome);
    const auto* const purged = std::get_if<Purged>(&outcome);
    const auto* const fault = std::get_if<StoreFault>(&outcome);
    return std::holds_alternative<Lease>(outcome) || (leases != nullptr && !leases->empty()) ||
           (purged != nullptr && purged->forgotten > 0) ||
           (fault != nullptr && fault->effect() == StoreFault::Effect::unknown);
}

bool is_by_administrator(const Request& request, const Token* token) noexcept {
    const auto* const all = std::get_if<ReleaseAll>(&request);
    if (all == nullptr) return is_audited(request);
    return token != nullptr && all->token_id.empty();
}

json::object facts_of(const Request& request, const Outcome& outcome) {
    json::object facts;
    if (const auto* broken = std::get_if<Break>(&request)) put(facts, *broken);
    if (const auto* released = std::get_if<ReleaseAll>(&request)) put(facts, *released);
    if (const auto* lease = std::get_if<Lease>(&outcome)) facts["owner"] = lease->owner;
    if (const auto* leases = std::get_if<std::vector<Lease>>(&outcome)) put(facts, *leases);
    if (const auto* purged = std::get_if<Purged>(&outcome)) facts["forgotten"] = purged->forgotten;
    if (const auto* refusal = std::get_if<Refusal>(&outcome)) facts["why"] = refusal->message();
    return facts;
}

AuditEvent event_of(std::string_view action, std::string_view outcome, HttpRequest& request,
                    const ClientConnection& connection, Audit& audit) {
    if (request.audit_id.empty()) request.audit_id = audit.next_request_id();
    AuditEvent event{.action = action,
                     .outcome = outcome,
                     .address = connection.peer(),
                     .request_id = request.audit_id};
    if (request.token) {
        event.token = request.token->name;
        event.token_id = id_of(*request.token);
    }
    return event;
}

}  // namespace leasehold::server
