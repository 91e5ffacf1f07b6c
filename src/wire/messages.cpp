#include "wire/messages.hpp"

#include "wire/words.hpp"

namespace leasehold::wire {
namespace {

template <class Item>
json::array list_of(const std::vector<Item>& items) {
    json::array list;
    for (const Item& item : items) list.emplace_back(to_json(item));
    return list;
}

Time required_time(Fields& fields, std::string_view name) {
    (void)fields.required(name);  // refuses null too
    return *fields.optional_time(name);
}

Lease lease_from(const json::value& value) {
    Fields fields{value, "a lease"};
    return {.key = key_from(fields),
            .lock_id = fields.has("lock_id") ? lock_id_from(fields.text("lock_id")) : LockId{},
            .owner = fields.text("owner"),
            .mode = optional_name(fields, "mode", mode_names).value_or(Mode::exclusive),
            .fence = fields.integer("fence"),
            .granted_at = required_time(fields, "granted_at"),
            .expires_at = fields.optional_time("expires_at").value_or(never),
            .note = fields.text("note"),
            .store_now = required_time(fields, "store_now")};
}

Holder holder_from(Fields& fields) {
    return {.key = key_from(fields),
            .owner = fields.text("owner"),
            .mode = optional_name(fields, "mode", mode_names).value_or(Mode::exclusive),
            .fence = fields.integer("fence"),
            .granted_at = required_time(fields, "granted_at"),
            .expires_at = fields.optional_time("expires_at").value_or(never),
            .note = fields.text("note")};
}

Holder holder_from(const json::value& value) {
    Fields fields{value, "a holder"};
    return holder_from(fields);
}

PastLease past_from(const json::value& value) {
    Fields fields{value, "a past lease"};
    return {.lease = holder_from(fields),
            .how = optional_name(fields, "how", gone_names).value_or(Gone::unknown),
            .ended_at = required_time(fields, "ended_at"),
            .by = fields.text("by"),
            .why = fields.text("why"),
            .sequence = fields.integer("sequence")};
}

Refusal refusal_from(const json::value& value) {
    Fields fields{value, "a refusal"};
    Refusal refusal;
    refusal.kind = optional_name(fields, "code", refusal_names).value_or(Refusal::Kind::gone);
    if (const json::value* holders = fields.optional("holders")) {
        refusal.holders = read_list<Holder>(
            *holders, "holders", [](const json::value& item) { return holder_from(item); });
    }
    refusal.reason = optional_name(fields, "reason", gone_names).value_or(Gone::unknown);
    refusal.by = fields.optional_text("by").value_or("");
    refusal.why = fields.optional_text("why").value_or("");
    refusal.store_now = required_time(fields, "store_now");
    return refusal;
}

StoreFault fault_from(const json::value& value) {
    Fields fields{value, "a fault"};
    return {optional_name(fields, "effect", effect_names).value_or(StoreFault::Effect::unknown),
            optional_name(fields, "cause", cause_names).value_or(StoreFault::Cause::unavailable),
            fields.text("detail")};
}

// Writes a lease field by field.
template <class Put>
void put_fields(Put&& put, const Lease& lease) {
    put("type", std::string_view{lease.key.type()});
    put("id", std::string_view{lease.key.id()});
    if (!lease.lock_id.is_nil()) put("lock_id", lease.lock_id);
    put("owner", std::string_view{lease.owner});
    put("mode", mode_names[lease.mode]);
    put("fence", lease.fence);
    put("granted_at", lease.granted_at);
    put("expires_at", lease.expires_at);
    put("remaining_ms", lease.remaining().value_or(until_released));
    put("note", std::string_view{lease.note});
    put("store_now", lease.store_now);
}

}  // namespace

json::object to_json(const Lease& lease) {
    constexpr std::size_t fields = 11;
    json::object object;
    object.reserve(fields);
    put_fields(
        [&object]<class T>(std::string_view name, const T& value) {
            if constexpr (std::is_same_v<T, Time> || std::is_same_v<T, Duration>) {
                object[name] = to_json(value);
            } else if constexpr (std::is_same_v<T, LockId>) {
                object[name] = value.to_string();
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
    object["mode"] = mode_names[holder.mode];
    object["fence"] = holder.fence;
    object["granted_at"] = to_json(holder.granted_at);
    object["expires_at"] = to_json(holder.expires_at);
    object["note"] = holder.note;
    return object;
}

json::object to_json(const PastLease& past) {
    json::object object = to_json(past.lease);
    object["how"] = gone_names[past.how];
    object["ended_at"] = to_json(past.ended_at);
    object["by"] = past.by;
    object["why"] = past.why;
    object["sequence"] = past.sequence;
    return object;
}

json::object to_json(const Refusal& refusal) {
    json::object object;
    object["code"] = refusal_names[refusal.kind];
    object["detail"] = refusal.message();
    if (refusal.kind == Refusal::Kind::held) object["holders"] = list_of(refusal.holders);
    if (refusal.kind == Refusal::Kind::gone) {
        object["reason"] = gone_names[refusal.reason];
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
    object["effect"] = effect_names[fault.effect()];
    object["cause"] = cause_names[fault.cause()];
    return object;
}

json::object to_json(const Outcome& outcome) {
    json::object object;
    std::visit(
        [&object]<class T>(const T& answer) {
            if constexpr (std::is_same_v<T, Lease>) {
                object["lease"] = to_json(answer);
            } else if constexpr (std::is_same_v<T, std::vector<Lease>>) {
                object["leases"] = list_of(answer);
            } else if constexpr (std::is_same_v<T, HolderPage>) {
                object["holders"] = list_of(answer.items);
                object["store_now"] = to_json(answer.store_now);
            } else if constexpr (std::is_same_v<T, HistoryPage>) {
                object["history"] = list_of(answer.items);
                object["store_now"] = to_json(answer.store_now);
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
        return HolderPage{
            .items = read_list<Holder>(*holders, "holders",
                                       [](const json::value& item) { return holder_from(item); }),
            .store_now = required_time(fields, "store_now")};
    }
    if (const json::value* history = fields.optional("history")) {
        return HistoryPage{.items = read_list<PastLease>(*history, "history", past_from),
                           .store_now = required_time(fields, "store_now")};
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
