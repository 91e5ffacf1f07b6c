#include "wire/messages.hpp"

#include <leasehold/errors.hpp>

#include <boost/json/array.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace leasehold::wire {
namespace {

template <class T, std::size_t N>
using Names = std::array<std::pair<T, std::string_view>, N>;

constexpr Names<Mode, 2> modes{{{Mode::exclusive, "exclusive"}, {Mode::shared, "shared"}}};
constexpr Names<OwnerScope, 2> scopes{{{OwnerScope::exact, "exact"}, {OwnerScope::below, "below"}}};
constexpr Names<Gone, 5> endings{{{Gone::unknown, "unknown"},
                                  {Gone::expired, "expired"},
                                  {Gone::released, "released"},
                                  {Gone::taken, "taken"},
                                  {Gone::broken, "broken"}}};
constexpr Names<Refusal::Kind, 3> refusals{
    {{Refusal::Kind::held, "held"}, {Refusal::Kind::gone, "gone"}, {Refusal::Kind::busy, "busy"}}};
constexpr Names<StoreFault::Effect, 2> effects{
    {{StoreFault::Effect::none, "none"}, {StoreFault::Effect::unknown, "unknown"}}};
constexpr Names<StoreFault::Cause, 6> causes{
    {{StoreFault::Cause::unavailable, "unavailable"},
     {StoreFault::Cause::configuration, "configuration"},
     {StoreFault::Cause::not_allowed, "not_allowed"},
     {StoreFault::Cause::clock_leap, "clock_leap"},
     {StoreFault::Cause::internal, "internal"},
     {StoreFault::Cause::lock_id_in_use, "lock_id_in_use"}}};

template <class T, std::size_t N>
std::string_view name_of(T value, const Names<T, N>& names) {
    for (const auto& [known, name] : names) {
        if (known == value) return name;
    }
    return names.front().second;
}

template <class T, std::size_t N>
std::optional<T> optional_name(Fields& fields, std::string_view field, const Names<T, N>& names) {
    const auto text = fields.optional_view(field);
    if (!text) return std::nullopt;
    for (const auto& [value, name] : names) {
        if (*text == name) return value;
    }
    std::string choices;
    for (const auto& [value, name] : names) {
        choices.append(choices.empty() ? "\"" : ", \"").append(name).append("\"");
    }
    std::string problem{"\""};
    throw BadRequest{problem.append(field).append("\" must be one of ").append(choices)};
}

LockId lock_id_from(std::string_view text) {
    auto id = LockId::parse(text);
    if (!id) throw BadRequest{id.error()};
    return *id;
}

LockKey key_from(Fields& fields) {
    const std::string type = fields.text("type");
    return LockKey{type, fields.text("id")};
}

std::optional<LockKey> optional_key(Fields& fields) {
    const bool named = fields.has("type") || fields.has("id");
    if (named) return key_from(fields);
    return std::nullopt;
}

void put_key(json::object& object, const LockKey& key) {
    object["type"] = key.type();
    object["id"] = key.id();
}

template <class Item>
json::array list_of(const std::vector<Item>& items) {
    json::array list;
    for (const Item& item : items) list.emplace_back(to_json(item));
    return list;
}

template <class Item, class Read>
std::vector<Item> read_list(const json::value& value, std::string_view what, Read read) {
    if (!value.is_array()) throw BadRequest{std::string{what} + " must be an array"};
    std::vector<Item> items;
    for (const json::value& item : value.get_array()) items.push_back(read(item));
    return items;
}

Time required_time(Fields& fields, std::string_view name) {
    (void)fields.required(name);
    return *fields.optional_time(name);
}

Lease lease_from(const json::value& value) {
    Fields fields{value, "a lease"};
    return {.key = key_from(fields),
            .lock_id = fields.has("lock_id") ? lock_id_from(fields.text("lock_id")) : LockId{},
            .owner = fields.text("owner"),
            .mode = optional_name(fields, "mode", modes).value_or(Mode::exclusive),
            .fence = fields.integer("fence"),
            .granted_at = required_time(fields, "granted_at"),
            .expires_at = fields.optional_time("expires_at").value_or(never),
            .note = fields.text("note"),
            .store_now = required_time(fields, "store_now")};
}

Holder holder_from(Fields& fields) {
    return {.key = key_from(fields),
            .owner = fields.text("owner"),
            .mode = optional_name(fields, "mode", modes).value_or(Mode::exclusive),
            .fence = fields.integer("fence"),
            .since = required_time(fields, "granted_at"),
            .until = fields.optional_time("expires_at").value_or(never),
            .note = fields.text("note")};
}

Holder holder_from(const json::value& value) {
    Fields fields{value, "a holder"};
    return holder_from(fields);
}

PastLease past_from(const json::value& value) {
    Fields fields{value, "a past lease"};
    return {.lease = holder_from(fields),
            .how = optional_name(fields, "how", endings).value_or(Gone::unknown),
            .ended_at = required_time(fields, "ended_at"),
            .by = fields.text("by"),
            .why = fields.text("why"),
            .sequence = fields.integer("sequence")};
}

Refusal refusal_from(const json::value& value) {
    Fields fields{value, "a refusal"};
    Refusal refusal;
    refusal.kind = optional_name(fields, "code", refusals).value_or(Refusal::Kind::gone);
    if (const json::value* holders = fields.optional("holders")) {
        refusal.holders = read_list<Holder>(
            *holders, "holders", [](const json::value& item) { return holder_from(item); });
    }
    refusal.reason = optional_name(fields, "reason", endings).value_or(Gone::unknown);
    refusal.by = fields.optional_text("by").value_or("");
    refusal.why = fields.optional_text("why").value_or("");
    refusal.store_now = required_time(fields, "store_now");
    return refusal;
}

StoreFault fault_from(const json::value& value) {
    Fields fields{value, "a fault"};
    return {optional_name(fields, "effect", effects).value_or(StoreFault::Effect::unknown),
            optional_name(fields, "cause", causes).value_or(StoreFault::Cause::unavailable),
            fields.text("detail")};
}

// A lease, field by field.
template <class Put>
void put_fields(Put&& put, const Lease& lease) {
    put("type", std::string_view{lease.key.type()});
    put("id", std::string_view{lease.key.id()});
    if (!lease.lock_id.is_nil()) put("lock_id", std::string_view{lease.lock_id.to_string()});
    put("owner", std::string_view{lease.owner});
    put("mode", name_of(lease.mode, modes));
    put("fence", lease.fence);
    put("granted_at", lease.granted_at);
    put("expires_at", lease.expires_at);
    put("remaining_ms", lease.remaining());
    put("note", std::string_view{lease.note});
    put("store_now", lease.store_now);
}

// --- requests

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

json::object to_json(const Lease& lease) {
    constexpr std::size_t fields = 11;
    json::object object;
    object.reserve(fields);
    put_fields(
        [&object]<class T>(std::string_view name, const T& value) {
            if constexpr (std::is_same_v<T, Time> || std::is_same_v<T, Duration>) {
                object[name] = to_json(value);
            } else {
                object[name] = value;
            }
        },
        lease);
    return object;
}

void print(std::string& out, const Lease& lease) {
    ObjectPrinter printer{out};
    put_fields(printer, lease);
    printer.close();
}

json::object to_json(const Holder& holder) {
    json::object object;
    put_key(object, holder.key);
    object["owner"] = holder.owner;
    object["mode"] = name_of(holder.mode, modes);
    object["fence"] = holder.fence;
    object["granted_at"] = to_json(holder.since);
    object["expires_at"] = to_json(holder.until);
    object["note"] = holder.note;
    return object;
}

json::object to_json(const PastLease& past) {
    json::object object = to_json(past.lease);
    object["how"] = name_of(past.how, endings);
    object["ended_at"] = to_json(past.ended_at);
    object["by"] = past.by;
    object["why"] = past.why;
    object["sequence"] = past.sequence;
    return object;
}

json::object to_json(const Refusal& refusal) {
    json::object object;
    object["code"] = name_of(refusal.kind, refusals);
    object["detail"] = refusal.message();
    if (refusal.kind == Refusal::Kind::held) object["holders"] = list_of(refusal.holders);
    if (refusal.kind == Refusal::Kind::gone) {
        object["reason"] = name_of(refusal.reason, endings);
        object["by"] = refusal.by;
        object["why"] = refusal.why;
    }
    object["store_now"] = to_json(refusal.store_now);
    return object;
}

json::object to_json(const StoreFault& fault) {
    json::object object;
    object["code"] = "fault";
    object["detail"] = fault.what();
    object["effect"] = name_of(fault.effect(), effects);
    object["cause"] = name_of(fault.cause(), causes);
    return object;
}

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

json::object to_json(const Outcome& outcome) {
    json::object object;
    std::visit(
        [&object]<class T>(const T& answer) {
            if constexpr (std::is_same_v<T, Lease>) {
                object["lease"] = to_json(answer);
            } else if constexpr (std::is_same_v<T, std::vector<Lease>>) {
                object["leases"] = list_of(answer);
            } else if constexpr (std::is_same_v<T, std::vector<Holder>>) {
                object["holders"] = list_of(answer);
            } else if constexpr (std::is_same_v<T, std::vector<PastLease>>) {
                object["history"] = list_of(answer);
            } else if constexpr (std::is_same_v<T, Purged>) {
                object["purged"] = {{"forgotten", answer.forgotten}, {"complete", answer.complete}};
            } else if constexpr (std::is_same_v<T, Refusal>) {
                object["refused"] = to_json(answer);
            } else if constexpr (std::is_same_v<T, StoreFault>) {
                object["fault"] = to_json(answer);
            }
        },
        outcome);
    return object;
}

void print(std::string& out, const Outcome& outcome) {
    const auto* lease = std::get_if<Lease>(&outcome);
    if (lease == nullptr) return print(out, to_json(outcome));
    ObjectPrinter printer{out};
    printer.name("lease");
    print(out, *lease);
    printer.close();
}

Outcome outcome_from(const json::value& value) {
    Fields fields{value, "an answer"};
    if (const json::value* lease = fields.optional("lease")) return lease_from(*lease);
    if (const json::value* leases = fields.optional("leases")) {
        return read_list<Lease>(*leases, "leases", lease_from);
    }
    if (const json::value* holders = fields.optional("holders")) {
        return read_list<Holder>(*holders, "holders",
                                 [](const json::value& item) { return holder_from(item); });
    }
    if (const json::value* history = fields.optional("history")) {
        return read_list<PastLease>(*history, "history", past_from);
    }
    if (const json::value* purged = fields.optional("purged")) {
        Fields counted{*purged, "purged"};
        const json::value& complete = counted.required("complete");
        return Purged{.forgotten = static_cast<std::size_t>(counted.integer("forgotten")),
                      .complete = complete.is_bool() && complete.get_bool()};
    }
    if (const json::value* refused = fields.optional("refused")) return refusal_from(*refused);
    return fault_from(fields.required("fault"));
}

}  // namespace leasehold::wire
