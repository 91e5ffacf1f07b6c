#include <leasehold/lease.hpp>
#include <leasehold/refusal_texts.hpp>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace leasehold {
namespace {

struct Replacement {
    std::string_view hole;
    std::string_view value;
};

// In one pass, so that a name that looks like a hole stays as it is.
std::string filled(std::string_view text, std::initializer_list<Replacement> replacements) {
    std::string out;
    while (!text.empty()) {
        const auto* const found = std::ranges::find_if(
            replacements, [&](const Replacement& r) { return text.starts_with(r.hole); });
        if (found == replacements.end()) {
            out += text.front();
            text.remove_prefix(1);
        } else {
            out += found->value;
            text.remove_prefix(found->hole.size());
        }
    }
    return out;
}

std::string person_in(std::string_view owner, const RefusalTexts& texts) {
    return owner.empty() ? texts.somebody : std::string{owner.substr(0, owner.find('/'))};
}

std::string clock_at(Time time, std::chrono::minutes east_of_utc) {
    const auto local = time + east_of_utc;
    const std::chrono::hh_mm_ss clock{local - std::chrono::floor<std::chrono::days>(local)};
    const auto two_digits = [](auto number) {
        const std::string digits = std::to_string(number);
        return digits.size() < 2 ? '0' + digits : digits;
    };
    const std::string text =
        two_digits(clock.hours().count()) + ':' + two_digits(clock.minutes().count());
    return east_of_utc == std::chrono::minutes::zero() ? text + " UTC" : text;
}

std::string short_held(const Refusal& refusal, const RefusalTexts& texts,
                       std::chrono::minutes east_of_utc) {
    if (refusal.holders.empty()) return texts.held_by_unknown;
    const Holder& first = refusal.holders.front();
    const std::size_t others = std::max(refusal.holders.size(), refusal.holders_in_all) - 1;
    const std::string name = person_in(first.owner, texts);
    const std::string time = clock_at(first.granted_at, east_of_utc);
    const std::string number = std::to_string(others);
    return filled(others == 0 ? texts.held : texts.held_by_several,
                  {{"{name}", name}, {"{time}", time}, {"{others}", number}});
}

}  // namespace

std::string Refusal::short_message() const {
    return short_message(RefusalTexts::english());
}

std::string Refusal::short_message(const RefusalTexts& texts,
                                   std::chrono::minutes east_of_utc) const {
    if (kind == Kind::busy) return texts.busy;
    if (kind == Kind::held) return short_held(*this, texts, east_of_utc);
    const std::string name = person_in(by, texts);
    switch (reason) {
        case Gone::expired: return texts.expired;
        case Gone::released: return texts.released;
        case Gone::taken: return filled(texts.taken, {{"{name}", name}});
        case Gone::broken:
            return filled(why.empty() ? texts.broken : texts.broken_why,
                          {{"{name}", name}, {"{why}", why}});
        case Gone::unknown: break;
    }
    return texts.unknown;
}

const RefusalTexts& RefusalTexts::english() {
    static const RefusalTexts texts{
        .somebody = "somebody",
        .held = "{name} has been editing this since {time}.",
        .held_by_several = "{name} has been using this since {time}, and {others} more.",
        .held_by_unknown = "Somebody else is editing this.",
        .expired = "Your lock has expired.",
        .released = "Your lock was released elsewhere.",
        .taken = "Your lock ended, and {name} took it.",
        .broken = "{name} broke your lock.",
        .broken_why = "{name} broke your lock: “{why}”",
        .unknown = "You no longer have the lock.",
        .busy = "This is being saved right now. Try again in a moment."};
    return texts;
}

const RefusalTexts& RefusalTexts::korean() {
    static const RefusalTexts texts{
        .somebody = "다른 사용자",
        .held = "{name} 님이 {time}부터 편집하고 있습니다.",
        .held_by_several =
            "{name} 님이 {time}부터 사용하고 있습니다. 그 외에 {others}명이 더 있습니다.",
        .held_by_unknown = "다른 사용자가 편집하고 있습니다.",
        .expired = "잠금이 만료되었습니다.",
        .released = "다른 곳에서 잠금이 해제되었습니다.",
        .taken = "잠금이 종료된 뒤 {name} 님이 선점했습니다.",
        .broken = "{name} 님이 잠금을 강제 해제했습니다.",
        .broken_why = "{name} 님이 잠금을 강제 해제했습니다: “{why}”",
        .unknown = "잠금이 더 이상 유효하지 않습니다.",
        .busy = "지금 저장하고 있습니다. 잠시 뒤에 다시 시도하세요."};
    return texts;
}

const RefusalTexts& RefusalTexts::in(const std::string& language) {
    const bool is_korean =
        language.starts_with("ko") && (language.size() == 2 || language[2] == '-');
    return is_korean ? korean() : english();
}

}  // namespace leasehold
