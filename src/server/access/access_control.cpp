#include "server/access/access_control.hpp"

#include <boost/json/object.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "server/http/client_connection.hpp"
#include "server/http/phrases.hpp"
#include "server/monitoring/observer.hpp"

namespace leasehold::server {
namespace {

namespace json = boost::json;

constexpr std::size_t known_tokens = 100'000;
constexpr std::size_t known_addresses = 10'000;

Problem forbidden(const Denial& denied) {
    json::object facts;
    if (!denied.role.empty()) facts["role"] = denied.role;
    return {.status = 403, .code = "forbidden", .detail = denied.detail, .facts = std::move(facts)};
}

[[noreturn]] void refuse(const Denial& denied) {
    throw Refused{forbidden(denied)};
}

// One text, whatever is wrong: a stranger does not learn whether a token exists, existed or
// expired.
Problem unauthorized(const Scheme& scheme, std::string_view challenge) {
    return {.status = 401,
            .code = "unauthorized",
            .detail = {phrases::unauthorized, {{"form", scheme.form}}},
            .fields = "WWW-Authenticate: " + std::string{challenge} + "\r\n"};
}

std::string bucket_of(const Token& token, Pace pace) {
    return id_of(token) + (pace == Pace::asks ? "/asks" : "/keeps");
}

// How many requests a request counts as: a try for several keys takes as many leases.
std::size_t keys_tried(const Request& request) {
    const auto* const all = std::get_if<TryLockAll>(&request);
    return all == nullptr ? 1 : all->keys.size();
}

[[noreturn]] void refuse_for_now(const Token& token, std::chrono::duration<double> wait) {
    throw Refused{too_often({phrases::request_rate, {{"token", token.name}}}, wait)};
}

}  // namespace

AccessControl::AccessControl(const ServerOptions& options)
    : options_{options},
      tokens_{options.tokens},
      by_token_{known_tokens},
      by_address_{known_addresses} {}

void AccessControl::use(std::shared_ptr<const Tokens> tokens) {
    const std::lock_guard lock{mutex_};
    tokens_ = std::move(tokens);
}

std::shared_ptr<const Tokens> AccessControl::tokens() {
    const std::lock_guard lock{mutex_};
    return tokens_;
}

std::shared_ptr<const Token> AccessControl::now(const Token& token) {
    return tokens()->now(token);
}

bool AccessControl::admits(const Token& token, Need need) {
    const auto known = now(token);
    return known && !denial(*known, need);
}

bool AccessControl::still_sees_the_same(const Token& token) {
    const auto known = now(token);
    return known && !denial(*known, Need::see) && visible_keys(known.get()) == visible_keys(&token);
}

bool AccessControl::admits(const Token& token, const Request& wanted) {
    const auto known = now(token);
    return known && !denial(*known, wanted);
}

void AccessControl::admit(HttpRequest& request, const Rule& rule, const Scheme& scheme,
                          const ClientConnection& connection) {
    if (!options_.tokens || rule.need == Need::nothing) return;
    request.token = find(request, scheme, connection);
    if (!request.token) {
        Problem problem = unauthorized(
            scheme, request.authorization ? scheme.challenge_after_failure : scheme.challenge);
        if (const auto wait = count_unknown(connection)) {
            problem = too_often(phrases::unknown_tokens, *wait);
            problem.last = true;
        }
        throw Refused{std::move(problem)};
    }
    if (const auto denied = denial(*request.token, rule.need)) refuse(*denied);
    if (rule.pace == Pace::by_request) return;
    if (const auto wait = take(*request.token, rule.pace, 1)) refuse_for_now(*request.token, *wait);
}

void AccessControl::admit_again(HttpRequest& request, Need need, const Scheme& scheme,
                                const Request* wanted) {
    if (!request.token) return;
    auto known = now(*request.token);
    if (!known) {
        throw Refused{unauthorized(scheme, scheme.challenge_after_failure)};
    }
    request.token = std::move(known);
    if (const auto denied = denial(*request.token, need)) refuse(*denied);
    if (wanted == nullptr) return;
    if (const auto denied = denial(*request.token, *wanted)) refuse(*denied);
}

std::shared_ptr<const Token> AccessControl::recognise(const HttpRequest& request,
                                                      const Scheme& scheme,
                                                      const ClientConnection& connection) {
    if (!options_.tokens) return nullptr;
    const bool too_many = by_address_.refuses(connection.peer(), Buckets::Moment::clock::now());
    auto token = find(request, scheme, connection,
                      too_many ? Tokens::Jwts::remembered : Tokens::Jwts::verified);
    if (!token && request.authorization) (void)count_unknown(connection);
    return token;
}

std::shared_ptr<const Token> AccessControl::find(const HttpRequest& request, const Scheme& scheme,
                                                 const ClientConnection& connection,
                                                 Tokens::Jwts jwts) {
    const auto all = tokens();
    if (!request.authorization) {
        const ClientCertificate* const certificate = connection.certificate();
        return certificate != nullptr ? all->find(*certificate) : nullptr;
    }
    std::string space;
    const auto shown = scheme.token_in(*request.authorization, space);
    return shown ? all->find(*shown, jwts) : nullptr;
}

std::optional<Buckets::Wait> AccessControl::count_unknown(const ClientConnection& connection) {
    const std::string address = connection.peer();
    options_.observer->turned_away(address);
    const double per_minute = static_cast<double>(options_.failed_tokens);
    if (per_minute <= 0) return std::nullopt;
    const Rate rate{.per_second = per_minute / 60, .at_once = per_minute};
    return by_address_.take(address, rate, 1, Buckets::Moment::clock::now());
}

void AccessControl::admit(const HttpRequest& request, Request& wanted) {
    if (!request.token) return;
    if (const auto denied = denial(*request.token, wanted)) refuse(*denied);
    sign(wanted, *request.token);
}

void AccessControl::admit(const HttpRequest& request, std::string_view owner) {
    if (!request.token) return;
    if (const auto denied = denial(*request.token, owner)) refuse(*denied);
}

void AccessControl::admit(const HttpRequest& request, Need need, const LockKey& key) {
    if (!request.token) return;
    if (const auto denied = denial(*request.token, need, key)) refuse(*denied);
}

void AccessControl::admit_to_totals(const HttpRequest& request) {
    if (!request.token) return;
    if (const auto denied = denial_of_totals(*request.token)) refuse(*denied);
}

void AccessControl::admit_all(const HttpRequest& request, std::span<const Request> wanted) {
    if (!request.token) return;
    std::optional<Denial> first;
    std::vector<std::size_t> refused;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        auto denied = denial(*request.token, wanted[i]);
        if (!denied) continue;
        refused.push_back(i);
        if (!first) first = std::move(denied);
    }
    if (first) throw BatchRefused{forbidden(*first), std::move(refused)};
}

std::optional<Buckets::Wait> AccessControl::take(const Token& token, Pace pace,
                                                 std::size_t amount) {
    const Rate rate = token.rate.value_or(options_.rate);
    if (rate.per_second <= 0 || amount == 0) return std::nullopt;
    return by_token_.take(bucket_of(token, pace), rate, static_cast<double>(amount),
                          Buckets::Moment::clock::now());
}

std::vector<bool> AccessControl::pass(const HttpRequest& request, std::span<const Request> wanted) {
    std::vector<bool> passed(wanted.size(), true);
    if (!request.token || wanted.empty()) return passed;
    const Token& token = *request.token;
    const Rate rate = token.rate.value_or(options_.rate);
    if (rate.per_second <= 0) return passed;

    std::vector<std::size_t> asking;
    std::vector<double> amounts;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (rule_of(wanted[i]).pace != Pace::asks) continue;
        asking.push_back(i);
        amounts.push_back(static_cast<double>(keys_tried(wanted[i])));
    }
    const auto keeps_wait = take(token, Pace::keeps, wanted.size() - asking.size());
    if (keeps_wait) passed.assign(wanted.size(), false);
    const Buckets::Taken asked = by_token_.take_each(bucket_of(token, Pace::asks), rate, amounts,
                                                     Buckets::Moment::clock::now());
    for (std::size_t i = 0; i < asking.size(); ++i) passed[asking[i]] = asked.allowed[i];
    if (std::ranges::find(passed, true) == passed.end()) {
        refuse_for_now(token, asked.wait ? *asked.wait : *keeps_wait);
    }
    return passed;
}

}  // namespace leasehold::server
