#include <algorithm>
#include <string>

#include "core/fresh_lock_id.hpp"
#include "core/grant.hpp"
#include "core/request_traits.hpp"
#include "wire/messages.hpp"
#include "wire/words.hpp"

namespace leasehold::wire {
namespace {

json::object message(RequestKind kind) {
    json::object object;
    object["op"] = name_of(kind);
    return object;
}

template <class R>
void put_terms(json::object& object, const R& request) {
    object["owner"] = request.owner;
    object["mode"] = mode_names[request.mode];
    object["ttl_ms"] = to_json(request.ttl);
    for_each_field(requested_texts,
                   [&](const auto& field) { object[field.name] = field.of(request); });
    if (request.max_hold) object["max_hold_ms"] = to_json(*request.max_hold);
    if (request.places) object["places"] = *request.places;
    if (!request.token_id.empty()) object["token_id"] = request.token_id;
}

std::optional<std::size_t> optional_count(Fields& fields, std::string_view name) {
    const auto count = fields.optional_integer(name);
    if (!count) return std::nullopt;
    if (*count < 1) fields.refuse(name, "must be at least 1, not " + std::to_string(*count));
    return static_cast<std::size_t>(*count);
}

template <class R>
void read_terms(Fields& fields, R& request, Duration default_ttl) {
    request.owner = fields.optional_text("owner").value_or("");
    const auto mode = optional_name(fields, "mode", mode_names);
    request.places = optional_count(fields, "places");
    request.mode = request.places ? Mode::shared : mode.value_or(Mode::exclusive);
    request.ttl = fields.optional_ttl("ttl_ms").value_or(default_ttl);
    for_each_field(requested_texts, [&](const auto& field) {
        field.of(request) = fields.optional_text(field.name).value_or("");
    });
    request.max_hold = fields.optional_duration("max_hold_ms");
    request.token_id = fields.optional_text("token_id").value_or("");
}

json::array patterns_of(const KeySet& keys) {
    json::array patterns;
    for (const KeyPattern& pattern : keys.patterns()) patterns.emplace_back(pattern.to_string());
    return patterns;
}

KeySet optional_key_set(Fields& fields, std::string_view name) {
    const json::value* const list = fields.optional(name);
    if (list == nullptr) return {};
    const std::string what = '"' + std::string{name} + '"';
    auto patterns = read_list<KeyPattern>(*list, what, [&](const json::value& item) {
        if (!item.is_string()) throw BadRequest{what + " must contain texts"};
        auto pattern = KeyPattern::parse(std::string_view{item.get_string()});
        if (!pattern) throw BadRequest{what + ": " + pattern.error()};
        return *std::move(pattern);
    });
    if (patterns.size() > Limits::key_patterns) {
        throw BadRequest{what + " has at most " + std::to_string(Limits::key_patterns) +
                         " patterns"};
    }
    return KeySet{std::move(patterns)};
}

template <class R>
json::object about_lease(const R& request) {
    json::object object = message(kind_of_type<R>);
    if (request.key) put_key(object, *request.key);
    object["lock_id"] = request.lock_id.to_string();
    return object;
}

struct LeaseName {
    std::optional<LockKey> key;
    LockId lock_id;
};

LeaseName lease_named(Fields& fields) {
    auto key = optional_key(fields);
    return {std::move(key), lock_id_from(fields.text("lock_id"))};
}

struct ToMessage {
    json::object operator()(const TryLock& r) const {
        json::object object = message(RequestKind::try_lock);
        put_key(object, r.key);
        object["lock_id"] = r.lock_id.to_string();
        put_terms(object, r);
        if (r.since) object["since"] = *r.since;
        return object;
    }
    json::object operator()(const TryLockAll& r) const {
        json::object object = message(RequestKind::try_lock_all);
        json::array keys;
        for (std::size_t i = 0; i < r.keys.size(); ++i) {
            json::object key;
            put_key(key, r.keys[i]);
            key["lock_id"] = r.lock_ids[i].to_string();
            keys.emplace_back(std::move(key));
        }
        object["keys"] = std::move(keys);
        put_terms(object, r);
        return object;
    }
    json::object operator()(const Check& r) const { return about_lease(r); }
    json::object operator()(const Extend& r) const {
        json::object object = about_lease(r);
        object["extend_ms"] = to_json(r.by);
        object["max_ttl_ms"] = to_json(r.max_ttl);
        if (r.max_hold) object["max_hold_ms"] = to_json(*r.max_hold);
        return object;
    }
    json::object operator()(const Renew& r) const {
        json::object object = about_lease(r);
        object["ttl_ms"] = to_json(r.ttl);
        if (r.max_hold) object["max_hold_ms"] = to_json(*r.max_hold);
        return object;
    }
    json::object operator()(const Release& r) const {
        json::object object = about_lease(r);
        if (r.if_expires_at) object["if_expires_at"] = to_json(*r.if_expires_at);
        if (!r.by.empty()) object["by"] = r.by;
        return object;
    }
    json::object operator()(const ReleaseAll& r) const {
        json::object object = message(RequestKind::release_all);
        object["owner"] = r.owner;
        object["scope"] = owner_scope_names[r.scope];
        if (r.key) put_key(object, *r.key);
        if (!r.by.empty()) object["by"] = r.by;
        if (!r.token_id.empty()) object["token_id"] = r.token_id;
        if (!r.only_keys.has_every_key()) object["only_keys"] = patterns_of(r.only_keys);
        return object;
    }
    json::object operator()(const Break& r) const {
        json::object object = message(RequestKind::break_lock);
        put_key(object, r.key);
        object["fence"] = r.fence;
        object["by"] = r.by;
        object["reason"] = r.reason;
        return object;
    }
    json::object operator()(const Holders& r) const {
        json::object object = message(RequestKind::holders);
        put_key(object, r.key);
        return object;
    }
    json::object operator()(const List& r) const {
        json::object object = message(RequestKind::list);
        if (r.type) object["type"] = *r.type;
        if (r.owner) object["owner"] = *r.owner;
        object["scope"] = owner_scope_names[r.scope];
        if (r.after) {
            json::object after;
            put_key(after, r.after->key);
            after["fence"] = r.after->fence;
            object["after"] = std::move(after);
        }
        object["limit"] = r.limit;
        return object;
    }
    json::object operator()(const History& r) const {
        json::object object = message(RequestKind::history);
        if (r.key) put_key(object, *r.key);
        if (r.before) object["before"] = *r.before;
        object["limit"] = r.limit;
        return object;
    }
    json::object operator()(const Purge& r) const {
        json::object object = message(RequestKind::purge);
        object["limit"] = r.rows;
        return object;
    }
};

Request read_try(Fields& fields, Duration default_ttl) {
    LockKey key = key_from(fields);
    std::optional<LockId> lock_id;
    if (const auto text = fields.optional_view("lock_id")) lock_id = lock_id_from(*text);
    return try_from(fields, std::move(key), lock_id, default_ttl);
}

Request read_try_all(Fields& fields, Duration default_ttl) {
    struct Wanted {
        LockKey key;
        std::optional<LockId> lock_id;
    };
    auto wanted =
        read_list<Wanted>(fields.required("keys"), "\"keys\"", [](const json::value& item) {
            Fields one{item, "a key"};
            Wanted key{key_from(one), std::nullopt};
            if (const auto id = one.optional_text("lock_id")) key.lock_id = lock_id_from(*id);
            one.refuse_others();
            return key;
        });
    std::ranges::sort(wanted, {}, &Wanted::key);
    const auto twice = std::ranges::adjacent_find(wanted, {}, &Wanted::key);
    if (twice != wanted.end()) fields.refuse("keys", "names " + twice->key.to_string() + " twice");
    TryLockAll request;
    for (Wanted& one : wanted) {
        request.keys.push_back(std::move(one.key));
        request.lock_ids.push_back(one.lock_id ? TryLockId{*one.lock_id} : FreshLockId::draw());
    }
    read_terms(fields, request, default_ttl);
    return request;
}

Request read_check(Fields& fields) {
    auto [key, lock_id] = lease_named(fields);
    return Check{std::move(key), lock_id};
}

Request read_extend(Fields& fields) {
    auto [key, lock_id] = lease_named(fields);
    return extend_from(fields, std::move(key), lock_id);
}

Request read_renew(Fields& fields, Duration default_ttl) {
    auto [key, lock_id] = lease_named(fields);
    return renew_from(fields, std::move(key), lock_id, default_ttl);
}

Request read_release(Fields& fields) {
    auto [key, lock_id] = lease_named(fields);
    return Release{.key = std::move(key),
                   .lock_id = lock_id,
                   .if_expires_at = fields.optional_time("if_expires_at"),
                   .by = fields.optional_text("by").value_or("")};
}

Request read_release_all(Fields& fields) {
    return ReleaseAll{
        .owner = fields.text("owner"),
        .scope = optional_name(fields, "scope", owner_scope_names).value_or(OwnerScope::exact),
        .key = optional_key(fields),
        .by = fields.optional_text("by").value_or(""),
        .token_id = fields.optional_text("token_id").value_or(""),
        .only_keys = optional_key_set(fields, "only_keys")};
}

Request read_list_request(Fields& fields) {
    List request{
        .type = fields.optional_text("type"),
        .owner = fields.optional_text("owner"),
        .scope = optional_name(fields, "scope", owner_scope_names).value_or(OwnerScope::exact)};
    if (const json::value* after = fields.optional("after")) {
        Fields place{*after, "\"after\""};
        request.after = Holder{.key = key_from(place), .fence = place.integer("fence")};
        place.refuse_others();
    }
    request.limit = optional_count(fields, "limit").value_or(request.limit);
    return request;
}

Request read_history(Fields& fields) {
    History request{.key = optional_key(fields), .before = fields.optional_integer("before")};
    request.limit = optional_count(fields, "limit").value_or(request.limit);
    return request;
}

Request read_break(Fields& fields) {
    return break_from(fields, key_from(fields));
}

Request read_holders(Fields& fields) {
    return Holders{key_from(fields)};
}

Request read_purge(Fields& fields) {
    return Purge{optional_count(fields, "limit").value_or(Purge{}.rows)};
}

using Read = Request (*)(Fields& fields, Duration default_ttl);

template <Request (*read)(Fields&)>
Request without_ttl(Fields& fields, Duration /*default_ttl*/) {
    return read(fields);
}

constexpr EnumTable<RequestKind, Read> readers{{
    {RequestKind::try_lock, read_try},
    {RequestKind::try_lock_all, read_try_all},
    {RequestKind::check, without_ttl<read_check>},
    {RequestKind::extend, without_ttl<read_extend>},
    {RequestKind::renew, read_renew},
    {RequestKind::release, without_ttl<read_release>},
    {RequestKind::release_all, without_ttl<read_release_all>},
    {RequestKind::break_lock, without_ttl<read_break>},
    {RequestKind::holders, without_ttl<read_holders>},
    {RequestKind::list, without_ttl<read_list_request>},
    {RequestKind::history, without_ttl<read_history>},
    {RequestKind::purge, without_ttl<read_purge>},
}};

[[noreturn]] void refuse_operation(const Fields& fields) {
    std::string problem;
    for (const auto& [kind, traits] : request_traits) {
        problem.append(problem.empty() ? "must be one of \"" : ", \"")
            .append(traits.name)
            .append("\"");
    }
    fields.refuse("op", problem);
}

}  // namespace

json::object to_json(const Request& request) {
    return std::visit(ToMessage{}, request);
}

TryLock try_from(Fields& terms, LockKey key, std::optional<LockId> lock_id, Duration default_ttl) {
    TryLock request{.key = std::move(key),
                    .lock_id = lock_id ? TryLockId{*lock_id} : FreshLockId::draw()};
    read_terms(terms, request, default_ttl);
    request.since = terms.optional_integer("since");
    return request;
}

Extend extend_from(Fields& terms, std::optional<LockKey> key, LockId lock_id) {
    const auto by = terms.optional_duration("extend_ms");
    if (!by) terms.refuse("extend_ms", "is missing");
    Extend request{.key = std::move(key), .lock_id = lock_id, .by = *by};
    request.max_ttl = terms.optional_ttl("max_ttl_ms").value_or(request.max_ttl);
    request.max_hold = terms.optional_duration("max_hold_ms");
    return request;
}

Renew renew_from(Fields& terms, std::optional<LockKey> key, LockId lock_id, Duration default_ttl) {
    return {.key = std::move(key),
            .lock_id = lock_id,
            .ttl = terms.optional_ttl("ttl_ms").value_or(default_ttl),
            .max_hold = terms.optional_duration("max_hold_ms")};
}

Break break_from(Fields& terms, LockKey key) {
    return {.key = std::move(key),
            .fence = terms.integer("fence"),
            .by = terms.optional_text("by").value_or(""),
            .reason = terms.optional_text("reason").value_or("")};
}

Request request_from(const json::value& message, Duration default_ttl) {
    Fields fields{message, "a request"};
    const std::string op = fields.text("op");
    const auto known =
        std::ranges::find(request_traits, op, [](const auto& row) { return row.value.name; });
    if (known == request_traits.end()) refuse_operation(fields);
    Request request = readers[known->key](fields, default_ttl);
    fields.refuse_others();
    return request;
}

}  // namespace leasehold::wire
