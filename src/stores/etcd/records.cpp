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
std::int64_t number_in(const json::object& object, std::string_view name) {
    const json::value* const value = object.if_contains(name);
    return value != nullptr ? value->to_number<std::int64_t>() : 0;
}

// One record as a row of a database, whose columns are the names of its fields.
struct Record {
    [[nodiscard]] std::string text(std::string_view name) const { return text_of(object, name); }
    [[nodiscard]] std::int64_t integer(std::string_view name) const {
        return number_in(object, name);
    }
    const json::object& object;
};

void set(json::object& object, std::string_view name, Time time) {
    set(object, name, micros(time));
}
template <class Enum>
    requires std::is_enum_v<Enum>
void set(json::object& object, std::string_view name, Enum value) {
    set(object, name, number_of(value));
}

// For rows and for leases.
void set_lease(json::object& object, const Grant& lease) {
    object["lock_id"] = lease.lock_id.to_string();
    for_each_field(stored_fields,
                   [&](const auto& field) { set(object, field.record, field.of(lease)); });
}

void read_lease(const Record& record, Grant& lease) {
    read_field(record, "lock_id", lease.lock_id);
    for_each_field(stored_fields,
                   [&](const auto& field) { read_field(record, field.record, field.of(lease)); });
}

template <class Read>
auto read(std::string_view value, Read from) {
    try {
        const json::value parsed = json::parse(value);
        return from(Record{parsed.as_object()});
    } catch (const UnreadableRow&) {
        throw;
    } catch (const std::exception& error) {
        throw UnreadableRow{error.what()};
    }
}

}  // namespace

std::string print(const LockRow& row) {
    json::object object;
    set_lease(object, row);
    set(object, "touched", row.touched_at);
    set(object, "ended", row.ended);
    set(object, "ended_at", row.ended_at);
    set(object, "ended_by", row.ended_by);
    set(object, "ended_why", row.ended_why);
    return json::serialize(object);
}

LockRow row_from(std::string_view value) {
    return read(value, [](const Record& record) {
        LockRow row;
        read_lease(record, row);
        read_field(record, "touched", row.touched_at);
        read_field(record, "ended", row.ended);
        read_field(record, "ended_at", row.ended_at);
        read_field(record, "ended_by", row.ended_by);
        read_field(record, "ended_why", row.ended_why);
        return row;
    });
}

std::string print_share(const Grant& share) {
    json::object object;
    set_lease(object, share);
    return json::serialize(object);
}

Grant share_from(std::string_view value) {
    return read(value, [](const Record& record) {
        Grant share;
        read_lease(record, share);
        return share;
    });
}

std::string print(const Ended& ended, std::int64_t order) {
    const Ending& ending = *ended.ending;
    json::object object;
    object["type"] = ended.key.type();
    object["id"] = ended.key.id();
    set_lease(object, ending.grant);
    object["ended"] = number_of(ending.how);
    set(object, "ended_at", ending.at);
    set(object, "ended_by", ending.by);
    set(object, "ended_why", ending.why);
    set(object, "order", order);
    return json::serialize(object);
}

EndedRecord ended_from(std::string_view value) {
    return read(value, [](const Record& record) {
        Ending ending;
        read_lease(record, ending.grant);
        read_field(record, "ended", ending.how);
        read_field(record, "ended_at", ending.at);
        read_field(record, "ended_by", ending.by);
        read_field(record, "ended_why", ending.why);
        return EndedRecord{
            .ended = {LockKey{record.text("type"), record.text("id")}, std::move(ending)},
            .order = record.integer("order")};
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
