#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <leasehold/lock_manager.hpp>
#include <leasehold/web/visitor.hpp>

namespace leasehold::web {

// The locks of one tab, while one request of it is answered. A lock that the request takes is
// released if the request fails; a lock that the tab already had stays. For one thread.
class TabLocks {
public:
    // `locks` outlives this. `ttl` is for the locks that are taken.
    TabLocks(LockManager& locks, const Visitor& visitor, std::string_view tab, Duration ttl)
        : locks_{locks}, visitor_{visitor}, owner_{visitor.owner_in(tab)}, ttl_{ttl} {}
    TabLocks(const TabLocks&) = delete;
    TabLocks& operator=(const TabLocks&) = delete;
    // As give_back().
    ~TabLocks() { give_back(); }

    [[nodiscard]] const Visitor& visitor() const noexcept { return visitor_; }
    [[nodiscard]] const std::string& owner() const noexcept { return owner_; }

    // After a StoreFault the lock is not held, even if the store granted it and the answer was
    // lost.
    [[nodiscard]] Result<Lease> take(const LockKey& key, Mode mode);
    // Whether this tab already has the lock, in that mode.
    [[nodiscard]] bool has(const LockKey& key, Mode mode);
    // Releases a lock of this session; twice is harmless.
    void release(const LockKey& key, LockId lock_id);

    // Notes that the request's own database transaction ends this lock. Once the request has
    // succeeded, the next page that waits for the lock gets it at once.
    void will_end(const LockKey& key) { ending_.push_back(key); }

    // When this request succeeds, it releases every other lock that the tab had before.
    void start_anew() noexcept { starts_anew_ = true; }

    // The request has succeeded, and its database transaction is committed. Faults are ignored: a
    // lease that cannot be released expires.
    void keep() noexcept;
    // The request has failed: releases the locks it took.
    void give_back() noexcept;

private:
    [[nodiscard]] Result<Lease> try_lock(const LockKey& key, Mode mode, LockId lock_id);

    LockManager& locks_;
    const Visitor visitor_;
    const std::string owner_;
    const Duration ttl_;
    std::vector<LockKey> used_;  // every key that this request asked for and got
    std::vector<Lease> taken_;   // of these, the leases that this request was granted
    std::vector<LockKey> ending_;
    bool starts_anew_ = false;
};

}  // namespace leasehold::web
