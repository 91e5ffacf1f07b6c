#pragma once

#include <cstdint>
#include <optional>

#include <leasehold/lease.hpp>

namespace leasehold {

enum class Access : std::uint8_t { read, write };

// Which mode reading and writing a record need. docs/lock-types.md helps to choose.
enum class LockType : std::uint8_t {
    exclusive_write,  // one writer; readers take no lock and may see what is about to change
    exclusive_read,   // one reader or writer
    read_write,       // many readers, or one writer
};

// The mode to lock with before this access, or nothing if no lock is needed.
[[nodiscard]] constexpr std::optional<Mode> mode_for(LockType type, Access access) noexcept {
    if (access == Access::write || type == LockType::exclusive_read) return Mode::exclusive;
    if (type == LockType::read_write) return Mode::shared;
    return std::nullopt;
}

}  // namespace leasehold
