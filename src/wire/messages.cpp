#include "wire/messages.hpp"

#include <algorithm>

#include "core/grant.hpp"
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

void read_value(Fields& fields, std::string_view name, std::string& value) {
    value = fields.text(name);
}
void read_value(Fields& fields, std::string_view name, std::int64_t& value) {
    value = fields.integer(name);
}
void read_value(Fields& fields, std::string_view name, Time& value) {
    value = name == "expires_at" ? fields.optional_time(name).value_or(never)
                                 : required_time(fields, name);
}
void read_value(Fields& fields, std::string_view name, Mode& value) {
    value = optional_name(fields, name, mode_names).value_or(Mode::exclusive);
}

// Reads the fields that everybody may see.
template <class T>
void read_public(Fields& fields, T& lease) {
    for_each_field(public_fields,
                   [&](const auto& field) { read_value(fields, field.name, field.of(lease)); });
}

Lease lease_from(const json::value& value) {
    Fields fields{value, "a lease"};
    Lease lease{.key = key_from(fields)};
    if (fields.has("lock_id")) lease.lock_id = lock_id_from(fields.text("lock_id"));
    read_public(fields, lease);
    lease.store_now = required_time(fields, "store_now");
    return lease;
}

Holder holder_from(Fields& fields) {
    Holder holder{.key = key_from(fields)};
    read_public(fields, holder);
    return holder;
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

// The place up to which a store has looked for a page.
json::object place_of(const Holder& last) {
    json::object place;
    put_key(place, last.key);
    place["fence"] = last.fence;
    return place;
}
json::object place_of(const PastLease& last) {
    json::object place = place_of(last.lease);
    place["sequence"] = last.sequence;
    return place;
}
template <class T>
std::optional<T> place_in(Fields& fields) {
    const json::value* value = fields.optional("looked_up_to");
    if (value == nullptr) return std::nullopt;
    Fields place{*value, "\"looked_up_to\""};
    Holder last{.key = key_from(place), .fence = place.integer("fence")};
    if constexpr (std::is_same_v<T, Holder>) {
        return last;
    } else {
        return PastLease{.lease = std::move(last), .sequence = place.integer("sequence")};
    }
}

// Whether a page says that it ended before its limit.
bool is_cut(Fields& fields) {
    const json::value* cut = fields.optional("cut");
    return cut != nullptr && cut->is_bool() && cut->get_bool();
}

Refusal refusal_from(const json::value& value) {
    Fields fields{value, "a refusal"};
    Refusal refusal;
    refusal.kind = optional_name(fields, "code", refusal_names).value_or(Refusal::Kind::gone);
    if (const json::value* holders = fields.optional("holders")) {
        refusal.holders = read_list<Holder>(
            *holders, "holders", [](const json::value& item) { return holder_from(item); });
        // An older server names all holders, and does not count them.
        const auto in_all = fields.optional_integer("holders_in_all").value_or(0);
        refusal.holders_in_all = std::max(
            refusal.holders.size(), static_cast<std::size_t>(std::max<std::int64_t>(in_all, 0)));
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

// Writes these fields of a lease or of a holder, one by one.
template <class T>
void put_fields(auto& put, const auto& fields, const T& lease) {
    for_each_field(fields, [&](const auto& field) {
        const auto& value = field.of(lease);
        using Value = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, Mode>) {
            put(field.name, mode_names[value]);
        } else if constexpr (std::is_same_v<Value, std::string>) {
            put(field.name, std::string_view{value});
        } else {
            put(field.name, value);
        }
    });
}

template <class Put>
void put_lease(Put&& put, const Lease& lease) {
    put("type", std::string_view{lease.key.type()});
    put("id", std::string_view{lease.key.id()});
    if (!lease.lock_id.is_nil()) put("lock_id", lease.lock_id);
    put_fields(put, granted_fields, lease);
    put("remaining_ms", lease.remaining().value_or(until_released));
    put_fields(put, requested_texts, lease);
    put("store_now", lease.store_now);
}

// Puts fields into an object in memory.
auto into(json::object& object) {
    return [&object]<class T>(std::string_view name, const T& value) {
        if constexpr (std::is_same_v<T, Time> || std::is_same_v<T, Duration>) {
            object[name] = to_json(value);
        } else if constexpr (std::is_same_v<T, LockId>) {
            object[name] = value.to_string();
        } else {
            object[name] = value;
        }
    };
}

}  // namespace

json::object to_json(const Lease& lease) {
    constexpr std::size_t others = 5;
    json::object object;
    object.reserve(std::tuple_size_v<decltype(public_fields)> + others);
    put_lease(into(object), lease);
    return object;
}

void print(std::string& out, const Lease& lease) {
    ObjectPrinter printer{out};
    put_lease(printer, lease);
    printer.close();
}

json::object to_json(const Holder& holder) {
    json::object object;
    put_key(object, holder.key);
    const auto put = into(object);
    put_fields(put, public_fields, holder);
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

json::object to_json(const Refusal& refusal, Language language) {
    json::object object;
    object["code"] = refusal_names[refusal.kind];
    object["detail"] = refusal.message(language);
    if (refusal.kind == Refusal::Kind::held) {
        object["holders"] = list_of(refusal.holders);
        object["holders_in_all"] = std::max(refusal.holders_in_all, refusal.holders.size());
    }
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

json::object to_json(const Outcome& outcome, Language language) {
    json::object object;
    std::visit(
        [&object, language]<class T>(const T& answer) {
            if constexpr (std::is_same_v<T, Lease>) {
                object["lease"] = to_json(answer);
            } else if constexpr (std::is_same_v<T, std::vector<Lease>>) {
                object["leases"] = list_of(answer);
            } else if constexpr (std::is_same_v<T, HolderPage>) {
                object["holders"] = list_of(answer.items);
                object["store_now"] = to_json(answer.store_now);
                if (answer.cut) object["cut"] = true;
                if (answer.looked_up_to) object["looked_up_to"] = place_of(*answer.looked_up_to);
            } else if constexpr (std::is_same_v<T, HistoryPage>) {
                object["history"] = list_of(answer.items);
                object["store_now"] = to_json(answer.store_now);
                if (answer.cut) object["cut"] = true;
                if (answer.looked_up_to) object["looked_up_to"] = place_of(*answer.looked_up_to);
            } else if constexpr (std::is_same_v<T, Purged>) {
                object["purged"] = {{"forgotten", answer.forgotten}, {"complete", answer.complete}};
            } else if constexpr (std::is_same_v<T, Refusal>) {
                object["refused"] = to_json(answer, language);
            } else if constexpr (std::is_same_v<T, StoreFault>) {
                object["fault"] = to_json(answer);
            }
        },
        outcome);
    return object;
}

void print(std::string& out, const Outcome& outcome, Language language) {
    const auto* lease = std::get_if<Lease>(&outcome);
    if (lease == nullptr) return print(out, to_json(outcome, language));
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
            .store_now = required_time(fields, "store_now"),
            .cut = is_cut(fields),
            .looked_up_to = place_in<Holder>(fields)};
    }
    if (const json::value* history = fields.optional("history")) {
        return HistoryPage{.items = read_list<PastLease>(*history, "history", past_from),
                           .store_now = required_time(fields, "store_now"),
                           .cut = is_cut(fields),
                           .looked_up_to = place_in<PastLease>(fields)};
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
