#include <leasehold/lease.hpp>
#include <leasehold/store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/holder.hpp"
#include "core/text.hpp"

namespace leasehold {
namespace {

// In front of `end`.
void write_digits(char* end, std::size_t digits, std::int64_t number) {
    for (auto rest = static_cast<std::uint32_t>(number); digits > 0; --digits, rest /= 10) {
        *--end = static_cast<char>('0' + rest % 10);
    }
}

std::string named(const std::string& owner) {
    return owner.empty() ? "somebody" : owner;
}

std::string describe(const Holder& holder) {
    std::string text = holder.key.to_string() + " is " +
                       (holder.mode == Mode::shared ? "shared by " : "held by ") +
                       named(holder.owner) + " since " + to_string(holder.since);
    text += holder.until == never ? " until it is released" : " until " + to_string(holder.until);
    if (!holder.note.empty()) text += " (" + holder.note + ")";
    return text;
}

std::string describe_gone(const Refusal& refusal) {
    switch (refusal.reason) {
        case Gone::expired: return "the lease has expired";
        case Gone::released: return "the lease has been released";
        case Gone::taken: return "the lease has expired and " + named(refusal.by) + " took the key";
        case Gone::broken:
            return "the lease was broken by " + named(refusal.by) +
                   (refusal.why.empty() ? "" : ": " + refusal.why);
        case Gone::unknown: break;
    }
    return "no such lease is known";
}

}  // namespace

Holder holder_of(Lease lease) {
    return {.key = std::move(lease.key),
            .owner = std::move(lease.owner),
            .mode = lease.mode,
            .fence = lease.fence,
            .since = lease.granted_at,
            .until = lease.expires_at,
            .note = std::move(lease.note)};
}

std::string Refusal::message() const {
    switch (kind) {
        case Kind::busy: return "an open transaction is using this lock; try again in a moment";
        case Kind::gone: return describe_gone(*this);
        case Kind::held: break;
    }
    if (holders.empty()) return "somebody else holds the key";
    std::string text = describe(holders.front());
    if (holders.size() > 1) text += " and " + std::to_string(holders.size() - 1) + " more";
    return text;
}

const char* to_string(Mode mode) noexcept {
    return mode == Mode::exclusive ? "exclusive" : "shared";
}

const char* to_string(Gone gone) noexcept {
    switch (gone) {
        case Gone::expired: return "expired";
        case Gone::released: return "released";
        case Gone::taken: return "taken";
        case Gone::broken: return "broken";
        case Gone::unknown: break;
    }
    return "unknown";
}

const char* to_string(Refusal::Kind kind) noexcept {
    switch (kind) {
        case Refusal::Kind::held: return "held";
        case Refusal::Kind::gone: return "gone";
        case Refusal::Kind::busy: break;
    }
    return "busy";
}

const char* to_string(Durability durability) noexcept {
    switch (durability) {
        case Durability::strong: return "strong";
        case Durability::weak: return "weak";
        case Durability::none: break;
    }
    return "none";
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
    // The years that four digits can show.
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
