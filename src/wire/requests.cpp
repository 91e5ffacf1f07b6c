#include <algorithm>

#include "wire/messages.hpp"
#include "wire/words.hpp"

namespace leasehold::wire {
namespace {

json::object message(std::string_view op) {
    json::object object;
    object["op"] = op;
    return object;
}

template <class R>
void put_terms(json::object& object, const R& request) {
    object["owner"] = request.owner;
    object["mode"] = name_of(request.mode, modes);
    object["ttl_ms"] = to_json(request.ttl);
    object["note"] = request.note;
    if (request.max_hold) object["max_hold_ms"] = to_json(*request.max_hold);
}

template <class R>
void read_terms(Fields& fields, R& request) {
    request.owner = fields.optional_text("owner").value_or("");
    request.mode = optional_name(fields, "mode", modes).value_or(Mode::exclusive);
    request.ttl = fields.optional_duration("ttl_ms").value_or(Limits{}.default_ttl);
    request.note = fields.optional_text("note").value_or("");
    request.max_hold = fields.optional_duration("max_hold_ms");
}

template <class R>
json::object about_lease(std::string_view op, const R& request) {
    json::object object = message(op);
    if (request.key) put_key(object, *request.key);
    object["lock_id"] = request.lock_id.to_string();
    return object;
}

template <class R>
R lease_named(Fields& fields) {
    R request;
    request.key = optional_key(fields);
    request.lock_id = lock_id_from(fields.text("lock_id"));
    return request;
}

struct ToMessage {
    json::object operator()(const TryLock& r) const {
        json::object object = message("try");
        put_key(object, r.key);
        object["lock_id"] = r.lock_id.to_string();
        put_terms(object, r);
        if (r.since) object["since"] = *r.since;
        return object;
    }
    json::object operator()(const TryLockAll& r) const {
        json::object object = message("try_all");
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
    json::object operator()(const Check& r) const { return about_lease("check", r); }
    json::object operator()(const Extend& r) const {
        json::object object = about_lease("extend", r);
        object["extend_ms"] = to_json(r.by);
        object["max_ttl_ms"] = to_json(r.max_ttl);
        if (r.max_hold) object["max_hold_ms"] = to_json(*r.max_hold);
        return object;
    }
    json::object operator()(const Renew& r) const {
        json::object object = about_lease("renew", r);
        object["ttl_ms"] = to_json(r.ttl);
        if (r.max_hold) object["max_hold_ms"] = to_json(*r.max_hold);
        return object;
    }
    json::object operator()(const Release& r) const {
        json::object object = about_lease("release", r);
        if (r.if_expires_at) object["if_expires_at"] = to_json(*r.if_expires_at);
        return object;
    }
    json::object operator()(const ReleaseAll& r) const {
        json::object object = message("release_all");
        object["owner"] = r.owner;
        object["scope"] = name_of(r.scope, scopes);
        if (r.key) put_key(object, *r.key);
        return object;
    }
    json::object operator()(const Break& r) const {
        json::object object = message("break");
        put_key(object, r.key);
        object["fence"] = r.fence;
        object["by"] = r.by;
        object["reason"] = r.reason;
        return object;
    }
    json::object operator()(const Holders& r) const {
        json::object object = message("holders");
        put_key(object, r.key);
        return object;
    }
    json::object operator()(const List& r) const {
        json::object object = message("list");
        if (r.type) object["type"] = *r.type;
        if (r.owner) object["owner"] = *r.owner;
        object["scope"] = name_of(r.scope, scopes);
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
        json::object object = message("history");
        if (r.key) put_key(object, *r.key);
        if (r.before) object["before"] = *r.before;
        object["limit"] = r.limit;
        return object;
    }
    json::object operator()(const Purge& r) const {
        json::object object = message("purge");
        object["limit"] = r.rows;
        return object;
    }
};

std::size_t read_limit(Fields& fields, std::size_t otherwise) {
    const auto limit = fields.optional_integer("limit");
    if (limit && *limit < 0) throw BadRequest{"\"limit\" must not be negative"};
    return limit ? static_cast<std::size_t>(*limit) : otherwise;
}

Request read_try(Fields& fields) {
    TryLock request{.key = key_from(fields)};
    if (const auto id = fields.optional_view("lock_id")) {
        request.lock_id = lock_id_from(*id);
    } else {
        request.lock_id = LockId::random();
        request.drawn = Drawn::for_this;
    }
    read_terms(fields, request);
    request.since = fields.optional_integer("since");
    return request;
}

Request read_try_all(Fields& fields) {
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
    TryLockAll request{.drawn = Drawn::for_this};
    for (Wanted& one : wanted) {
        request.keys.push_back(std::move(one.key));
        request.lock_ids.push_back(one.lock_id.value_or(LockId::random()));
        if (one.lock_id) request.drawn = Drawn::before;
    }
    read_terms(fields, request);
    return request;
}

Request read_extend(Fields& fields) {
    auto request = lease_named<Extend>(fields);
    (void)fields.required("extend_ms");
    request.by = *fields.optional_duration("extend_ms");
    request.max_ttl = fields.optional_duration("max_ttl_ms").value_or(request.max_ttl);
    request.max_hold = fields.optional_duration("max_hold_ms");
    return request;
}

Request read_renew(Fields& fields) {
    auto request = lease_named<Renew>(fields);
    request.ttl = fields.optional_duration("ttl_ms").value_or(Limits{}.default_ttl);
    request.max_hold = fields.optional_duration("max_hold_ms");
    return request;
}

Request read_release(Fields& fields) {
    auto request = lease_named<Release>(fields);
    request.if_expires_at = fields.optional_time("if_expires_at");
    return request;
}

Request read_release_all(Fields& fields) {
    return ReleaseAll{.owner = fields.text("owner"),
                      .scope = optional_name(fields, "scope", scopes).value_or(OwnerScope::exact),
                      .key = optional_key(fields)};
}

Request read_break(Fields& fields) {
    return Break{.key = key_from(fields),
                 .fence = fields.integer("fence"),
                 .by = fields.optional_text("by").value_or(""),
                 .reason = fields.optional_text("reason").value_or("")};
}

Request read_list_request(Fields& fields) {
    List request{.type = fields.optional_text("type"),
                 .owner = fields.optional_text("owner"),
                 .scope = optional_name(fields, "scope", scopes).value_or(OwnerScope::exact)};
    if (const json::value* after = fields.optional("after")) {
        Fields place{*after, "\"after\""};
        request.after = Holder{.key = key_from(place), .fence = place.integer("fence")};
        place.refuse_others();
    }
    request.limit = read_limit(fields, request.limit);
    return request;
}

Request read_history(Fields& fields) {
    History request{.key = optional_key(fields), .before = fields.optional_integer("before")};
    request.limit = read_limit(fields, request.limit);
    return request;
}

struct Operation {
    std::string_view name;
    Request (*read)(Fields&);
};

constexpr std::array operations{
    Operation{"try", read_try},
    Operation{"try_all", read_try_all},
    Operation{"check", [](Fields& f) -> Request { return lease_named<Check>(f); }},
    Operation{"extend", read_extend},
    Operation{"renew", read_renew},
    Operation{"release", read_release},
    Operation{"release_all", read_release_all},
    Operation{"break", read_break},
    Operation{"holders", [](Fields& f) -> Request { return Holders{key_from(f)}; }},
    Operation{"list", read_list_request},
    Operation{"history", read_history},
    Operation{"purge", [](Fields& f) -> Request { return Purge{read_limit(f, Purge{}.rows)}; }},
};

}  // namespace

json::object to_json(const Request& request) {
    return std::visit(ToMessage{}, request);
}

Request request_from(const json::value& value) {
    Fields fields{value, "a request"};
    (void)fields.required("op");
    const std::string_view op = *fields.optional_view("op");
    const auto known = std::ranges::find(operations, op, &Operation::name);
    if (known == operations.end()) throw BadRequest{"\"op\" names no operation"};
    Request request = known->read(fields);
    fields.refuse_others();
    return request;
}

}  // namespace leasehold::wire
