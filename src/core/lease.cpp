#include <leasehold/lease.hpp>
#include <leasehold/store_status.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/enum_names.hpp"
#include "core/text.hpp"

namespace leasehold {
namespace {

// Writes the digits that end before `end`.
void write_digits(char* end, std::size_t digits, std::int64_t number) {
    for (auto rest = static_cast<std::uint32_t>(number); digits > 0; --digits, rest /= 10) {
        *--end = static_cast<char>('0' + rest % 10);
    }
}

// A person is named by the first part of the owner's path: "alice" for "alice/session-7/tab-2".
std::string named(const std::string& owner) {
    return owner.empty() ? "somebody" : owner.substr(0, owner.find('/'));
}

// "1 minute", "5 minutes": in the largest unit that gives at least two, and never too short.
std::string roughly(Duration time) {
    struct Unit {
        const char* name;
        Duration length;
    };
    constexpr std::array units{Unit{"day", std::chrono::days{1}},
                               Unit{"hour", std::chrono::hours{1}},
                               Unit{"minute", std::chrono::minutes{1}}};
    Unit unit{"second", std::chrono::seconds{1}};
    for (const Unit& larger : units) {
        if (time > 2 * larger.length - std::chrono::seconds{1}) {
            unit = larger;
            break;
        }
    }
    const auto count = (time + unit.length - Duration{1}) / unit.length;
    return std::to_string(count) + ' ' + unit.name + (count == 1 ? "" : "s");
}

std::string describe(const Holder& holder, Time store_now) {
    std::string text = holder.key.to_string() +
                       (holder.mode == Mode::shared ? " is shared by " : " is held by ") +
                       named(holder.owner);
    if (holder.expires_at == never) {
        text += " until it is released";
    } else if (holder.expires_at <= store_now) {
        text += " for a moment more";
    } else {
        text += " for at most " + roughly(holder.expires_at - store_now) + " more";
    }
    if (!holder.note.empty()) text += " (" + holder.note + ")";
    return text;
}

std::string describe_gone(const Refusal& refusal) {
    const std::string why = refusal.why.empty() ? "" : ": " + refusal.why;
    std::string sentence{gone_sentences[refusal.reason]};
    switch (refusal.reason) {
        case Gone::released: return sentence + why;
        case Gone::taken: return "the lease has expired and " + named(refusal.by) + " took the key";
        case Gone::broken: return sentence + " by " + named(refusal.by) + why;
        case Gone::expired:
        case Gone::unknown: break;
    }
    return sentence;
}

}  // namespace

std::string Refusal::message() const {
    switch (kind) {
        case Kind::busy: return "an open transaction is using this lock; try again in a moment";
        case Kind::gone: return describe_gone(*this);
        case Kind::held: break;
    }
    if (holders.empty()) return "somebody else holds the key";
    std::string text = describe(holders.front(), store_now);
    const std::size_t others = std::max(holders.size(), holders_in_all) - 1;
    if (others > 0) text += " and " + std::to_string(others) + " more";
    return text;
}

// The names are string literals, so each ends with a null character.
const char* to_string(Mode mode) noexcept {
    return mode_names[mode].data();
}

const char* to_string(Gone gone) noexcept {
    return gone_names[gone].data();
}

const char* to_string(Refusal::Kind kind) noexcept {
    return refusal_names[kind].data();
}

const char* to_string(Durability durability) noexcept {
    return durability_names[durability].data();
}

std::string to_string(Time time) {
    std::string text;
    append(text, time);
    return text;
}

void append(std::string& out, Time time) {
    if (time == never) {
        out.append("never");
        return;
    }
    // Four digits show the years 0 to 9999.
    constexpr Time first = std::chrono::sys_days{std::chrono::year{0} / 1 / 1};
    constexpr Time last =
        Time{std::chrono::sys_days{std::chrono::year{10'000} / 1 / 1}} - Duration{1};
    time = std::clamp(time, first, last);
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss clock{time - day};
    constexpr std::string_view form = "0000-00-00T00:00:00.000000Z";
    out.append(form);
    char* const text = out.data() + out.size() - form.size();
    write_digits(text + 4, 4, static_cast<int>(date.year()));
    write_digits(text + 7, 2, static_cast<unsigned>(date.month()));
    write_digits(text + 10, 2, static_cast<unsigned>(date.day()));
    write_digits(text + 13, 2, clock.hours().count());
    write_digits(text + 16, 2, clock.minutes().count());
    write_digits(text + 19, 2, clock.seconds().count());
    write_digits(text + 26, 6, clock.subseconds().count());
}

}  // namespace leasehold
