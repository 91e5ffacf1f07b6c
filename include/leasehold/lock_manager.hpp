#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <leasehold/lease.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/store.hpp>
#include <leasehold/time.hpp>

namespace leasehold {

class Batcher;

struct LockOptions {
    std::string owner{};  // empty: anonymous, never re-entrant
    Mode mode = Mode::exclusive;
    std::optional<Duration> ttl{};  // Limits::default_ttl where not given
    std::string note{};             // shown to those who are refused
    // Grant only if nobody was granted the key after this fence: what you know of the record is
    // then still true, although your lease ended ("revive").
    std::optional<Fence> since{};
    // Give your own to be able to ask again after a fault with unknown effect.
    std::optional<LockId> lock_id{};
};

// Grants, checks and ends leases in one store.
//
// Thread-safe. Calls of many threads travel to the store in common batches. A "no" is a Refusal; a
// store that cannot answer is a StoreFault (thrown); an argument out of bounds is a BadRequest
// (thrown, before the store is touched).
class LockManager {
public:
    explicit LockManager(std::unique_ptr<Store> store, Limits limits = {});
    ~LockManager();

    // The same non-empty owner that asks again gets its live lease back, renewed, with its lock id.
    // Asking for the other mode converts it in one step if nobody else holds the key; a lease that
    // becomes exclusive gets a new fence.
    [[nodiscard]] Result<Lease> try_lock(LockKey key, LockOptions options = {});

    // Every key or none, never a deadlock. Refused with the holders of all keys that are taken.
    // `options.since` and `options.lock_id` are for single keys and must not be set.
    [[nodiscard]] Result<std::vector<Lease>> try_lock_all(std::vector<LockKey> keys,
                                                          LockOptions options = {});

    // Is the lease alive? With the key, a lock id of another key is refused. Writes nothing.
    [[nodiscard]] Result<Lease> check(LockKey key, LockId lock_id);
    [[nodiscard]] Result<Lease> check(LockId lock_id);

    // Adds to the expiry.
    [[nodiscard]] Result<Lease> extend(LockKey key, LockId lock_id, Duration by);
    [[nodiscard]] Result<Lease> extend(LockId lock_id, Duration by);

    // Sets the expiry to now + ttl and never shortens it: the heartbeat.
    [[nodiscard]] Result<Lease> renew(LockKey key, LockId lock_id, Duration ttl);
    [[nodiscard]] Result<Lease> renew(LockId lock_id, Duration ttl);

    // Ends the lease, or says how it had ended. Twice is harmless.
    Result<Lease> release(LockKey key, LockId lock_id);
    Result<Lease> release(LockId lock_id);

    // Ends all leases of an owner, or of everything below an owner path, at one instant, and names
    // them. With a key, only that owner's lease on it. Refused as busy, with nothing ended, while a
    // transaction guards one of them.
    Result<std::vector<Lease>> release_all(std::string owner, OwnerScope scope = OwnerScope::exact,
                                           std::optional<LockKey> key = {});

    // Ends exactly the lease with that fence; its holder is told by whom and why.
    [[nodiscard]] Result<Holder> break_lock(LockKey key, Fence fence, std::string by,
                                            std::string reason);

    [[nodiscard]] std::vector<Holder> holders(LockKey key);
    [[nodiscard]] std::vector<Holder> list(List query = {});
    [[nodiscard]] std::vector<PastLease> history(History query = {});

    // Forgets everything that ended longer than the retention ago; returns how many keys and ended
    // leases that were. A store in use does this by itself, little by little.
    std::size_t purge();

    // Hands a request over without waiting. `reply` is called exactly once, on another thread or on
    // this one, also when the manager is destroyed; it must not block or throw.
    // A request out of bounds throws BadRequest here, and `reply` is not called.
    void submit(Request request, std::function<void(Outcome)> reply);

    // Throws BadRequest where a request exceeds the limits.
    void validate(const Request& request) const;

    [[nodiscard]] const Limits& limits() const noexcept { return limits_; }
    [[nodiscard]] StoreStatus status();

private:
    Outcome ask(Request&& request);
    void apply_limits(Request& request) const;

    const Limits limits_;
    std::unique_ptr<Store> store_;
    std::unique_ptr<Batcher> batcher_;
};

}  // namespace leasehold
