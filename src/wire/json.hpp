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

// JSON from strangers, read strictly.
namespace leasehold::wire {

namespace json = boost::json;

inline constexpr std::size_t deepest_nesting = 8;

// Throws BadRequest, which says where, for what is not JSON, is nested too deeply, is not UTF-8, or
// gives a field twice.
[[nodiscard]] json::value parse(std::string_view text, json::storage_ptr storage = {});

// The other way, without spaces. Numbers stand there as people write them, 59900.5, never 5.99E4,
// and are read back as they were.
[[nodiscard]] std::string print(const json::value& value);
[[nodiscard]] std::string print(const json::object& object);
void print(std::string& out, const json::value& value);
void print(std::string& out, const json::object& object);

// Prints an object field by field, without making it first. The names are our own words: nothing in
// them is escaped.
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
    // The value is the caller's to print.
    void name(std::string_view name);
    // Nothing comes after that.
    void close();

private:
    std::string& out_;
    char before_ = '{';
};

// The fields of one object, each taken by its name. Every function throws BadRequest, which names
// the field, where it has the wrong type.
class Fields {
public:
    // `what` names the object in messages: "the body". Throws where it is not an object. Both
    // outlive this.
    Fields(const json::value& value, std::string_view what);
    Fields(const json::object& object, std::string_view what) : object_{object}, what_{what} {}

    [[nodiscard]] bool has(std::string_view name) const { return object_.contains(name); }
    // Nothing where the field is missing or null.
    [[nodiscard]] const json::value* optional(std::string_view name);
    // Throws where it is missing or null.
    [[nodiscard]] const json::value& required(std::string_view name);

    [[nodiscard]] std::string text(std::string_view name);
    [[nodiscard]] std::optional<std::string> optional_text(std::string_view name);
    // Lives as long as the object.
    [[nodiscard]] std::optional<std::string_view> optional_view(std::string_view name);
    [[nodiscard]] std::int64_t integer(std::string_view name);
    [[nodiscard]] std::optional<std::int64_t> optional_integer(std::string_view name);
    // In milliseconds, perhaps with a fraction; null is until_released.
    [[nodiscard]] std::optional<Duration> optional_duration(std::string_view name);
    [[nodiscard]] std::optional<Time> optional_time(std::string_view name);

    // Throws where there is a field that nobody has taken.
    void refuse_others() const;

private:
    [[noreturn]] void refuse(std::string_view name, std::string_view problem) const;
    const json::value* find(std::string_view name);

    const json::object& object_;
    const std::string_view what_;
    boost::container::small_vector<std::string_view, 16> taken_;
};

// Milliseconds, with a fraction where there is one; null for until_released.
[[nodiscard]] json::value to_json(Duration duration);
// "2026-11-15T09:20:00.000000Z"; null for never.
[[nodiscard]] json::value to_json(Time time);

}  // namespace leasehold::wire
