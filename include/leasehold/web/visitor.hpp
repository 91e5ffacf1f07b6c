#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include <leasehold/lease.hpp>

namespace leasehold::web {

// Who sends a request: a user, in one session. Locks are taken in the name of user, session and
// tab: "Kim/s-1f/tab-2". So a person who opens the same record in two tabs is refused in the
// second, and the end of the session ends all of its locks.
class Visitor {
public:
    // The name of the user is shown to others. Throws BadRequest if a part is empty, too long or
    // has a slash or a control character in it.
    Visitor(std::string user, std::string session);

    [[nodiscard]] const std::string& user() const noexcept { return user_; }
    [[nodiscard]] const std::string& session() const noexcept { return session_; }

    // "Kim/s-1f"
    [[nodiscard]] std::string owner() const { return user_ + '/' + session_; }
    // "Kim/s-1f/tab-2". Throws BadRequest unless is_tab_name().
    [[nodiscard]] std::string owner_in(std::string_view tab) const;
    // Whether the lease belongs to this session: knowing a lock id is not enough.
    [[nodiscard]] bool owns(const Lease& lease) const { return owns(lease.owner); }
    // The same for the owner of a lease.
    [[nodiscard]] bool owns(std::string_view owner) const;

    // Whether the session has ended since this visitor was found; see Sessions.
    [[nodiscard]] bool has_left() const noexcept { return left_ && *left_; }
    void leaves_when(std::shared_ptr<const std::atomic<bool>> left) { left_ = std::move(left); }

private:
    std::string user_;
    std::string session_;
    std::shared_ptr<const std::atomic<bool>> left_{};
};

// Letters, digits, "-" and "_", at most 64 of them.
[[nodiscard]] bool is_tab_name(std::string_view text);

// "Kim" of "Kim/s-1f/tab-2".
[[nodiscard]] std::string_view user_of(std::string_view owner);

}  // namespace leasehold::web
