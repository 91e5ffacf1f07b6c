#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include <leasehold/time.hpp>

namespace leasehold {

// Every bound in one place. What exceeds one is a BadRequest before the store is touched.
struct Limits {
    // Fixed, because the stores' tables are made for them.
    static constexpr std::size_t type_bytes = 128;
    static constexpr std::size_t id_bytes = 512;
    static constexpr std::size_t owner_bytes = 512;
    static constexpr std::size_t note_bytes = 1024;
    // How many holders one key can be shared by; one more is refused as held.
    static constexpr std::size_t shared_holders = 1000;

    // The life of a lease when the caller names none.
    Duration default_ttl = std::chrono::minutes{5};
    Duration min_ttl = std::chrono::milliseconds{100};
    // Also how far ahead of now extend() can push an expiry.
    Duration max_ttl = std::chrono::hours{24};
    // How long one lease can be held in all, however often it is extended or renewed.
    std::optional<Duration> max_hold{};
    // Whether a ttl may be `until_released`.
    bool allow_endless = false;

    // How many keys try_lock_all() takes at once.
    std::size_t keys_at_once = 256;
    // How many rows list() and history() return in one page.
    std::size_t page_rows = 1000;

    // How many requests travel in one batch, and how many may wait for one.
    std::size_t batch_requests = 256;
    std::size_t queued_requests = 100'000;

    // How long a request that somebody's open transaction is in the way of asks again before it is
    // refused as busy. A try on a key that another holds is refused at once.
    Duration busy_patience = std::chrono::milliseconds{500};
};

}  // namespace leasehold
