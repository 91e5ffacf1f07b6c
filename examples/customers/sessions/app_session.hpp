#pragma once

#include <string>

#include <leasehold/session.hpp>

namespace customers {

// One signed-in person in one browser. Its end, whatever brings it about, releases all its locks.
struct AppSession {
    AppSession(leasehold::LockManager& locks, const std::string& user_name);

    const std::string user;
    const std::string token;       // the cookie: a credential, shown to nobody
    const std::string form_token;  // in every form of this session: proof that the form is ours
    leasehold::Session locks;      // its owner is "user/session", without a secret in it

    // The business transactions of a session are one for each tab.
    [[nodiscard]] std::string owner_in(const std::string& tab) const {
        return locks.owner() + '/' + tab;
    }
    [[nodiscard]] bool owns(const leasehold::Lease& lease) const {
        return lease.owner.starts_with(locks.owner() + '/');
    }
};

// "Kim" of "Kim/s-1f/tab".
[[nodiscard]] inline std::string user_of(const std::string& owner) {
    return owner.substr(0, owner.find('/'));
}

}  // namespace customers
