#pragma once

#include <compare>
#include <cstddef>
#include <expected>
#include <functional>
#include <string>
#include <string_view>

namespace leasehold {

// What is locked: a type and an id, ("Order", "1"). Two keys are one lock iff their bytes are
// equal. Both parts are non-empty UTF-8 without control characters, at most Limits::type_bytes and
// Limits::id_bytes long. A LockKey that exists is valid.
class LockKey {
public:
    // Throws BadRequest where parse() would refuse.
    LockKey(std::string type, std::string id);

    [[nodiscard]] static std::expected<LockKey, std::string> parse(std::string_view type,
                                                                   std::string_view id);

    [[nodiscard]] const std::string& type() const noexcept { return type_; }
    [[nodiscard]] const std::string& id() const noexcept { return id_; }

    // "Order/1", for people. Not unique: the type may contain a slash.
    [[nodiscard]] std::string to_string() const { return type_ + '/' + id_; }

    friend bool operator==(const LockKey& a, const LockKey& b) noexcept {
        return a.hash_ == b.hash_ && a.id_ == b.id_ && a.type_ == b.type_;
    }
    // In the order of bytes, the type before the id.
    friend std::strong_ordering operator<=>(const LockKey& a, const LockKey& b) noexcept {
        const auto by_type = a.type_ <=> b.type_;
        return by_type != 0 ? by_type : a.id_ <=> b.id_;
    }

private:
    friend struct std::hash<LockKey>;

    std::string type_;
    std::string id_;
    std::size_t hash_;  // of both: a key is looked up more often than it is made
};

}  // namespace leasehold

template <>
struct std::hash<leasehold::LockKey> {
    [[nodiscard]] std::size_t operator()(const leasehold::LockKey& key) const noexcept {
        return key.hash_;
    }
};
