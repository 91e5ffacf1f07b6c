#include <leasehold/session.hpp>

#include <leasehold/request.hpp>

namespace leasehold {

Session::Session(LockManager& locks, std::string owner) : locks_{locks}, owner_{std::move(owner)} {
    if (owner_.empty()) throw BadRequest{"a session needs an owner"};
    locks_.validate(ReleaseAll{.owner = owner_});
}

Session::~Session() {
    try {
        end();
    } catch (const std::exception&) {
        // Leases that could not be released end when they expire.
    }
}

Result<Lease> Session::try_lock(LockKey key, LockOptions options) {
    options.owner = options.owner.empty() ? owner_ : owner_ + '/' + options.owner;
    return locks_.try_lock(std::move(key), std::move(options));
}

Result<std::vector<Lease>> Session::end() {
    return locks_.release_all(owner_, OwnerScope::below);
}

}  // namespace leasehold
