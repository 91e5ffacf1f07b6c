// The sentences of a refusal.
#include <leasehold/lease.hpp>
#include <leasehold/refusal_texts.hpp>

#include <algorithm>
#include <string_view>

#include "core/refusal_phrases.hpp"

namespace leasehold {
namespace {

// A person is named by the first part of the owner's path: "alice" for "alice/session-7/tab-2".
std::string person_in(std::string_view owner, std::string_view somebody) {
    return std::string{owner.empty() ? somebody : owner.substr(0, owner.find('/'))};
}

std::string person_in(std::string_view owner, Language language) {
    return person_in(owner, phrases::somebody.in(language));
}

std::size_t others_than_the_first(const Refusal& refusal) {
    return std::max(refusal.holders.size(), refusal.holders_in_all) - 1;
}

// "1 minute", "5 minutes": in the largest unit that gives at least two, and never too short.
std::string roughly(Duration time, Language language) {
    const auto* const unit = std::ranges::find_if(phrases::units, [&](const phrases::Unit& one) {
        return time > 2 * one.length - std::chrono::seconds{1};
    });
    const phrases::Unit& chosen = unit == phrases::units.end() ? phrases::units.back() : *unit;
    const auto count = (time + chosen.length - Duration{1}) / chosen.length;
    const Phrase& phrase = count == 1 ? chosen.one : chosen.several;
    return phrase.in(language, {{"count", std::to_string(count)}});
}

std::string time_left(const Refusal& refusal, const Holder& holder, Language language) {
    if (holder.expires_at == never) return std::string{phrases::left_until_released.in(language)};
    if (holder.expires_at <= refusal.store_now) {
        return std::string{phrases::left_a_moment.in(language)};
    }
    const std::string time = roughly(holder.expires_at - refusal.store_now, language);
    return phrases::left_at_most.in(language, {{"time", time}});
}

std::string describe_held(const Refusal& refusal, Language language) {
    if (refusal.holders.empty()) return std::string{phrases::held_by_unknown.in(language)};
    const Holder& first = refusal.holders.front();
    std::string note;
    if (!first.note.empty()) note = phrases::with_note.in(language, {{"note", first.note}});
    std::string more;
    if (const std::size_t others = others_than_the_first(refusal); others > 0) {
        more = phrases::and_more.in(language, {{"others", std::to_string(others)}});
    }
    const Phrase& phrase = first.mode == Mode::shared ? phrases::shared : phrases::held;
    return phrase.in(language, {{"key", first.key.to_string()},
                                {"name", person_in(first.owner, language)},
                                {"left", time_left(refusal, first, language)},
                                {"note", note},
                                {"more", more}});
}

std::string describe_gone(const Refusal& refusal, Language language) {
    const std::string why = refusal.why.empty() ? "" : ": " + refusal.why;
    const std::string by = person_in(refusal.by, language);
    std::string sentence{phrases::gone[refusal.reason].in(language)};
    switch (refusal.reason) {
        case Gone::released: return sentence + why;
        case Gone::taken: return phrases::taken_by.in(language, {{"name", by}});
        case Gone::broken: return phrases::broken_by.in(language, {{"name", by}}) + why;
        case Gone::expired:
        case Gone::unknown: break;
    }
    return sentence;
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

std::string describe_held_shortly(const Refusal& refusal, const RefusalTexts& texts,
                                  std::chrono::minutes east_of_utc) {
    if (refusal.holders.empty()) return texts.held_by_unknown;
    const Holder& first = refusal.holders.front();
    const std::size_t others = others_than_the_first(refusal);
    return filled(others == 0 ? texts.held : texts.held_by_several,
                  {{"name", person_in(first.owner, texts.somebody)},
                   {"time", clock_at(first.granted_at, east_of_utc)},
                   {"others", std::to_string(others)}});
}

RefusalTexts texts_in(Language language) {
    const auto text = [language](const Phrase& phrase) { return std::string{phrase.in(language)}; };
    return {.somebody = text(phrases::somebody),
            .held = text(phrases::short_held),
            .held_by_several = text(phrases::short_held_by_several),
            .held_by_unknown = text(phrases::short_held_by_unknown),
            .expired = text(phrases::short_expired),
            .released = text(phrases::short_released),
            .taken = text(phrases::short_taken),
            .broken = text(phrases::short_broken),
            .broken_why = text(phrases::short_broken_why),
            .unknown = text(phrases::short_unknown),
            .busy = text(phrases::short_busy)};
}

}  // namespace

std::string Refusal::message(Language language) const {
    switch (kind) {
        case Kind::busy: return std::string{phrases::busy.in(language)};
        case Kind::gone: return describe_gone(*this, language);
        case Kind::held: break;
    }
    return describe_held(*this, language);
}

std::string Refusal::short_message() const {
    return short_message(RefusalTexts::in(Language::english));
}

std::string Refusal::short_message(const RefusalTexts& texts,
                                   std::chrono::minutes east_of_utc) const {
    if (kind == Kind::busy) return texts.busy;
    if (kind == Kind::held) return describe_held_shortly(*this, texts, east_of_utc);
    const std::string name = person_in(by, texts.somebody);
    switch (reason) {
        case Gone::expired: return texts.expired;
        case Gone::released: return texts.released;
        case Gone::taken: return filled(texts.taken, {{"name", name}});
        case Gone::broken:
            return filled(why.empty() ? texts.broken : texts.broken_why,
                          {{"name", name}, {"why", why}});
        case Gone::unknown: break;
    }
    return texts.unknown;
}

const RefusalTexts& RefusalTexts::in(Language language) {
    static const EnumArray<Language, RefusalTexts> texts = [] {
        EnumArray<Language, RefusalTexts> all;
        for (const Language one : languages) all[one] = texts_in(one);
        return all;
    }();
    return texts[language];
}

}  // namespace leasehold
