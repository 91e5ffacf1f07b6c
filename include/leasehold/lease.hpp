#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include <leasehold/lock_id.hpp>
#include <leasehold/lock_key.hpp>
#include <leasehold/time.hpp>

namespace leasehold {

// The public number of a lease: grows strictly with every grant of a key, for ever. Hand it to
// whatever you write to, and let that refuse a smaller one than it has seen. Stays below 2^53.
using Fence = std::int64_t;

enum class Mode : std::uint8_t { exclusive, shared };

// One grant of a key to an owner until an expiry. Carries the secret: for the holder's eyes only.
struct Lease {
    LockKey key;
    LockId lock_id{};
    std::string
        owner{};  // a path from the wide to the narrow, "alice/session-7/tab-2"; may be empty
    Mode mode = Mode::exclusive;
    Fence fence = 0;
    Time granted_at{};
    Time expires_at{};
    std::string note{};
    Time store_now{};  // the store's clock when it answered

    // How long the lease had to live when the store answered.
    [[nodiscard]] Duration remaining() const {
        return expires_at == never ? until_released : expires_at - store_now;
    }
};

// What everybody may know of a lease.
struct Holder {
    LockKey key;
    std::string owner{};
    Mode mode = Mode::exclusive;
    Fence fence = 0;
    Time since{};
    Time until{};
    std::string note{};

    friend bool operator==(const Holder&, const Holder&) = default;
};

// How a lease came to its end.
enum class Gone : std::uint8_t {
    unknown,   // the store knows nothing (any more) of such a lease under this key
    expired,   // its time was up; nobody has taken the key since
    released,  // by its holder, or with all leases of its owner
    taken,     // its time was up and the key was granted again
    broken,    // by an administrator
};

// A lease that ended.
struct PastLease {
    Holder lease;  // `until` is the expiry it had
    Gone how = Gone::unknown;
    Time ended_at{};
    std::string by{};           // taken: the next owner; broken: who broke it
    std::string why{};          // broken: the reason given
    std::int64_t sequence = 0;  // grows with every ending in this store; for paging

    friend bool operator==(const PastLease&, const PastLease&) = default;
};

// The answer "no". A value, because a caller must expect it in normal work.
struct Refusal {
    enum class Kind : std::uint8_t {
        held,  // others hold the key: see `holders`
        gone,  // the lease is no longer yours: see `reason`, `by`, `why`
        busy,  // somebody's open transaction is on this very lease: ask again in a moment
    };

    Kind kind = Kind::gone;
    std::vector<Holder> holders{};
    Gone reason = Gone::unknown;
    std::string by{};
    std::string why{};
    Time store_now{};

    // One sentence for a person.
    [[nodiscard]] std::string message() const;
};

template <class T>
using Result = std::expected<T, Refusal>;

[[nodiscard]] const char* to_string(Mode) noexcept;
[[nodiscard]] const char* to_string(Gone) noexcept;
[[nodiscard]] const char* to_string(Refusal::Kind) noexcept;

// "2026-11-15T09:20:00.000000Z", or "never".
[[nodiscard]] std::string to_string(Time);

}  // namespace leasehold
