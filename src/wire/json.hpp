#pragma once

#include <boost/container/small_vector.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <leasehold/lock_id.hpp>
#include <leasehold/time.hpp>

// Reads JSON from clients strictly, and prints JSON.
namespace leasehold::wire {

namespace json = boost::json;

inline constexpr std::size_t deepest_nesting = 8;

// Throws BadRequest if the text is not JSON, is nested too deeply, is not UTF-8, or has a field
// twice. The message says where.
[[nodiscard]] json::value parse(std::string_view text, json::storage_ptr storage = {});

// Prints JSON without spaces. Numbers are printed as people write them, 59900.5, never 5.99E4, and
// parse() reads the same numbers back.
[[nodiscard]] std::string print(const json::value& value);
[[nodiscard]] std::string print(const json::object& object);
void print(std::string& out, const json::value& value);
void print(std::string& out, const json::object& object);

// Prints an object field by field, without building it in memory first. Names are not escaped: they
// come from this program.
class ObjectPrinter {
public:
    explicit ObjectPrinter(std::string& out) : out_{out} {}
    ObjectPrinter(const ObjectPrinter&) = delete;
    ObjectPrinter& operator=(const ObjectPrinter&) = delete;
    ~ObjectPrinter() = default;

    void operator()(std::string_view name, std::string_view text);
    void operator()(std::string_view name, std::int64_t number);
    void operator()(std::string_view name, LockId lock_id);
    void operator()(std::string_view name, Duration duration);
    void operator()(std::string_view name, Time time);
    // Prints the name; the caller prints the value.
    void name(std::string_view name);
    // Ends the object. Call it last.
    void close();

private:
    std::string& out_;
    char before_ = '{';
};

// Reads the fields of one object by name. Every function throws BadRequest if the field has the
// wrong type; the message names the object, the field and what is expected. null is refused except
// where the comment gives it a meaning: a client leaves out a field to get the default.
class Fields {
public:
    // `what` names the object in messages: "the body". Throws if the value is not an object. Both
    // outlive this.
    Fields(const json::value& value, std::string_view what);
    Fields(const json::object& object, std::string_view what) : object_{object}, what_{what} {}

    [[nodiscard]] bool has(std::string_view name) const { return object_.contains(name); }
    // nullptr if the field is missing.
    [[nodiscard]] const json::value* optional(std::string_view name);
    // Throws if the field is missing.
    [[nodiscard]] const json::value& required(std::string_view name);

    [[nodiscard]] std::string text(std::string_view name);
    [[nodiscard]] std::optional<std::string> optional_text(std::string_view name);
    // The view is valid as long as the object.
    [[nodiscard]] std::optional<std::string_view> optional_view(std::string_view name);
    [[nodiscard]] std::int64_t integer(std::string_view name);
    [[nodiscard]] std::optional<std::int64_t> optional_integer(std::string_view name);
    // Milliseconds, with or without a fraction.
    [[nodiscard]] std::optional<Duration> optional_duration(std::string_view name);
    // The same; null means until_released.
    [[nodiscard]] std::optional<Duration> optional_ttl(std::string_view name);
    // An RFC 3339 date-time in whole microseconds; null means never.
    [[nodiscard]] std::optional<Time> optional_time(std::string_view name);

    // Throws if the object has a field that no call above asked for.
    void refuse_others() const;
    // Throws BadRequest: "the body: "mode" must be ...".
    [[noreturn]] void refuse(std::string_view name, std::string_view problem) const;

private:
    const json::value* find(std::string_view name);
    // `what` says in the message what is expected instead of null.
    const json::value* find_unless_null(std::string_view name, std::string_view what);
    [[nodiscard]] Duration duration_in(std::string_view name, const json::value& value) const;

    const json::object& object_;
    const std::string_view what_;
    boost::container::small_vector<std::string_view, 16> taken_;
};

// An RFC 3339 date-time: "2026-11-15T09:20:00Z", "2026-11-15T18:20:00.123456+09:00". The store's
// clock has microseconds and no leap seconds, so a finer fraction and a second 60 are refused.
[[nodiscard]] std::optional<Time> time_from(std::string_view text);

// Milliseconds, with a fraction if needed; null for until_released.
[[nodiscard]] json::value to_json(Duration duration);
// "2026-11-15T09:20:00.000000Z"; null for never.
[[nodiscard]] json::value to_json(Time time);

}  // namespace leasehold::wire
