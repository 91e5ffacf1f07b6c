#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/time.hpp>

// What a store is asked and what it answers. Applications use LockManager, which makes these.
namespace leasehold {

// Where a lock id comes from: one that was drawn for this very request cannot have been used
// before.
enum class Drawn : std::uint8_t { before, for_this };

// Takes the key, or is refused as held. Repeating it with the same lock id gives the same lease, or
// says how that lease ended: a lock id that died never lives again.
struct TryLock {
    LockKey key;
    LockId lock_id{};
    std::string owner{};
    Mode mode = Mode::exclusive;
    Duration ttl{};
    std::string note{};
    std::optional<Fence> since{};  // grant only if nobody was granted the key after this fence
    std::optional<Duration> max_hold{};
    Drawn drawn = Drawn::before;
};

// Takes every key or none. `lock_ids[i]` is for `keys[i]`; the keys are sorted and different.
struct TryLockAll {
    std::vector<LockKey> keys{};
    std::vector<LockId> lock_ids{};
    std::string owner{};
    Mode mode = Mode::exclusive;
    Duration ttl{};
    std::string note{};
    std::optional<Duration> max_hold{};
    Drawn drawn = Drawn::before;
};

// Is this lease alive? Writes nothing.
struct Check {
    std::optional<LockKey> key{};  // where given, a lock id of another key is refused
    LockId lock_id{};
};

// Adds to the expiry, up to `max_ttl` ahead of now. (LockManager sets `max_ttl` and every
// `max_hold`.)
struct Extend {
    std::optional<LockKey> key{};
    LockId lock_id{};
    Duration by{};
    Duration max_ttl = until_released;
    std::optional<Duration> max_hold{};
};

// Sets the expiry to now + ttl; never shortens.
struct Renew {
    std::optional<LockKey> key{};
    LockId lock_id{};
    Duration ttl{};
    std::optional<Duration> max_hold{};
};

struct Release {
    std::optional<LockKey> key{};
    LockId lock_id{};
    // Where given: only a lease that was not prolonged since; another is left, and refused as held.
    std::optional<Time> if_expires_at{};
};

enum class OwnerScope : std::uint8_t {
    exact,  // this owner
    below,  // this owner and every owner whose path begins with it: "alice" covers "alice/tab-2"
};

struct ReleaseAll {
    std::string owner{};
    OwnerScope scope = OwnerScope::exact;
    std::optional<LockKey> key{};  // where given, only on this key
};

// Ends exactly the lease that was seen.
struct Break {
    LockKey key;
    Fence fence = 0;
    std::string by{};
    std::string reason{};
};

struct Holders {
    LockKey key;
};

// Live leases in the order of their keys, page by page.
struct List {
    std::optional<std::string> type{};
    std::optional<std::string> owner{};
    OwnerScope scope = OwnerScope::exact;
    std::optional<Holder> after{};  // the last one of the page before
    std::size_t limit = 100;
};

// Leases that ended, latest first, page by page. Asked for one key, a lease that has expired but
// was neither taken nor swept yet stands first.
struct History {
    std::optional<LockKey> key{};
    std::optional<std::int64_t> before{};  // the sequence of the last one of the page before
    std::size_t limit = 100;
};

// Forgets what ended longer than the retention ago. Looks at no more than `rows` keys and goes on
// from there when it is asked again.
struct Purge {
    std::size_t rows = 1000;
};

using Request = std::variant<TryLock, TryLockAll, Check, Extend, Renew, Release, ReleaseAll, Break,
                             Holders, List, History, Purge>;

struct Purged {
    std::size_t forgotten = 0;
    bool complete = false;  // the last key was looked at, and no history is left to forget
};

// What a request is answered with, by its kind:
//   TryLock, Check, Extend, Renew, Release, Break   Lease (Break's without its lock id)
//   TryLockAll, ReleaseAll                          std::vector<Lease>
//   Holders, List                                   std::vector<Holder>
//   History                                         std::vector<PastLease>
//   Purge                                           Purged
// or a Refusal, or a StoreFault that concerns this request alone.
using Outcome = std::variant<std::monostate, Lease, std::vector<Lease>, std::vector<Holder>,
                             std::vector<PastLease>, Purged, Refusal, StoreFault>;

// Whether an answered change survives the crash of process, database and machine.
enum class Durability : std::uint8_t {
    none,    // memory: nothing survives the process
    weak,    // a setting of the database can lose answered changes; StoreStatus::warnings names it
    strong,  // answered means durable
};

struct StoreStatus {
    std::string name{};  // "sqlite 3.40.1", "postgres 15.8", ...
    Durability durability = Durability::none;
    std::vector<std::string> warnings{};
};

// How every store is opened. In a URL: ?durability=strict&history=off&retention_s=86400&...
struct StoreOptions {
    enum class Require : std::uint8_t { any_durability, strict_durability };
    enum class KeepHistory : std::uint8_t { off, on };

    // strict: opening fails unless the store is durable.
    Require require = Require::any_durability;
    // off: a refusal can tell how a lease ended only until the key is granted again.
    KeepHistory history = KeepHistory::on;
    // How long ended leases are remembered.
    Duration retention = std::chrono::hours{24};
    // How far the store's clock may run ahead of this process's steady clock before it counts as a
    // leap.
    Duration max_clock_leap = std::chrono::seconds{5};
    // How long the store waits for its database to answer.
    Duration io_timeout = std::chrono::seconds{10};
};

// Where leases live. One method, one contract; tests/conformance holds every store to it.
class Store {
public:
    Store() = default;
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;
    virtual ~Store() = default;

    // Answers every request, in order, as if one came after the other; each is atomic by itself.
    // `outcomes` is as long as `requests`. When it returns, what was answered is durable.
    // Throws StoreFault where the store could not answer; requests already answered then keep their
    // outcome, and the fault is the answer of those still std::monostate.
    virtual void apply(std::span<const Request> requests, std::span<Outcome> outcomes) = 0;

    // How many calls of apply() may be under way at once, from different threads. Requests gather
    // only while that many are.
    static constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();
    [[nodiscard]] virtual std::size_t concurrency() const noexcept = 0;

    [[nodiscard]] virtual StoreStatus status() = 0;
};

[[nodiscard]] const char* to_string(Durability) noexcept;

}  // namespace leasehold
