#pragma once

#include <compare>
#include <cstddef>
#include <expected>
#include <functional>
#include <string>
#include <string_view>

namespace leasehold {

// What is locked: a type and an id, ("Order", "1"). Two keys are one lock iff their bytes are equal.
// Both parts are non-empty UTF-8 without control characters, at most Limits::type_bytes and
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

    friend bool operator==(const LockKey&, const LockKey&) = default;
    friend auto operator<=>(const LockKey&, const LockKey&) = default;

private:
    std::string type_;
    std::string id_;
};

}  // namespace leasehold

template <>
struct std::hash<leasehold::LockKey> {
    [[nodiscard]] std::size_t operator()(const leasehold::LockKey& key) const noexcept;
};
