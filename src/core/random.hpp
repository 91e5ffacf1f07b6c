#pragma once

#include <sys/random.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <system_error>

namespace leasehold {

// Fills the bytes with random ones from the operating system.
inline void fill_with_random(std::span<std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
        if (got < 0 && errno != EINTR) {
            throw std::system_error{errno, std::generic_category(), "getrandom"};
        }
        if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
}

}  // namespace leasehold
