#include "server/access/rules.hpp"

#include <span>
#include <type_traits>
#include <variant>

#include "core/enum_table.hpp"
#include "server/http/phrases.hpp"

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

// The keys that a request names, also where it may concern others if it names none.
std::span<const LockKey> named_keys(const Request& request) {
    if (const auto keys = keys_of(request)) return *keys;
    const auto* const past = std::get_if<History>(&request);
    const auto* const all = std::get_if<ReleaseAll>(&request);
    const auto* const key = past != nullptr ? &past->key : all != nullptr ? &all->key : nullptr;
    if (key == nullptr || !*key) return {};
    return {&**key, 1};
}

bool may_touch_every_key(const Token& token, Need need) {
    const auto allows = [&](Role role) {
        return token.roles.has(role) && token.keys.of(role).has_every_key();
    };
    const auto role = role_for(need);
    return !role || allows(*role) || (need == Need::use_or_see && allows(Role::see));
}

Denial denied(const Phrase& phrase, const Token& token) {
    return {{phrase, {{"token", token.name}}}};
}

std::optional<Denial> denial_of_keys(const Token& token, const Request& request) {
    const Need need = rule_of(request).need;
    if (may_touch_every_key(token, need)) return std::nullopt;
    const auto keys = named_keys(request);
    for (const LockKey& key : keys) {
        if (auto denied = denial(token, need, key)) return denied;
    }
    if (!keys.empty()) return std::nullopt;
    switch (kind_of(request)) {
        // Their answers are limited to the keys that the token may see.
        case RequestKind::list:
        case RequestKind::history: return std::nullopt;
        // sign() limits it.
        case RequestKind::release_all: return std::nullopt;
        case RequestKind::purge: return denied(phrases::no_purge, token);
        default: return denied(phrases::name_the_key, token);
    }
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
    return Denial{{phrases::lacks_role, {{"token", token.name}, {"role", name}}}, name};
}

std::optional<Denial> denial(const Token& token, const Request& request) {
    if (auto role = denial(token, rule_of(request).need)) return role;
    const std::string* const owner = owner_of(request);
    if (owner != nullptr) {
        if (auto denied = denial(token, *owner)) return denied;
    }
    return denial_of_keys(token, request);
}

std::optional<Denial> denial(const Token& token, Need need, const LockKey& key) {
    const auto allows = [&](Role role) {
        return token.roles.has(role) && token.keys.of(role).has(key);
    };
    const auto role = role_for(need);
    if (!role || allows(*role) || (need == Need::use_or_see && allows(Role::see))) return {};
    return Denial{{phrases::lacks_key, {{"token", token.name}, {"key", key.to_string()}}}};
}

std::optional<Denial> denial_of_totals(const Token& token) {
    if (token.keys.of(Role::see).has_every_key()) return std::nullopt;
    return denied(phrases::no_totals, token);
}

const KeySet& visible_keys(const Token* token) noexcept {
    static const KeySet every_key;
    return token == nullptr ? every_key : token->keys.of(Role::see);
}

std::optional<Denial> denial(const Token& token, std::string_view owner) {
    if (speaks_for(token, owner)) return std::nullopt;
    if (token.owner.empty()) return denied(phrases::no_owner, token);
    return Denial{{phrases::other_owner, {{"token", token.name}, {"owner", token.owner}}}};
}

void sign(Request& request, const Token& token) {
    std::visit(
        [&]<class R>(R& wanted) {
            if constexpr (ends(kind_of_type<R>)) sign_ending(wanted.by, token);
            if constexpr (AnyTry<R>) {
                put_before(wanted.token_id, id_of(token));
            } else if constexpr (std::is_same_v<R, ReleaseAll>) {
                const KeySet& keys = token.keys.of(Role::use);
                wanted.only_keys = wanted.only_keys.common(keys);
                // A token that may also break the leases of these keys ends every token's.
                const bool breaks =
                    token.roles.has(Role::break_) && token.keys.of(Role::break_).covers(keys);
                if (!breaks) put_before(wanted.token_id, id_of(token));
            }
        },
        request);
}

}  // namespace leasehold::server
