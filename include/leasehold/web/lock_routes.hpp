#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/lock_manager.hpp>
#include <leasehold/web/http.hpp>
#include <leasehold/web/visitor.hpp>

namespace leasehold::web {

struct LockRoutesOptions {
    // How long a lock lives without a renewal. A page may ask for less, and gets no more. If it is
    // less than <leasehold-guard> asks for, which is 5 minutes by default, the element takes it for
    // the end of the time that the page may hold the lock.
    Duration ttl = std::chrono::minutes{5};
    // The longest time that a page can hold a lock by renewing it.
    Duration max_hold = std::chrono::hours{8};

    // How long one request waits for a lock; a page that wants to wait longer asks again and keeps
    // its place.
    Duration longest_wait = std::chrono::seconds{10};
    // How many pages can wait at once, in all and of one user. The next one is answered with 429.
    std::size_t waiting = 1'000;
    std::size_t waiting_per_user = 20;
    // A request that waits in answer(request, who) occupies a thread of your web server: how many
    // can do so at once, in all and of one user. Others are answered with 429 at once. They keep
    // their place, and ask every few seconds. Leave at least half of your threads for other
    // requests; cpp-httplib has 8 if you do not set its new_task_queue.
    std::size_t waiting_threads = 4;
    std::size_t waiting_threads_per_user = 2;
    // How long a page keeps its place between two such requests.
    Duration place_kept = std::chrono::seconds{3};
    // A page that was granted a lock it waited for checks or renews it before half of its ttl is
    // over. If it does not do so within this time more, it has vanished, and the lock is released.
    Duration sign_of_life = std::chrono::seconds{5};
    // The longest delay that a page which is closed can ask for before its lock is released.
    Duration longest_delay = std::chrono::minutes{1};

    // Called with each fault of the store, for your log: the page learns only that the locks are
    // not available, because the store's words can name hosts and users. Called on any thread; must
    // not throw.
    std::function<void(const StoreFault&)> on_fault{};
};

// Answers <leasehold-guard> and leasehold.js: takes, checks, renews and releases locks, lets pages
// wait in line, passes knocks on, and releases the locks of closed tabs a little later, so that a
// reloaded page finds its lock again. docs/web-kit.md describes the routes. Thread-safe.
//
// Whatever a page sends: the owner is the visitor's, the key is one that `may_lock` allows, the ttl
// is at most the options', and the lease of another session is of no use to it. A user has a share
// of the waiting line and of the knocks, whatever its sessions do. How many locks a user may have
// is for `may_lock` to decide: it is asked before every try.
//
// The waiting line and the knocks are known to this process. The locks are in the store.
class LockRoutes {
public:
    // Whether the visitor may lock this key in this mode.
    using MayLock = std::function<bool(const Visitor&, const LockKey&, Mode)>;
    using Reply = std::function<void(Response)>;

    // `locks` outlives this.
    LockRoutes(LockManager& locks, MayLock may_lock, LockRoutesOptions options = {});
    LockRoutes(const LockRoutes&) = delete;
    LockRoutes& operator=(const LockRoutes&) = delete;
    ~LockRoutes();

    // Whether the path is one of this: below /v1/locks/, or a file below /client/.
    [[nodiscard]] static bool serves(std::string_view path);

    // Always answers. `who` is nothing for a visitor who is not signed in: only the files below
    // /client/ are for everybody. `path` includes the query.
    [[nodiscard]] Response answer(const Request& request, const std::optional<Visitor>& who);
    [[nodiscard]] Response answer(std::string method, std::string path, Headers headers,
                                  std::string body, const std::optional<Visitor>& who);
    // The same for asynchronous servers: a request that waits for a lock does not keep the thread.
    // `reply` is called once, on this thread or another; it must not block or throw.
    void answer(const Request& request, const std::optional<Visitor>& who, Reply reply);

    // Asks the holders of the key to finish; returns their number. `by` is an owner, as a Visitor
    // has it. Holders who were asked a few seconds ago are not asked again.
    std::size_t knock(const LockKey& key, const std::string& by, const std::string& message);
    // The owners that wait for the key, the next one first.
    [[nodiscard]] std::vector<std::string> waiting_for(const LockKey& key) const;

    // Ends every wait. Call it before your web server stops, so that no request keeps it.
    void stop_waiting();

    [[nodiscard]] const LockRoutesOptions& options() const noexcept;

private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace leasehold::web
