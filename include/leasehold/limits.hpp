#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include <leasehold/time.hpp>

namespace leasehold {

// Every bound in one place. A request that exceeds one is a BadRequest, before the store is asked.
struct Limits {
    // Fixed, because the stores' tables are made for these sizes.
    static constexpr std::size_t type_bytes = 128;
    static constexpr std::size_t id_bytes = 512;
    static constexpr std::size_t owner_bytes = 512;
    static constexpr std::size_t note_bytes = 1024;
    static constexpr std::size_t token_id_bytes = 255;
    // The number of patterns that may describe a set of keys.
    static constexpr std::size_t key_patterns = 16;
    // The number of holders that can share one key; one more is refused as held.
    static constexpr std::size_t shared_holders = 1000;
    // How many holders a refusal names at most, and how many bytes they may have together; the
    // first holder is always named. Refusal::holders_in_all counts the others too.
    static constexpr std::size_t named_holders = 16;
    static constexpr std::size_t named_holders_bytes = 4 * 1024;
    // The bytes of one page. A page that would have more ends early, see Page::cut.
    static constexpr std::size_t page_bytes = 256 * 1024;
    // The number of rows that a store looks through for one page, or for the leases of one owner. A
    // page that would need more ends early, see Page::cut. (The memory store looks at all keys.)
    static constexpr std::size_t rows_looked_through = 2000;
    // The number of an owner's leases that end in one transaction; more end in several.
    static constexpr std::size_t released_at_once = 1000;
    // The number of leases that release_after() can have scheduled at once.
    static constexpr std::size_t delayed_releases = 100'000;

    // The ttl of a lease if the caller gives none.
    Duration default_ttl = std::chrono::minutes{5};
    Duration min_ttl = std::chrono::milliseconds{100};
    // Also how far ahead of now extend() can push an expiry.
    Duration max_ttl = std::chrono::hours{24};
    // The longest time one lease can be held, however often it is extended or renewed.
    std::optional<Duration> max_hold{};
    // Whether a ttl may be `until_released`.
    bool allow_endless = false;

    // The number of keys that try_lock_all() takes at once.
    std::size_t keys_at_once = 256;
    // The number of rows that list() and history() return in one page.
    std::size_t page_rows = 1000;

    // The number of requests in one batch, where a page counts by its rows and a try of several
    // keys by its keys; and the number of requests that may wait for a batch.
    std::size_t batch_requests = 256;
    std::size_t queued_requests = 100'000;

    // How long a request is repeated while another open transaction uses the lease, before it is
    // refused as busy. A try on a key that somebody else holds is refused at once.
    Duration busy_patience = std::chrono::milliseconds{500};
};

}  // namespace leasehold
