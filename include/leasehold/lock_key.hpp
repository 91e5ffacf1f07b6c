#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <leasehold/expected.hpp>

namespace leasehold {

// What is locked: a type and an id, ("Order", "1"). Two keys are one lock iff their bytes are
// equal. Both parts are non-empty UTF-8 without control characters, at most Limits::type_bytes and
// Limits::id_bytes long. A LockKey that exists is valid. Copies are cheap: they share one text.
class LockKey {
public:
    // Throws BadRequest if parse() would return an error.
    LockKey(std::string_view type, std::string_view id);

    [[nodiscard]] static std::expected<LockKey, std::string> parse(std::string_view type,
                                                                   std::string_view id);

    [[nodiscard]] std::string_view type() const noexcept { return {text_.get(), type_size_}; }
    [[nodiscard]] std::string_view id() const noexcept {
        return {text_.get() + type_size_, id_size_};
    }

    // "Order/1", for people. Not unique: the type may contain a slash.
    [[nodiscard]] std::string to_string() const;

    friend bool operator==(const LockKey& a, const LockKey& b) noexcept {
        return a.hash_ == b.hash_ && a.id() == b.id() && a.type() == b.type();
    }
    // In the order of bytes, the type before the id.
    friend std::strong_ordering operator<=>(const LockKey& a, const LockKey& b) noexcept {
        const auto by_type = a.type() <=> b.type();
        return by_type != 0 ? by_type : a.id() <=> b.id();
    }

private:
    friend struct std::hash<LockKey>;

    struct Valid {};
    LockKey(Valid, std::string_view type, std::string_view id);

    std::shared_ptr<const char[]> text_;  // the type, then the id
    std::uint32_t type_size_;
    std::uint32_t id_size_;
    // Of both: a key is looked up more often than it is made. Differs from process to process, so
    // that no client can choose keys that fill one bucket of a hash table.
    std::size_t hash_;
};

}  // namespace leasehold

template <>
struct std::hash<leasehold::LockKey> {
    [[nodiscard]] std::size_t operator()(const leasehold::LockKey& key) const noexcept {
        return key.hash_;
    }
};
