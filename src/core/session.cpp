#include <leasehold/session.hpp>

#include <leasehold/request.hpp>

namespace leasehold {
namespace {

Refusal session_has_ended(Time store_now) {
    return {.kind = Refusal::Kind::gone,
            .reason = Gone::released,
            .why = "the session has ended",
            .store_now = store_now};
}

}  // namespace

Session::Session(LockManager& locks, std::string owner) : locks_{locks}, owner_{std::move(owner)} {
    if (owner_.empty()) throw BadRequest{"a session needs an owner"};
    locks_.validate(ReleaseAll{.owner = owner_});
}

Session::~Session() {
    if (kept_) return;
    try {
        end();
    } catch (const std::exception&) {
        // Leases that could not be released end when they expire.
    }
}

Result<Lease> Session::try_lock(LockKey key, LockOptions options) {
    options.owner = options.owner.empty() ? owner_ : owner_ + '/' + options.owner;
    if (ended_) return std::unexpected{session_has_ended({})};
    auto lease = locks_.try_lock(std::move(key), std::move(options));
    // A grant that end() came too early to release is seen here, because end() marks the session
    // first.
    if (!lease || !ended_) return lease;
    try {
        (void)locks_.release(lease->key, lease->lock_id);
    } catch (const StoreFault&) {
        // It ends when it expires.
    }
    return std::unexpected{session_has_ended(lease->store_now)};
}

Result<std::vector<Lease>> Session::end() {
    ended_ = true;
    return locks_.release_all(owner_, OwnerScope::below);
}

}  // namespace leasehold
