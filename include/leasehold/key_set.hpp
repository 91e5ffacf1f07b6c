#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/expected.hpp>
#include <leasehold/lock_key.hpp>

namespace leasehold {

// Some keys, as text:
//   Order/7      this key
//   Order/eu-*   the keys of the type Order whose id begins with eu-
//   Order/*      the keys of the type Order
//   lfs:*        the keys of every type that begins with lfs:
//   *            every key
// The first slash ends the type. A star is allowed only at the end.
class KeyPattern {
public:
    // The error says what would be right.
    [[nodiscard]] static std::expected<KeyPattern, std::string> parse(std::string_view text);
    [[nodiscard]] static KeyPattern every_key() { return {}; }

    [[nodiscard]] bool matches(const LockKey& key) const noexcept;
    // Whether this matches some key of the type.
    [[nodiscard]] bool has_keys_of(std::string_view type) const noexcept;
    // Whether this matches every key that the other one matches. Of two patterns, one covers the
    // other or no key matches both.
    [[nodiscard]] bool covers(const KeyPattern& other) const noexcept;

    // In the order of keys, the keys that match lie between others; none of them is before this
    // one. Not of every_key().
    [[nodiscard]] LockKey first() const;
    // Whether the key comes after all keys that match.
    [[nodiscard]] bool ends_before(const LockKey& key) const noexcept;

    [[nodiscard]] std::string to_string() const;

    friend bool operator==(const KeyPattern&, const KeyPattern&) = default;
    friend auto operator<=>(const KeyPattern&, const KeyPattern&) = default;

private:
    KeyPattern() = default;

    std::string type_{};  // or how the type begins
    std::string id_{};    // or how the id begins
    enum class Kind : std::uint8_t { types, ids, key } kind_ = Kind::types;
};

// The keys that one of several patterns matches. By default every key.
class KeySet {
public:
    KeySet() : patterns_{KeyPattern::every_key()} {}
    explicit KeySet(std::vector<KeyPattern> patterns);

    [[nodiscard]] bool has(const LockKey& key) const noexcept;
    [[nodiscard]] bool has_every_key() const noexcept {
        return patterns_.size() == 1 && patterns_.front() == KeyPattern::every_key();
    }
    [[nodiscard]] bool covers(const KeySet& other) const noexcept;
    // The keys that are in both sets.
    [[nodiscard]] KeySet common(const KeySet& other) const;

    // In the order of the keys that they match; no key matches two of them.
    [[nodiscard]] std::span<const KeyPattern> patterns() const noexcept { return patterns_; }

    friend bool operator==(const KeySet&, const KeySet&) = default;

private:
    std::vector<KeyPattern> patterns_;
};

}  // namespace leasehold
