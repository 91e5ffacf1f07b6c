#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/queries.hpp>
#include <leasehold/request_fwd.hpp>
#include <leasehold/store_status.hpp>
#include <leasehold/time.hpp>

namespace leasehold {

class Batcher;
class DelayedReleases;
class Store;
class StoreWatch;
class WaitingLines;

struct LockOptions {
    std::string owner{};  // empty: anonymous, never re-entrant
    Mode mode = Mode::exclusive;
    // A key with this number of places: as many can hold it together, and one more is refused. The
    // lease is shared, whatever `mode` says. All who take places on a key give the same number.
    std::optional<std::size_t> places{};
    std::optional<Duration> ttl{};  // if not given: Limits::default_ttl
    std::string note{};             // shown to everybody who is refused
    // The longest time the lease may be held in all. Neither this try nor a repeated one of the
    // same owner moves the expiry beyond it; give renew() the same. Limits::max_hold bounds it.
    std::optional<Duration> max_hold{};
    // Grant only if nobody was granted the key after this fence. Your copy of the record is then
    // still current, although your lease ended.
    std::optional<Fence> since{};
    // Draw it yourself (LockId::random()) if you want to ask again after a fault with unknown
    // effect.
    std::optional<LockId> lock_id{};
};

// The requests that try_lock and try_lock_all send with these options, for LockManager::submit. The
// keys can be in any order. Throws BadRequest for options of a single key.
[[nodiscard]] TryLock try_request(LockKey key, LockOptions options, const Limits& limits);
[[nodiscard]] TryLockAll try_all_request(std::vector<LockKey> keys, LockOptions options,
                                         const Limits& limits);

// Grants, checks and ends leases in one store.
//
// Thread-safe. Calls of many threads travel to the store in common batches. A "no" is a Refusal. If
// the store cannot answer, a StoreFault is thrown. If an argument is out of bounds, a BadRequest is
// thrown before the store is asked.
//
// check, extend, renew and release find the lease by its lock id alone if you do not give the key.
// That costs more, so give the key if you know it:
//   memory                      up to 32 hash look-ups instead of one
//   sqlite                      two index look-ups more, in the same file
//   postgres, mysql, mariadb    one round trip more, and no one-statement shortcut
//   etcd                        one round trip more
//   http                        what the server's own store costs
class LockManager {
public:
    explicit LockManager(std::unique_ptr<Store> store, Limits limits = {});
    ~LockManager();

    // The same non-empty owner that asks again gets its live lease back, renewed, with its lock id.
    // Asking for the other mode converts it in one step if nobody else holds the key; a lease that
    // becomes exclusive gets a new fence.
    [[nodiscard]] Result<Lease> try_lock(LockKey key, LockOptions options = {});

    // Takes every key or none, and never deadlocks. A refusal names the holders of all keys that
    // are taken. `options.since` and `options.lock_id` are for single keys and must not be set.
    [[nodiscard]] Result<std::vector<Lease>> try_lock_all(std::vector<LockKey> keys,
                                                          LockOptions options = {});

    // As try_lock and try_lock_all, but wait while others hold a key. Granted when it is the
    // caller's turn, or refused with the holders when the patience is over. First come, first
    // served among the callers of this manager; over http, among all clients of the server for one
    // key. A fault that may pass is waited out; the last one is thrown when the patience is over.
    //
    // When `stop` is requested, the wait ends at once with the latest refusal, or with a StoreFault
    // if the store has not answered yet. A lock that is granted at that moment is released, unless
    // you drew the lock id. docs/waiting.md says more.
    [[nodiscard]] Result<Lease> lock_for(LockKey key, Duration patience, LockOptions options = {},
                                         std::stop_token stop = {});
    [[nodiscard]] Result<std::vector<Lease>> lock_all_for(std::vector<LockKey> keys,
                                                          Duration patience,
                                                          LockOptions options = {},
                                                          std::stop_token stop = {});

    // Says whether the lease is alive. If the key is given, a lock id of another key is refused.
    // Writes nothing.
    [[nodiscard]] Result<Lease> check(LockKey key, LockId lock_id);
    [[nodiscard]] Result<Lease> check(LockId lock_id);

    // Adds to the expiry.
    [[nodiscard]] Result<Lease> extend(LockKey key, LockId lock_id, Duration by);
    [[nodiscard]] Result<Lease> extend(LockId lock_id, Duration by);

    // Sets the expiry to now + ttl and never shortens it: the heartbeat. If `max_hold` is given,
    // not to later than that time after the grant.
    [[nodiscard]] Result<Lease> renew(LockKey key, LockId lock_id, Duration ttl,
                                      std::optional<Duration> max_hold = {});
    [[nodiscard]] Result<Lease> renew(LockId lock_id, Duration ttl,
                                      std::optional<Duration> max_hold = {});

    // Ends the lease, or says how it had ended. To release twice is harmless.
    Result<Lease> release(LockKey key, LockId lock_id);
    Result<Lease> release(LockId lock_id);

    // Releases the lease after that time, unless its holder checks, renews or extends it before, or
    // its owner tries again: for a page that was closed, or only reloaded. Does not wait for the
    // store. If this manager ends first, the lease ends at its expiry.
    void release_after(const Lease& lease, Duration delay);

    // Ends all leases of an owner, or of an owner and every owner below its path, and returns them.
    // If the key is given, ends only the leases on that key.
    //
    // Up to Limits::released_at_once leases end at one instant: refused as busy, and ends nothing,
    // while a transaction guards one of them. More leases end key by key, and other requests are
    // answered in between. Then a lease that the owner is granted during the call may or may not
    // end, and if some leases cannot be ended, the StoreFault says how many have ended; asking
    // again ends the rest. A Leasehold server that has ended more leases than fit into its answer
    // names some of them.
    //
    // On SQLite, PostgreSQL, MySQL and MariaDB, leases that have ended within the retention count,
    // too: the leases of an owner that has taken more than Limits::rows_looked_through keys since
    // then end key by key, even if few of them are alive.
    Result<std::vector<Lease>> release_all(std::string owner, OwnerScope scope = OwnerScope::exact,
                                           std::optional<LockKey> key = {});

    // Ends exactly the lease with that fence, and returns it without its lock id. The holder's next
    // request is refused, with the name of who broke it and the reason.
    [[nodiscard]] Result<Lease> break_lock(LockKey key, Fence fence, std::string by,
                                           std::string reason);

    // Live leases, and leases that have ended. Each page carries the store's time, also if empty.
    [[nodiscard]] HolderPage holders(LockKey key);
    [[nodiscard]] HolderPage list(List query = {});
    [[nodiscard]] HistoryPage history(History query = {});

    // Forgets every lease that ended longer than the retention ago, and returns the number of keys
    // and ended leases forgotten. A store in use does this by itself, a little at a time.
    std::size_t purge();

    // Sends a request (see <leasehold/request.hpp>) without waiting. `reply` is called exactly
    // once, on another thread or on this one, also while the manager is destroyed; it must not
    // block or throw. Replies may be called on several threads at once. Requests that name the same
    // key keep their order. A request out of bounds throws BadRequest, and `reply` is not called.
    void submit(Request request, std::function<void(Outcome)> reply);

    // The same for a TryLock or TryLockAll that waits, as lock_for does. Any other request is a
    // BadRequest.
    void submit_for(Request request, Duration patience, std::function<void(Outcome)> reply,
                    std::stop_token stop = {});

    // Throws BadRequest if a request exceeds the limits.
    void validate(const Request& request) const;

    [[nodiscard]] const Limits& limits() const noexcept { return limits_; }
    [[nodiscard]] StoreStatus status();
    // Store::open_watch(), for a caller that keeps a line of its own.
    [[nodiscard]] std::unique_ptr<StoreWatch> open_watch();

private:
    Outcome ask(Request&& request);
    Outcome ask_for(Request&& request, Duration patience, std::stop_token stop);
    // The requests travel to the store together.
    std::vector<Outcome> ask_all(std::vector<Request> requests);
    void apply_limits(Request& request) const;

    const Limits limits_;
    std::unique_ptr<Store> store_;
    std::unique_ptr<Batcher> batcher_;
    std::unique_ptr<WaitingLines> lines_;
    std::unique_ptr<DelayedReleases> delayed_;
};

}  // namespace leasehold
