#include "stores/etcd/records.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <charconv>
#include <exception>
#include <utility>

#include "core/columns.hpp"

namespace leasehold::etcd {
namespace {

namespace json = boost::json;

constexpr std::size_t time_digits = 20;

// Empty fields are not written.
void set(json::object& object, std::string_view name, const std::string& text) {
    if (!text.empty()) object[name] = text;
}
void set(json::object& object, std::string_view name, std::int64_t number) {
    if (number != 0) object[name] = number;
}

std::string text_of(const json::object& object, std::string_view name) {
    const json::value* const value = object.if_contains(name);
    return value != nullptr ? std::string{value->as_string()} : std::string{};
}
std::int64_t number_of(const json::object& object, std::string_view name) {
    const json::value* const value = object.if_contains(name);
    return value != nullptr ? value->to_number<std::int64_t>() : 0;
}
Time time_of(const json::object& object, std::string_view name) {
    return leasehold::time_from(number_of(object, name));
}
LockId lock_id_of(const json::object& object) {
    return lock_id_from(text_of(object, "lock_id"));
}

// For rows and for leases.
void set_lease(json::object& object, const auto& lease) {
    object["lock_id"] = lease.lock_id.to_string();
    set(object, "owner", lease.owner);
    set(object, "mode", leasehold::number_of(lease.mode));
    set(object, "fence", lease.fence);
    set(object, "granted", micros(lease.granted_at));
    set(object, "expires", micros(lease.expires_at));
    set(object, "note", lease.note);
}

template <class Lease>
Lease lease_of(const json::object& object) {
    Lease lease;
    lease.lock_id = lock_id_of(object);
    lease.owner = text_of(object, "owner");
    lease.mode = mode_from(number_of(object, "mode"));
    lease.fence = number_of(object, "fence");
    lease.granted_at = time_of(object, "granted");
    lease.expires_at = time_of(object, "expires");
    lease.note = text_of(object, "note");
    return lease;
}

template <class Read>
auto read(std::string_view value, Read from)
    -> std::optional<decltype(from(std::declval<json::object>()))> {
    try {
        return from(json::parse(value).as_object());
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

}  // namespace

std::string print(const LockRow& row) {
    json::object object;
    set_lease(object, row);
    set(object, "touched", micros(row.touched_at));
    set(object, "ended", leasehold::number_of(row.ended));
    set(object, "ended_at", micros(row.ended_at));
    set(object, "ended_by", row.ended_by);
    set(object, "ended_why", row.ended_why);
    return json::serialize(object);
}

std::optional<LockRow> row_from(std::string_view value) {
    return read(value, [](const json::object& object) {
        LockRow row = lease_of<LockRow>(object);
        row.touched_at = time_of(object, "touched");
        row.ended = gone_from(number_of(object, "ended"));
        row.ended_at = time_of(object, "ended_at");
        row.ended_by = text_of(object, "ended_by");
        row.ended_why = text_of(object, "ended_why");
        return row;
    });
}

std::string print_share(const Grant& share) {
    json::object object;
    set_lease(object, share);
    return json::serialize(object);
}

std::optional<Grant> share_from(std::string_view value) {
    return read(value, [](const json::object& object) { return lease_of<Grant>(object); });
}

std::string print(const Ended& ended, std::int64_t order) {
    const Ending& ending = *ended.ending;
    json::object object;
    object["type"] = ended.key.type();
    object["id"] = ended.key.id();
    set_lease(object, ending.grant);
    object["ended"] = leasehold::number_of(ending.how);
    set(object, "ended_at", micros(ending.at));
    set(object, "ended_by", ending.by);
    set(object, "ended_why", ending.why);
    set(object, "order", order);
    return json::serialize(object);
}

std::optional<EndedRecord> ended_from(std::string_view value) {
    return read(value, [](const json::object& object) {
        return EndedRecord{.ended = {LockKey{text_of(object, "type"), text_of(object, "id")},
                                     Ending{.grant = lease_of<Grant>(object),
                                            .how = gone_from(number_of(object, "ended")),
                                            .at = time_of(object, "ended_at"),
                                            .by = text_of(object, "ended_by"),
                                            .why = text_of(object, "ended_why")}},
                           .order = number_of(object, "order")};
    });
}

std::string print(Time time) {
    const std::string number = std::to_string(micros(time));
    return std::string(time_digits - number.size(), '0') + number;
}

std::optional<Time> time_from(std::string_view value) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size() || value.size() != time_digits) {
        return std::nullopt;
    }
    return leasehold::time_from(number);
}

}  // namespace leasehold::etcd
