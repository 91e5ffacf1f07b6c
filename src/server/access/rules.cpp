#include "server/access/rules.hpp"

#include <variant>

#include "core/enum_table.hpp"

namespace leasehold::server {
namespace {

constexpr EnumTable<RequestKind, Need> needs{{{RequestKind::try_lock, Need::use},
                                              {RequestKind::try_lock_all, Need::use},
                                              {RequestKind::check, Need::use_or_see},
                                              {RequestKind::extend, Need::use},
                                              {RequestKind::renew, Need::use},
                                              {RequestKind::release, Need::use},
                                              {RequestKind::release_all, Need::use},
                                              {RequestKind::break_lock, Need::break_},
                                              {RequestKind::holders, Need::see},
                                              {RequestKind::list, Need::see},
                                              {RequestKind::history, Need::see},
                                              {RequestKind::purge, Need::break_}}};

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

}  // namespace

Rule rule_of(const Request& request) {
    const RequestKind kind = kind_of(request);
    return {needs[kind], pace_of(kind)};
}

std::optional<Denial> denial(const Token& token, Need need) {
    const auto role = role_for(need);
    if (!role || token.roles.has(*role)) return std::nullopt;
    if (need == Need::use_or_see && token.roles.has(Role::see)) return std::nullopt;
    const std::string_view name = role_names[*role];
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
    if (token.owner.empty()) return Denial{"the token '" + token.name + "' speaks for no owner"};
    return Denial{"the token '" + token.name + "' speaks only for the owner '" + token.owner +
                  "' and owners below it, '" + token.owner + "/...'"};
}

void sign(Request& request, const Token& token) {
    auto* const wanted = std::get_if<Break>(&request);
    if (wanted == nullptr || wanted->by == token.name) return;
    wanted->by = wanted->by.empty() ? token.name : token.name + " (" + wanted->by + ")";
}

}  // namespace leasehold::server
