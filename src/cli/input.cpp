#include "cli/input.hpp"

#include <leasehold/errors.hpp>

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <iostream>

#include "cli/phrases.hpp"
#include "core/durations.hpp"
#include "core/secret_file.hpp"

namespace leasehold::cli {
namespace {

constexpr Duration longest = std::chrono::years{100};

std::unexpected<std::string> not_a_duration(std::string_view text) {
    const std::string given{text};
    if (!given.empty() && given.find_first_not_of("0123456789") == std::string::npos) {
        return std::unexpected{"the duration '" + given + "' has no unit; write " + given +
                               "s for seconds, or " + given + "ms, " + given + "m, " + given +
                               "h, " + given + "d"};
    }
    return std::unexpected{"'" + given +
                           "' is not a duration; write numbers with units, the larger unit first, "
                           "as in 250ms, 90s, 5m, 1h30m, 1d"};
}

// A lock id has 36 letters.
constexpr std::size_t most_lock_id_bytes = 4096;

std::string first_line(const std::string& text, const std::string& where) {
    std::string line = text.substr(0, text.find('\n'));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.empty()) throw BadRequest{where + " does not hold a lock id"};
    return line;
}

std::string lock_id_text(const LockIdSource& source) {
    if (!source.file.empty()) {
        if (LockId::parse(source.file)) {
            throw BadRequest{
                "--lock-id-file takes the name of a file that holds the lock id, not the lock id"};
        }
        const std::string what = "the lock id file '" + source.file + "'";
        const auto content = read_regular_file(source.file, most_lock_id_bytes);
        if (!content) throw BadRequest{what + " cannot be read: " + content.error()};
        return first_line(*content, what);
    }
    if (source.option == "-") {
        std::string line(most_lock_id_bytes, '\0');
        std::cin.getline(line.data(), static_cast<std::streamsize>(line.size()));
        line.resize(line.find('\0'));
        return first_line(line, "standard input");
    }
    if (!source.option.empty()) return source.option;
    if (const char* text = std::getenv("LEASEHOLD_LOCK_ID"); text != nullptr && *text != '\0') {
        return text;
    }
    throw BadRequest{
        "which lease? give its lock id with --lock-id-file FILE, with --lock-id - on standard "
        "input, or in LEASEHOLD_LOCK_ID"};
}

}  // namespace

std::expected<Duration, std::string> parse_duration(std::string_view text) {
    if (text == "0") return Duration::zero();
    Duration sum{};
    auto unit = duration_units.begin();
    std::string_view rest = text;
    do {
        std::int64_t number = 0;
        const char* const last = rest.data() + rest.size();
        const auto [end, error] = std::from_chars(rest.data(), last, number);
        if (error != std::errc{} || number < 0) return not_a_duration(text);
        rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
        const std::string_view name = rest.substr(0, rest.find_first_of("0123456789"));
        while (unit != duration_units.end() && unit->name != name) ++unit;
        if (unit == duration_units.end()) return not_a_duration(text);
        if (number > longest / unit->length) {
            return std::unexpected{"'" + std::string{text} + "' is more than a hundred years"};
        }
        sum += number * unit->length;
        rest.remove_prefix(name.size());
        ++unit;
    } while (!rest.empty());
    return sum;
}

std::string in_words(Duration duration, Language language) {
    if (duration == until_released) return std::string{phrases::until_released.in(language)};
    if (duration < Duration::zero()) return "-" + in_words(-duration, language);
    static_assert(phrases::units.size() == duration_units.size());
    constexpr std::size_t milliseconds = duration_units.size() - 1;
    const auto counted = [language](std::size_t unit, std::int64_t count) {
        return phrases::units.at(unit).in(language, {{"count", std::to_string(count)}});
    };
    std::size_t larger = 0;
    while (larger < milliseconds && duration < duration_units.at(larger).length) ++larger;
    const auto count = duration / duration_units.at(larger).length;
    if (count == 0) return counted(milliseconds - 1, 0);  // "0s"
    std::string text = counted(larger, count);
    const std::size_t smaller = larger + 1;
    if (smaller >= milliseconds) return text;
    const auto rest = duration % duration_units.at(larger).length;
    const auto count_of_rest = rest / duration_units.at(smaller).length;
    if (count_of_rest == 0) return text;
    return phrases::two_units.in(language,
                                 {{"larger", text}, {"smaller", counted(smaller, count_of_rest)}});
}

LockKey key_from(std::string_view text, const std::string& type) {
    if (!type.empty()) return {type, text};
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) return {"dist_lock", text};
    return {text.substr(0, slash), text.substr(slash + 1)};
}

LockId lock_id_from(const LockIdSource& source) {
    const auto id = LockId::parse(lock_id_text(source));
    if (!id) throw BadRequest{id.error()};
    return *id;
}

std::string who_we_are() {
    const passwd* const user = ::getpwuid(::geteuid());
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
    std::string name = user != nullptr ? user->pw_name : std::to_string(::geteuid());
    return name.append("@").append(host.data());
}

}  // namespace leasehold::cli
