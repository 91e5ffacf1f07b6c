#include "wire/json.hpp"

#include <leasehold/errors.hpp>
#include <leasehold/lease.hpp>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "core/text.hpp"

namespace leasehold::wire {
namespace {

// Ignores everything the parser reports. The classes below override what they need.
struct NameHandler {
    static constexpr std::size_t max_object_size = 10'000;
    static constexpr std::size_t max_array_size = 10'000;
    static constexpr std::size_t max_key_size = 1'000;
    static constexpr std::size_t max_string_size = 1'000'000;

    bool on_document_begin(json::error_code&) { return true; }
    bool on_document_end(json::error_code&) { return true; }
    bool on_object_begin(json::error_code&) { return true; }
    bool on_object_end(std::size_t, json::error_code&) { return true; }
    bool on_array_begin(json::error_code&) { return true; }
    bool on_array_end(std::size_t, json::error_code&) { return true; }
    bool on_key_part(json::string_view, std::size_t, json::error_code&) { return true; }
    bool on_key(json::string_view, std::size_t, json::error_code&) { return true; }
    bool on_string_part(json::string_view, std::size_t, json::error_code&) { return true; }
    bool on_string(json::string_view, std::size_t, json::error_code&) { return true; }
    bool on_number_part(json::string_view, json::error_code&) { return true; }
    bool on_int64(std::int64_t, json::string_view, json::error_code&) { return true; }
    bool on_uint64(std::uint64_t, json::string_view, json::error_code&) { return true; }
    bool on_double(double, json::string_view, json::error_code&) { return true; }
    bool on_bool(bool, json::error_code&) { return true; }
    bool on_null(json::error_code&) { return true; }
    bool on_comment_part(json::string_view, json::error_code&) { return true; }
    bool on_comment(json::string_view, json::error_code&) { return true; }
};

struct NameCounter : NameHandler {
    std::size_t names = 0;

    bool on_key(json::string_view, std::size_t, json::error_code&) {
        ++names;
        return true;
    }
    bool on_double(double number, json::string_view, json::error_code& error) {
        if (std::isfinite(number)) return true;
        error = json::error::exponent_overflow;
        return false;
    }
};

// Finds the first field that an object has twice.
struct DuplicateFinder : NameHandler {
    std::vector<std::set<std::string, std::less<>>> names;
    std::string name;
    std::optional<std::string> twice;

    bool on_object_begin(json::error_code&) {
        names.emplace_back();
        return true;
    }
    bool on_object_end(std::size_t, json::error_code&) {
        names.pop_back();
        return true;
    }
    bool on_key_part(json::string_view part, std::size_t, json::error_code&) {
        name.append(part);
        return true;
    }
    bool on_key(json::string_view part, std::size_t, json::error_code& error) {
        name.append(part);
        if (!names.back().insert(name).second) {
            twice = name;
            error = json::error::syntax;
            return false;
        }
        name.clear();
        return true;
    }
};

json::parse_options strict() {
    json::parse_options options;
    options.max_depth = deepest_nesting;
    return options;
}

std::size_t count_names(std::string_view text) {
    json::basic_parser<NameCounter> parser{strict()};
    json::error_code error;
    const std::size_t read = parser.write_some(false, text.data(), text.size(), error);
    if (error) {
        throw BadRequest{"not valid JSON at byte " + std::to_string(read) + ": " + error.message()};
    }
    return parser.handler().names;
}

std::size_t count_fields(const json::value& value) {
    std::size_t fields = 0;
    if (const json::array* list = value.if_array()) {
        for (const json::value& item : *list) fields += count_fields(item);
    } else if (const json::object* object = value.if_object()) {
        for (const auto& field : *object) fields += 1 + count_fields(field.value());
    }
    return fields;
}

std::string name_given_twice(std::string_view text) {
    json::basic_parser<DuplicateFinder> parser{strict()};
    json::error_code ignored;
    parser.write_some(false, text.data(), text.size(), ignored);
    return parser.handler().twice.value_or("");
}

void print_text(std::string& out, std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto is_special = [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
    };
    out.push_back('"');
    for (auto rest = text.begin(); rest != text.end();) {
        const auto special = std::find_if(rest, text.end(), is_special);
        out.append(rest, special);
        if (special == text.end()) break;
        rest = special + 1;
        const auto byte = static_cast<unsigned char>(*special);
        if (byte >= 0x20) {
            out.append({'\\', *special});
        } else if (byte == '\n') {
            out.append("\\n");
        } else {
            out.append({'\\', 'u', '0', '0', digits[byte >> 4U], digits[byte & 15U]});
        }
    }
    out.push_back('"');
}

// Prints a text in which nothing has to be escaped.
void print_plain(std::string& out, std::string_view text) {
    out.push_back('"');
    out.append(text);
    out.push_back('"');
}

template <class Number, class... Format>
void print_number(std::string& out, Number number, Format... format) {
    // Enough for the longest double without an exponent.
    std::array<char, std::numeric_limits<double>::max_exponent10 + 20> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number, format...).ptr;
    out.append(text.data(), end);
}

// Prints the same text as print(to_json(Duration)).
void print_milliseconds(std::string& out, Duration duration) {
    if (duration == until_released) {
        out.append("null");
        return;
    }
    if (duration < Duration::zero()) out.push_back('-');
    const auto [whole, fraction] = std::lldiv(std::abs(duration.count()), 1000);
    print_number(out, whole);
    if (fraction == 0) return;
    const std::string digits = std::to_string(1000 + fraction);
    out.push_back('.');
    out.append(digits, 1, digits.find_last_not_of('0'));
}

void print_list(std::string& out, const json::array& list) {
    out.push_back('[');
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (i > 0) out.push_back(',');
        print(out, list[i]);
    }
    out.push_back(']');
}

constexpr double longest_ms = 1e15;
// Every integer up to this one is a double without loss.
constexpr double exact_double = 9007199254740992.0;
constexpr auto missing = "is missing";

std::string_view kind_name(const json::value& value) {
    switch (value.kind()) {
        case json::kind::null: return "null";
        case json::kind::bool_: return value.get_bool() ? "true" : "false";
        case json::kind::int64:
        case json::kind::uint64:
        case json::kind::double_: return "a number";
        case json::kind::string: return "a string";
        case json::kind::array: return "an array";
        case json::kind::object: return "an object";
    }
    return "";
}

// "must be a string, not a number". Texts are not repeated: one of them may be a lock id.
std::string expected(std::string_view what, const json::value& value) {
    std::string problem{"must be "};
    problem.append(what).append(", not ");
    if (value.is_number()) {
        print(problem, value);
    } else {
        problem.append(kind_name(value));
    }
    if (value.is_null()) problem.append("; leave the field out to get its default");
    return problem;
}

// Takes characters from the front of a text.
class TimeReader {
public:
    explicit TimeReader(std::string_view text) : rest_{text} {}

    [[nodiscard]] bool at_end() const { return rest_.empty(); }
    bool take(std::string_view choices) {
        if (rest_.empty() || !choices.contains(rest_.front())) return false;
        rest_.remove_prefix(1);
        return true;
    }
    // A number of exactly that many digits, or nothing.
    std::optional<int> number(std::size_t digits) {
        if (rest_.size() < digits) return std::nullopt;
        int value = 0;
        for (const char c : rest_.substr(0, digits)) {
            if (c < '0' || c > '9') return std::nullopt;
            value = value * 10 + (c - '0');
        }
        rest_.remove_prefix(digits);
        return value;
    }
    // The digits of a fraction of a second. Nothing where it is not a whole number of microseconds.
    std::optional<std::chrono::microseconds> fraction() {
        std::int64_t value = 0;
        std::int64_t unit = 1'000'000;
        std::size_t digits = 0;
        for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits) {
            const int digit = rest_[digits] - '0';
            unit /= 10;
            if (unit == 0 && digit != 0) return std::nullopt;
            value += unit * digit;
        }
        if (digits == 0) return std::nullopt;
        rest_.remove_prefix(digits);
        return std::chrono::microseconds{value};
    }

private:
    std::string_view rest_;
};

struct HourAndMinute {
    int hour;
    int minute;
};

std::optional<HourAndMinute> hour_and_minute(TimeReader& in) {
    const auto hour = in.number(2);
    if (!hour || *hour > 23 || !in.take(":")) return std::nullopt;
    const auto minute = in.number(2);
    if (!minute || *minute > 59) return std::nullopt;
    return HourAndMinute{*hour, *minute};
}

std::optional<std::chrono::sys_days> date(TimeReader& in) {
    const auto year = in.number(4);
    if (!year || !in.take("-")) return std::nullopt;
    const auto month = in.number(2);
    if (!month || !in.take("-")) return std::nullopt;
    const auto day = in.number(2);
    if (!day) return std::nullopt;
    const std::chrono::year_month_day date{std::chrono::year{*year},
                                           std::chrono::month{static_cast<unsigned>(*month)},
                                           std::chrono::day{static_cast<unsigned>(*day)}};
    if (!date.ok()) return std::nullopt;
    return std::chrono::sys_days{date};
}

// How far the local time is ahead of UTC: "Z", "+09:00", "-03:30".
std::optional<std::chrono::minutes> offset(TimeReader& in) {
    if (in.take("Zz")) return std::chrono::minutes{0};
    const bool ahead = in.take("+");
    if (!ahead && !in.take("-")) return std::nullopt;
    const auto distance = hour_and_minute(in);
    if (!distance) return std::nullopt;
    const std::chrono::minutes minutes{distance->hour * 60 + distance->minute};
    return ahead ? minutes : -minutes;
}

}  // namespace

std::optional<Time> time_from(std::string_view text) {
    TimeReader in{text};
    const auto day = date(in);
    if (!day || !in.take("Tt")) return std::nullopt;
    const auto clock = hour_and_minute(in);
    if (!clock || !in.take(":")) return std::nullopt;
    const auto second = in.number(2);
    if (!second || *second > 59) return std::nullopt;
    std::optional fraction{std::chrono::microseconds{0}};
    if (in.take(".")) fraction = in.fraction();
    if (!fraction) return std::nullopt;
    const auto ahead = offset(in);
    if (!ahead || !in.at_end()) return std::nullopt;
    return Time{*day} + std::chrono::hours{clock->hour} + std::chrono::minutes{clock->minute} +
           std::chrono::seconds{*second} + *fraction - *ahead;
}

json::value parse(std::string_view text, json::storage_ptr storage) {
    const std::size_t names = count_names(text);
    json::error_code error;
    json::value value = json::parse(text, error, std::move(storage), strict());
    if (error) throw BadRequest{"not valid JSON: " + error.message()};
    // The parser keeps only the last of two fields with one name.
    if (count_fields(value) != names) {
        throw BadRequest{"the field \"" + name_given_twice(text) + "\" is given twice"};
    }
    return value;
}

void print(std::string& out, const json::value& value) {
    switch (value.kind()) {
        case json::kind::null: out.append("null"); return;
        case json::kind::bool_: out.append(value.get_bool() ? "true" : "false"); return;
        case json::kind::int64: return print_number(out, value.get_int64());
        case json::kind::uint64: return print_number(out, value.get_uint64());
        case json::kind::double_:
            // Adding 0.0 turns -0.0 into 0.0, which is read back as the same number.
            return print_number(out, value.get_double() + 0.0, std::chars_format::fixed);
        case json::kind::string: return print_text(out, value.get_string());
        case json::kind::array: return print_list(out, value.get_array());
        case json::kind::object: return print(out, value.get_object());
    }
}

void print(std::string& out, const json::object& object) {
    char before = '{';
    for (const auto& field : object) {
        out.push_back(before);
        before = ',';
        print_text(out, field.key());
        out.push_back(':');
        print(out, field.value());
    }
    out.append(object.empty() ? "{}" : "}");
}

void ObjectPrinter::name(std::string_view name) {
    out_.push_back(std::exchange(before_, ','));
    print_plain(out_, name);
    out_.push_back(':');
}

void ObjectPrinter::operator()(std::string_view field, std::string_view text) {
    name(field);
    print_text(out_, text);
}

void ObjectPrinter::operator()(std::string_view field, std::int64_t number) {
    name(field);
    print_number(out_, number);
}

void ObjectPrinter::operator()(std::string_view field, LockId lock_id) {
    name(field);
    print_plain(out_, lock_id.to_string());
}

void ObjectPrinter::operator()(std::string_view field, Duration duration) {
    name(field);
    print_milliseconds(out_, duration);
}

void ObjectPrinter::operator()(std::string_view field, Time time) {
    name(field);
    if (time == never) {
        out_.append("null");
        return;
    }
    out_.push_back('"');
    append(out_, time);
    out_.push_back('"');
}

void ObjectPrinter::close() {
    out_.append(before_ == '{' ? "{}" : "}");
}

std::string print(const json::value& value) {
    std::string out;
    print(out, value);
    return out;
}

std::string print(const json::object& object) {
    std::string out;
    print(out, object);
    return out;
}

Fields::Fields(const json::value& value, std::string_view what)
    : object_{value.is_object() ? value.get_object()
                                : throw BadRequest{std::string{what} + " must be a JSON object"}},
      what_{what} {}

void Fields::refuse(std::string_view name, std::string_view problem) const {
    std::string text{what_};
    text.append(": \"").append(name).append("\" ").append(problem);
    throw BadRequest{text};
}

const json::value* Fields::find(std::string_view name) {
    if (std::ranges::find(taken_, name) == taken_.end()) taken_.push_back(name);
    return object_.if_contains(name);
}

const json::value* Fields::find_unless_null(std::string_view name, std::string_view what) {
    const json::value* value = find(name);
    if (value != nullptr && value->is_null()) refuse(name, expected(what, *value));
    return value;
}

const json::value* Fields::optional(std::string_view name) {
    return find_unless_null(name, "a value");
}

const json::value& Fields::required(std::string_view name) {
    const json::value* value = optional(name);
    if (value == nullptr) refuse(name, missing);
    return *value;
}

std::string Fields::text(std::string_view name) {
    auto text = optional_text(name);
    if (!text) refuse(name, missing);
    return *std::move(text);
}

std::optional<std::string> Fields::optional_text(std::string_view name) {
    const auto view = optional_view(name);
    if (!view) return std::nullopt;
    return std::string{*view};
}

std::optional<std::string_view> Fields::optional_view(std::string_view name) {
    constexpr std::string_view what = "a string";
    const json::value* value = find_unless_null(name, what);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string()) refuse(name, expected(what, *value));
    return std::string_view{value->get_string()};
}

std::int64_t Fields::integer(std::string_view name) {
    const auto number = optional_integer(name);
    if (!number) refuse(name, missing);
    return *number;
}

std::optional<std::int64_t> Fields::optional_integer(std::string_view name) {
    constexpr std::string_view what = "an integer of 64 bits";
    const json::value* value = find_unless_null(name, what);
    if (value == nullptr) return std::nullopt;
    if (value->is_int64()) return value->get_int64();
    // JSON has one kind of number: 1.0 is the integer 1.
    const double* number = value->if_double();
    if (number == nullptr || std::trunc(*number) != *number || std::abs(*number) > exact_double) {
        refuse(name, expected(what, *value));
    }
    return static_cast<std::int64_t>(*number);
}

Duration Fields::duration_in(std::string_view name, const json::value& value) const {
    if (!value.is_number()) refuse(name, expected("a number of milliseconds", value));
    const auto ms = value.to_number<double>();
    if (!(std::abs(ms) < longest_ms)) {
        refuse(name, "is out of range: it must be below 10^15 milliseconds");
    }
    return Duration{std::llround(ms * 1000)};
}

std::optional<Duration> Fields::optional_duration(std::string_view name) {
    const json::value* value = find(name);
    if (value == nullptr) return std::nullopt;
    return duration_in(name, *value);
}

std::optional<Duration> Fields::optional_ttl(std::string_view name) {
    const json::value* value = find(name);
    if (value == nullptr) return std::nullopt;
    return value->is_null() ? until_released : duration_in(name, *value);
}

std::optional<Time> Fields::optional_time(std::string_view name) {
    constexpr std::string_view what =
        "a time such as \"2026-11-15T09:20:00.123456Z\" (RFC 3339, at most microseconds)";
    const json::value* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (value->is_null()) return never;
    if (!value->is_string()) refuse(name, expected(what, *value));
    const auto time = time_from(value->get_string());
    if (!time) refuse(name, "must be " + std::string{what});
    return time;
}

void Fields::refuse_others() const {
    for (const auto& field : object_) {
        const std::string_view name = field.key();
        if (std::ranges::find(taken_, name) != taken_.end()) continue;
        std::string problem{"is not known here; known are "};
        for (const std::string_view known : taken_) {
            if (known != taken_.front()) problem.append(", ");
            problem.append(known);
        }
        refuse(name, problem);
    }
}

json::value to_json(Duration duration) {
    if (duration == until_released) return nullptr;
    if (duration.count() % 1000 == 0) return duration.count() / 1000;
    return static_cast<double>(duration.count()) / 1000;
}

json::value to_json(Time time) {
    if (time == never) return nullptr;
    return json::value(to_string(time));
}

}  // namespace leasehold::wire
