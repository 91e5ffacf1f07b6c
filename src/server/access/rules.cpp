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

void sign_ending(std::string& by, const Token& token) {
    if (by == token.name) return;
    by = by.empty() ? token.name : token.name + " (" + by + ")";
}

// Token ids have no slash, so no client can write the id of another token.
void put_before(std::string& token_id, const std::string& id) {
    token_id.insert(0, token_id.empty() ? id : id + "/");
}

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
    std::visit(
        [&]<class R>(R& wanted) {
            if constexpr (ends(kind_of_type<R>)) sign_ending(wanted.by, token);
            if constexpr (AnyTry<R>) {
                put_before(wanted.token_id, id_of(token));
            } else if constexpr (std::is_same_v<R, ReleaseAll>) {
                // A token that may also break leases ends those of every token.
                if (!token.roles.has(Role::break_)) put_before(wanted.token_id, id_of(token));
            }
        },
        request);
}

}  // namespace leasehold::server
