#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <leasehold/lock_type.hpp>

#include "domain/lock_rules.hpp"
#include "locks/step_locks.hpp"
#include "mapping/mapper.hpp"

namespace customers {

template <class T>
struct Opened {
    std::shared_ptr<T> object{};              // null if there is no such object
    std::optional<leasehold::Lease> lease{};  // none if the rule needs no lock
};

// Why an object was not saved. Nothing has been written then.
struct NotSaved {
    enum class Why : std::uint8_t {
        lost,   // the lock is not ours any more, or never was: see `refusal`
        stale,  // somebody has changed the object without a lock
    };
    Why why = Why::lost;
    leasehold::Refusal refusal{};
};

// The implicit lock: locks before it loads, as the rule of the object's kind asks, and guards
// before it saves. Commands have no other way to an object, so that none can forget the lock.
template <class T>
class LockingMapper {
public:
    LockingMapper(std::unique_ptr<Mapper<T>> mapper, StepLocks& locks,
                  database::Transaction& transaction)
        : mapper_{std::move(mapper)}, locks_{locks}, transaction_{transaction} {}

    // `member` names the object or a part of it. A refusal names the holders.
    [[nodiscard]] leasehold::Result<Opened<T>> open(const leasehold::LockKey& member,
                                                    leasehold::Access access) {
        Opened<T> opened;
        if (const auto mode = leasehold::mode_for(LockRule<T>::type, access)) {
            // What was read before the lock was held may be old.
            if (transaction_.has_begun()) throw std::logic_error{"lock before you load"};
            auto lease = locks_.take(member, *mode);
            if (!lease) return std::unexpected{std::move(lease).error()};
            opened.lease = *std::move(lease);
        }
        opened.object = mapper_->find(std::string{root_of(member).id()});
        return opened;
    }

    // Whether this tab holds the lock for this access already.
    [[nodiscard]] bool is_open(const leasehold::LockKey& member, leasehold::Access access) {
        const auto mode = leasehold::mode_for(LockRule<T>::type, access);
        return mode && locks_.has(member, *mode);
    }

    // The object that was opened before, guarded by the lock it was opened with.
    [[nodiscard]] std::expected<std::shared_ptr<T>, NotSaved> resume(const std::string& id,
                                                                     leasehold::LockId lock_id) {
        if (auto alive = guard(id, lock_id); !alive) {
            transaction_.roll_back();
            return std::unexpected{std::move(alive).error()};
        }
        return mapper_->find(id);
    }

    // The object without a lock, only to show it to a person who was refused.
    [[nodiscard]] std::shared_ptr<T> look(const std::string& id) { return mapper_->find(id); }

    // Check, write and release in one system transaction, which a refusal rolls back.
    [[nodiscard]] std::expected<void, NotSaved> save(T object, leasehold::LockId lock_id) {
        auto saved = save_under_guard(std::move(object), lock_id);
        if (!saved) transaction_.roll_back();
        return saved;
    }

private:
    // The lease, if it is this session's own and good for writing.
    std::expected<leasehold::Lease, NotSaved> guard(const std::string& id,
                                                    leasehold::LockId lock_id) {
        auto alive = transaction_.guard(key_of<T>(id), lock_id);
        if (!alive) return std::unexpected{NotSaved{.refusal = std::move(alive).error()}};
        if (!locks_.is_ours(*alive) || alive->mode != leasehold::Mode::exclusive) {
            return std::unexpected{NotSaved{}};
        }
        return *std::move(alive);
    }

    std::expected<void, NotSaved> save_under_guard(T object, leasehold::LockId lock_id) {
        const auto lease = guard(object.id, lock_id);
        if (!lease) return std::unexpected{lease.error()};
        object.revision.changed_by = locks_.user();
        object.revision.changed_at = leasehold::to_string(lease->store_now);
        if (!mapper_->update(object)) {
            return std::unexpected{NotSaved{.why = NotSaved::Why::stale}};
        }
        if (auto released = transaction_.release(lease->key, lock_id); !released) {
            return std::unexpected{NotSaved{.refusal = std::move(released).error()}};
        }
        locks_.will_be_free(lease->key);
        return {};
    }

    std::unique_ptr<Mapper<T>> mapper_;
    StepLocks& locks_;
    database::Transaction& transaction_;
};

}  // namespace customers
