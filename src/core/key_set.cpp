#include <leasehold/key_set.hpp>
#include <leasehold/limits.hpp>

#include <algorithm>
#include <optional>

#include "core/text.hpp"

namespace leasehold {
namespace {

// The first character that a text of a key may contain.
constexpr std::string_view first_text = " ";

std::optional<std::string> pattern_problem(std::string_view text) {
    constexpr std::size_t longest = Limits::type_bytes + Limits::id_bytes + 2;
    if (text.empty()) return "a key pattern is empty; '*' is every key";
    if (auto problem = text_problem("a key pattern", text, longest, Lines::one)) return problem;
    const std::string quoted = "the key pattern '" + std::string{text} + "' ";
    const std::size_t star = text.find('*');
    if (star != std::string_view::npos && star + 1 != text.size()) {
        return quoted + "has a '*' that is not at its end";
    }
    const std::size_t slash = text.find('/');
    const std::size_t type_end = std::min({slash, star, text.size()});
    if (type_end > Limits::type_bytes) return quoted + "has a type that is too long";
    if (slash == std::string_view::npos) {
        if (star != std::string_view::npos) return std::nullopt;
        return quoted + "names no keys; write '" + std::string{text} +
               "/*' for all keys of that type";
    }
    if (slash == 0) return quoted + "has no type before the slash";
    if (slash + 1 == text.size()) return quoted + "has no id after the slash; '*' is every id";
    if (std::min(star, text.size()) - slash - 1 > Limits::id_bytes) {
        return quoted + "has an id that is too long";
    }
    return std::nullopt;
}

}  // namespace

std::expected<KeyPattern, std::string> KeyPattern::parse(std::string_view text) {
    if (auto problem = pattern_problem(text)) return std::unexpected{*std::move(problem)};
    const bool open = text.ends_with('*');
    if (open) text.remove_suffix(1);
    KeyPattern pattern;
    const std::size_t slash = text.find('/');
    pattern.type_ = text.substr(0, slash);
    if (slash != std::string_view::npos) {
        pattern.id_ = text.substr(slash + 1);
        pattern.kind_ = open ? Kind::ids : Kind::key;
    }
    return pattern;
}

bool KeyPattern::matches(const LockKey& key) const noexcept {
    switch (kind_) {
        case Kind::types: return key.type().starts_with(type_);
        case Kind::ids: return key.type() == type_ && key.id().starts_with(id_);
        case Kind::key: return key.type() == type_ && key.id() == id_;
    }
    return false;
}

bool KeyPattern::has_keys_of(std::string_view type) const noexcept {
    return kind_ == Kind::types ? type.starts_with(type_) : type == type_;
}

bool KeyPattern::covers(const KeyPattern& other) const noexcept {
    switch (kind_) {
        case Kind::types: return other.type_.starts_with(type_);
        case Kind::ids:
            return other.kind_ != Kind::types && other.type_ == type_ && other.id_.starts_with(id_);
        case Kind::key: return *this == other;
    }
    return false;
}

LockKey KeyPattern::first() const {
    return {type_.empty() ? first_text : type_, id_.empty() ? first_text : id_};
}

bool KeyPattern::ends_before(const LockKey& key) const noexcept {
    if (matches(key)) return false;
    const auto by_type = key.type() <=> std::string_view{type_};
    return by_type != 0 || kind_ == Kind::types ? by_type > 0 : key.id() > id_;
}

std::string KeyPattern::to_string() const {
    switch (kind_) {
        case Kind::types: return type_ + "*";
        case Kind::ids: return type_ + "/" + id_ + "*";
        case Kind::key: return type_ + "/" + id_;
    }
    return {};
}

KeySet::KeySet(std::vector<KeyPattern> patterns) {
    for (KeyPattern& pattern : patterns) {
        const bool covered = std::ranges::any_of(
            patterns_, [&](const KeyPattern& other) { return other.covers(pattern); });
        if (covered) continue;
        std::erase_if(patterns_, [&](const KeyPattern& other) { return pattern.covers(other); });
        patterns_.push_back(std::move(pattern));
    }
    std::ranges::sort(patterns_);
}

bool KeySet::has(const LockKey& key) const noexcept {
    return std::ranges::any_of(patterns_,
                               [&](const KeyPattern& pattern) { return pattern.matches(key); });
}

bool KeySet::covers(const KeySet& other) const noexcept {
    return std::ranges::all_of(other.patterns_, [&](const KeyPattern& theirs) {
        return std::ranges::any_of(patterns_,
                                   [&](const KeyPattern& ours) { return ours.covers(theirs); });
    });
}

KeySet KeySet::common(const KeySet& other) const {
    std::vector<KeyPattern> both;
    for (const KeyPattern& ours : patterns_) {
        for (const KeyPattern& theirs : other.patterns_) {
            if (ours.covers(theirs)) {
                both.push_back(theirs);
            } else if (theirs.covers(ours)) {
                both.push_back(ours);
            }
        }
    }
    return KeySet{std::move(both)};
}

}  // namespace leasehold
