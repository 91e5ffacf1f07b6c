#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include <leasehold/request.hpp>
#include <leasehold/store_status.hpp>
#include <leasehold/time.hpp>

// Where leases live. Applications open a store with open_store() and hand it to a LockManager.
namespace leasehold {

// How every store is opened. In a URL: ?durability=strict&history=off&retention_s=86400&...
struct StoreOptions {
    enum class Require : std::uint8_t { any_durability, strict_durability };
    enum class KeepHistory : std::uint8_t { off, on };

    // strict_durability: the store is not opened unless it is durable.
    Require require = Require::any_durability;
    // off: a refusal names how a lease ended only until the key is granted again.
    KeepHistory history = KeepHistory::on;
    // How long ended leases are remembered.
    Duration retention = std::chrono::hours{24};
    // How far the store's clock may run ahead of this process's steady clock before it counts as a
    // leap.
    Duration max_clock_leap = std::chrono::seconds{5};
    // How long the store waits for its database to answer.
    Duration io_timeout = std::chrono::seconds{10};

    // For PostgreSQL, MySQL and MariaDB, whose table `locks` the pattern's own programs can share.
    enum class Adopt : std::uint8_t { nothing, pattern_table };
    // pattern_table: a table `locks` that such a program made is taken over, with its locks.
    Adopt adopt = Adopt::nothing;
    // The zone of the dates without a zone in that table, east of UTC. Without it: the zone that
    // the table was made or adopted with, at first UTC.
    std::optional<std::chrono::minutes> time_zone{};
};

// The line of a store that is a server and lets tries wait there, first come, first served.
// Thread-safe: each try waits on its caller's thread.
class StoreLine {
public:
    StoreLine() = default;
    StoreLine(const StoreLine&) = delete;
    StoreLine& operator=(const StoreLine&) = delete;
    virtual ~StoreLine() = default;

    // A Lease as soon as it is the turn of this try; a Refusal when the patience is over, or
    // earlier if the server ends the wait. A lease may have lived for a while when it arrives.
    // Throws StoreFault, also when `stop` is requested.
    [[nodiscard]] virtual Outcome wait(const TryLock& wanted, Duration patience,
                                       const std::stop_token& stop) = 0;
};

// Notices that leases end through other processes, so that a try that waits asks again at once. It
// may miss an end, and it may report one that did not happen: a caller asks once in a while anyway.
// Used by one thread. It may outlive its store.
class StoreWatch {
public:
    StoreWatch() = default;
    StoreWatch(const StoreWatch&) = delete;
    StoreWatch& operator=(const StoreWatch&) = delete;
    virtual ~StoreWatch() = default;

    // Waits until a lease of one of these keys may have ended, and returns the keys of which that
    // is true. A key that the last call did not name is returned as soon as it is watched, because
    // its lease may have ended just before. Returns nothing once `stop` is requested. Throws
    // StoreFault if it cannot watch; then open a new one. The keys are sorted, and each is named
    // once.
    [[nodiscard]] virtual std::vector<LockKey> wait(std::span<const LockKey> keys,
                                                    const std::stop_token& stop) = 0;
};

// One method, one contract; tests/conformance holds every store to it.
class Store {
public:
    Store() = default;
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;
    virtual ~Store() = default;

    // Answers every request, in order, as if one came after the other; each is atomic by itself.
    // `outcomes` is as long as `requests`. When it returns, every answered change is durable.
    // Throws StoreFault if the store could not answer. Requests answered before keep their outcome;
    // the fault is the answer to every request whose outcome is still std::monostate.
    virtual void apply(std::span<const Request> requests, std::span<Outcome> outcomes) = 0;

    // apply() in two calls, so that a request that needs several round trips to a database does not
    // delay the answers of the others: apply_first() answers what one round trip can answer, and
    // apply_rest() answers the requests that apply_first() has left std::monostate, which had no
    // effect. In apply_first() only requests that name the same key keep their order.
    virtual void apply_first(std::span<const Request> requests, std::span<Outcome> outcomes) {
        apply(requests, outcomes);
    }
    virtual void apply_rest(std::span<const Request> requests, std::span<Outcome> outcomes) {
        apply(requests, outcomes);
    }

    // The number of apply() calls that may run at once, from different threads. It may change while
    // the store works, unless it is any_number. Requests gather for the next batch while that many
    // calls run.
    static constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();
    [[nodiscard]] virtual std::size_t concurrency() const noexcept = 0;

    // How long after the beginning of one call the next one should begin, while calls run. More
    // than 0 if most of a call is waiting for a database at a distance. LockManager then sends
    // batches at this pace, with apply_first() and apply_rest().
    [[nodiscard]] virtual Duration spacing() const noexcept { return Duration::zero(); }

    // What the store knows about itself: its version, whether answers survive a power cut,
    // warnings. Never blocks: what has to be asked for is remembered from the work before.
    [[nodiscard]] virtual StoreStatus status() = 0;

    // Does a small piece of the store's own work that nobody asked for, such as forgetting old
    // leases, and returns whether there is more to do now. LockManager calls it once in a while,
    // when no request waits, on a thread of its own: no caller pays for that work. It counts as a
    // call of apply(). A fault is not reported.
    [[nodiscard]] virtual bool keep_house() noexcept { return false; }
    // How long LockManager waits before it calls keep_house() again.
    [[nodiscard]] virtual Duration housekeeping_interval() const noexcept {
        return std::chrono::minutes{1};
    }

    // The store's own line, which lives as long as the store. nullptr for a store that has none:
    // LockManager keeps the lines of its callers itself.
    [[nodiscard]] virtual StoreLine* line() noexcept { return nullptr; }

    // A watch that has not connected yet. nullptr for a store that has none: tries that wait there
    // ask once in a while. Thread-safe.
    [[nodiscard]] virtual std::unique_ptr<StoreWatch> open_watch() { return nullptr; }
};

}  // namespace leasehold
