#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <leasehold/expected.hpp>
#include <leasehold/language.hpp>
#include <leasehold/lock_id.hpp>
#include <leasehold/lock_key.hpp>
#include <leasehold/time.hpp>

namespace leasehold {

// The public number of a lease. It grows strictly with every grant of a key, for ever, and stays
// below 2^53. Send it along with your writes, and let the receiver refuse a fence smaller than one
// it has seen.
using Fence = std::int64_t;

enum class Mode : std::uint8_t { exclusive, shared };

// One grant of a key to an owner until an expiry. It carries the secret lock id: show it to the
// holder only.
struct Lease {
    LockKey key;
    LockId lock_id{};
    std::string owner{};  // a path from wide to narrow, "alice/session-7/tab-2"; may be empty
    Mode mode = Mode::exclusive;
    Fence fence = 0;
    Time granted_at{};
    Time expires_at{};
    std::string note{};
    Time store_now{};  // the store's clock when it answered

    // LockManager sets these two.
    // Until when the holder may act, on the holder's own steady clock. It is counted from before
    // the store was asked, so that a slow answer shortens the holder's time and never stretches it.
    // SteadyClock::time_point::max() for a lease without an expiry.
    SteadyClock::time_point valid_until{};
    bool ended = false;  // the request that this answers ended the lease: a release or a break

    // The time the lease had left when the store answered: nothing for a lease without an expiry,
    // zero for a lease that has ended.
    [[nodiscard]] std::optional<Duration> remaining() const {
        if (ended) return Duration::zero();
        if (expires_at == never) return std::nullopt;
        return expires_at - store_now;
    }
};

// The public part of a lease.
struct Holder {
    LockKey key;
    std::string owner{};
    Mode mode = Mode::exclusive;
    Fence fence = 0;
    Time granted_at{};
    Time expires_at{};
    std::string note{};

    friend bool operator==(const Holder&, const Holder&) = default;
};

// How a lease came to its end.
enum class Gone : std::uint8_t {
    unknown,   // the store does not know such a lease on this key, or has forgotten it
    expired,   // its expiry passed, and the key was not granted again
    released,  // by its holder, or with all leases of its owner
    taken,     // its expiry passed, and the key was granted again
    broken,    // by an administrator
};

// A lease that ended.
struct PastLease {
    Holder lease;  // `expires_at` is the expiry it had
    Gone how = Gone::unknown;
    Time ended_at{};
    // taken: the next owner; broken: who broke it; released: the token of the server's client that
    // released it, empty without a token
    std::string by{};
    std::string why{};          // broken: the reason given
    std::int64_t sequence = 0;  // grows with every ending in this store; for paging

    friend bool operator==(const PastLease&, const PastLease&) = default;
};

struct RefusalTexts;

// The answer "no". It is a value, not an exception, because it is part of normal work.
struct Refusal {
    enum class Kind : std::uint8_t {
        held,  // others hold the key: see `holders`
        gone,  // the lease has ended: see `reason`, `by`, `why`
        busy,  // an open database transaction uses this lease: ask again in a moment
    };

    Kind kind = Kind::gone;
    // The first holders only, if there are very many: see Limits::named_holders.
    std::vector<Holder> holders{};
    std::size_t holders_in_all = 0;
    Gone reason = Gone::unknown;
    std::string by{};
    std::string why{};
    Time store_now{};

    // One sentence for a person who knows keys and leases.
    [[nodiscard]] std::string message(Language language = Language::english) const;

    // One short sentence for the users of your application: "Kim has been editing this since
    // 14:05." The time of day is local to a place that far east of UTC. The server does not know
    // where its users are: without that, the sentence says "14:05 UTC".
    // <leasehold/refusal_texts.hpp> has the texts in every language; English is the default.
    [[nodiscard]] std::string short_message() const;
    [[nodiscard]] std::string short_message(const RefusalTexts& texts,
                                            std::chrono::minutes east_of_utc = {}) const;
};

template <class T>
using Result = std::expected<T, Refusal>;

[[nodiscard]] const char* to_string(Mode) noexcept;
[[nodiscard]] const char* to_string(Gone) noexcept;
[[nodiscard]] const char* to_string(Refusal::Kind) noexcept;

// "2026-11-15T09:20:00.000000Z", or "never".
[[nodiscard]] std::string to_string(Time);

}  // namespace leasehold
