#pragma once

#include <concepts>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <leasehold/lock_type.hpp>
#include <leasehold/web/tab_locks.hpp>

namespace leasehold::web {

// Your repository or mapper of one kind of record.
//
// find(id) returns a pointer, a smart pointer or a std::optional; empty if there is no such record.
// update(record, lease) writes the record, and returns false and writes nothing if somebody has
// changed it since the version in `record`. This is the optimistic check: it finds writers that
// ignore the lock. The lease says who writes and when (owner, store_now).
template <class R>
concept Repository = requires(R& repository, const std::string& id,
                              const typename R::Record& record, const Lease& lease) {
    repository.find(id);
    { repository.update(record, lease) } -> std::same_as<bool>;
};

// Your database transaction: guard() and release() of the store's header on its connection.
template <class T>
concept GuardingTransaction = requires(T& transaction, const LockKey& key, LockId lock_id) {
    { transaction.guard(key, lock_id) } -> std::same_as<Result<Lease>>;
    { transaction.release(key, lock_id) } -> std::same_as<Result<Lease>>;
    { transaction.has_begun() } -> std::same_as<bool>;
    transaction.roll_back();
};

// How records of one kind are locked.
struct LockRule {
    std::string type{};  // of their keys
    LockType lock_type = LockType::exclusive_write;
    // For an aggregate: maps a member to its root, whose lock is taken. Empty: no members.
    std::function<LockKey(const LockKey& member)> root_of{};
};

// Whether somebody may lock this key in this mode to read or write a record: for LockRoutes, whose
// `may_lock` must allow no more than your pages do.
[[nodiscard]] inline bool allows(const LockRule& rule, const LockKey& key, Mode mode) {
    return key.type() == rule.type && (mode_for(rule.lock_type, Access::read) == mode ||
                                       mode_for(rule.lock_type, Access::write) == mode);
}

// Why a record was not saved. Nothing has been written then.
struct NotSaved {
    enum class Why : std::uint8_t {
        lost,   // the lock is not ours any more, or never was: see `refusal`
        stale,  // somebody has changed the record without the lock
    };
    Why why = Why::lost;
    Refusal refusal{};
};

// The implicit lock: a decorator that locks before it loads, as the rule asks, and guards before it
// saves. Give your commands no other way to a record, and none can forget the lock. For one
// request.
template <Repository R, GuardingTransaction T>
class LockingRepository {
public:
    using Record = typename R::Record;
    using Found = decltype(std::declval<R&>().find(std::string{}));

    struct Opened {
        Found record{};                // empty if there is no such record
        std::optional<Lease> lease{};  // none if the rule needs no lock
    };

    // All but `rule` outlive this.
    LockingRepository(R& repository, TabLocks& locks, T& transaction, LockRule rule)
        : repository_{repository},
          locks_{locks},
          transaction_{transaction},
          rule_{std::move(rule)} {}

    [[nodiscard]] LockKey key_of(const std::string& id) const { return {rule_.type, id}; }

    // `member` names the record or a part of it. A refusal names the holders.
    [[nodiscard]] Result<Opened> open(const LockKey& member, Access access) {
        const LockKey key = root(member);
        Opened opened;
        if (const auto mode = mode_for(rule_.lock_type, access)) {
            // What was read before the lock was held may be old.
            if (transaction_.has_begun()) throw std::logic_error{"lock before you load"};
            auto lease = locks_.take(key, *mode);
            if (!lease) return std::unexpected{std::move(lease).error()};
            opened.lease = *std::move(lease);
        }
        opened.record = repository_.find(std::string{key.id()});
        return opened;
    }

    // Whether this tab already holds the lock for this access.
    [[nodiscard]] bool is_open(const LockKey& member, Access access) {
        const auto mode = mode_for(rule_.lock_type, access);
        return mode && locks_.has(root(member), *mode);
    }

    // The record that was opened in an earlier request, guarded by the lock it was opened with.
    [[nodiscard]] std::expected<Found, NotSaved> resume(const std::string& id, LockId lock_id) {
        auto lease = guard(id, lock_id);
        if (lease) return repository_.find(id);
        transaction_.roll_back();
        return std::unexpected{std::move(lease).error()};
    }

    // The record without a lock, only to show it to a person who was refused.
    [[nodiscard]] Found look(const std::string& id) { return repository_.find(id); }

    // Guards, writes and releases in your transaction. You commit it and then call
    // TabLocks::keep(), which wakes the next page that waits; a refusal rolls it back.
    [[nodiscard]] std::expected<void, NotSaved> save(const std::string& id, const Record& record,
                                                     LockId lock_id) {
        auto saved = save_under_guard(id, record, lock_id);
        if (!saved) transaction_.roll_back();
        return saved;
    }

private:
    [[nodiscard]] LockKey root(const LockKey& member) const {
        return rule_.root_of ? rule_.root_of(member) : member;
    }

    // The lease, if it is this session's own and good for writing.
    std::expected<Lease, NotSaved> guard(const std::string& id, LockId lock_id) {
        auto alive = transaction_.guard(key_of(id), lock_id);
        if (!alive) return std::unexpected{NotSaved{.refusal = std::move(alive).error()}};
        if (!locks_.visitor().owns(*alive) || alive->mode != Mode::exclusive) {
            return std::unexpected{NotSaved{}};
        }
        return *std::move(alive);
    }

    std::expected<void, NotSaved> save_under_guard(const std::string& id, const Record& record,
                                                   LockId lock_id) {
        const auto lease = guard(id, lock_id);
        if (!lease) return std::unexpected{lease.error()};
        if (!repository_.update(record, *lease)) {
            return std::unexpected{NotSaved{.why = NotSaved::Why::stale}};
        }
        if (auto released = transaction_.release(lease->key, lock_id); !released) {
            return std::unexpected{NotSaved{.refusal = std::move(released).error()}};
        }
        locks_.will_end(lease->key);
        return {};
    }

    R& repository_;
    TabLocks& locks_;
    T& transaction_;
    const LockRule rule_;
};

}  // namespace leasehold::web
