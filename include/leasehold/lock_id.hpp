#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <leasehold/expected.hpp>

namespace leasehold {

// The secret of a lease: a program that knows it may check, extend and release the lease. A coarse
// time followed by 90 random bits from the operating system, printed as a UUID. Show it to the
// holder only, and never log it.
class LockId {
public:
    // The nil id, which names no lease.
    constexpr LockId() noexcept = default;

    // A later lock id is usually greater, so that a database's index of lock ids grows at its end.
    [[nodiscard]] static LockId random();

    // Reads a UUID: 8-4-4-4-12 hexadecimal digits.
    [[nodiscard]] static std::expected<LockId, std::string> parse(std::string_view text);

    [[nodiscard]] std::string to_string() const;
    [[nodiscard]] constexpr bool is_nil() const noexcept { return (high_ | low_) == 0; }

    friend constexpr bool operator==(const LockId&, const LockId&) noexcept = default;
    friend constexpr auto operator<=>(const LockId&, const LockId&) noexcept = default;

private:
    friend struct std::hash<LockId>;
    constexpr LockId(std::uint64_t high, std::uint64_t low) noexcept : high_{high}, low_{low} {}

    std::uint64_t high_ = 0;
    std::uint64_t low_ = 0;
};

}  // namespace leasehold

// Differs from process to process, because clients choose lock ids: none can choose them so that
// they fill one bucket of a hash table.
template <>
struct std::hash<leasehold::LockId> {
    [[nodiscard]] std::size_t operator()(const leasehold::LockId& id) const noexcept;
};
