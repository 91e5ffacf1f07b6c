#include "server/access/rules.hpp"

#include <algorithm>
#include <array>
#include <variant>

namespace leasehold::server {
namespace {

struct RuleOfRequest {
    Rule operator()(const TryLock&) const { return {Need::use, Pace::asks}; }
    Rule operator()(const TryLockAll&) const { return {Need::use, Pace::asks}; }
    Rule operator()(const Check&) const { return {Need::use_or_see, Pace::keeps}; }
    Rule operator()(const Extend&) const { return {Need::use, Pace::keeps}; }
    Rule operator()(const Renew&) const { return {Need::use, Pace::keeps}; }
    Rule operator()(const Release&) const { return {Need::use, Pace::keeps}; }
    Rule operator()(const ReleaseAll&) const { return {Need::use, Pace::keeps}; }
    Rule operator()(const Break&) const { return {Need::break_, Pace::asks}; }
    Rule operator()(const Holders&) const { return {Need::see, Pace::asks}; }
    Rule operator()(const List&) const { return {Need::see, Pace::asks}; }
    Rule operator()(const History&) const { return {Need::see, Pace::asks}; }
    Rule operator()(const Purge&) const { return {Need::break_, Pace::asks}; }
};

std::optional<Role> role_for(Need need) {
    switch (need) {
        case Need::nothing:
        case Need::a_token: return std::nullopt;
        case Need::use:
        case Need::use_or_see: return Role::use;
        case Need::see: return Role::see;
        case Need::break_: return Role::break_;
    }
    return Role::break_;
}

// The owner in whose name the request is made.
const std::string* owner_of(const Request& request) {
    if (const auto* one = std::get_if<TryLock>(&request)) return &one->owner;
    if (const auto* all = std::get_if<TryLockAll>(&request)) return &all->owner;
    if (const auto* end = std::get_if<ReleaseAll>(&request)) return &end->owner;
    return nullptr;
}

}  // namespace

Rule rule_of(const Request& request) {
    return std::visit(RuleOfRequest{}, request);
}

std::optional<Denial> denial(const Token& token, Need need) {
    const auto role = role_for(need);
    if (!role || token.roles.has(*role)) return std::nullopt;
    if (need == Need::use_or_see && token.roles.has(Role::see)) return std::nullopt;
    const std::string_view name = name_of(*role);
    return Denial{"the token '" + token.name + "' lacks the role '" + std::string{name} + "'",
                  name};
}

std::optional<Denial> denial(const Token& token, const Request& request) {
    if (auto role = denial(token, rule_of(request).need)) return role;
    const std::string* const owner = owner_of(request);
    return owner != nullptr ? denial(token, *owner) : std::nullopt;
}

std::optional<Denial> denial(const Token& token, std::string_view owner) {
    if (speaks_for(token, owner)) return std::nullopt;
    return Denial{"the token '" + token.name + "' speaks only for the owner '" + token.owner +
                  "' and owners below it, '" + token.owner + "/...'"};
}

void sign(Request& request, const Token& token) {
    auto* const wanted = std::get_if<Break>(&request);
    if (wanted == nullptr || wanted->by == token.name) return;
    wanted->by = wanted->by.empty() ? token.name : token.name + " (" + wanted->by + ")";
}

}  // namespace leasehold::server
