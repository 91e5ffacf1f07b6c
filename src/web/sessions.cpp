#include <leasehold/web/lock_routes.hpp>
#include <leasehold/web/sessions.hpp>

#include <sys/random.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "core/retry.hpp"

namespace leasehold::web {
namespace {

constexpr std::size_t secret_bytes = 32;
constexpr std::size_t name_bytes = 4;

// A page that nobody looks at still waits for locks and checks them, but <leasehold-guard> renews a
// lock only while its user is at work.
bool is_work_of_a_person(const Request& request) {
    if (LockRoutes::serves(request.path())) return request.method == "PATCH";
    return request.method != "GET" && request.method != "HEAD";
}

}  // namespace

class Sessions::State {
public:
    State(LockManager& locks, SessionsOptions options)
        : locks_{locks},
          options_{std::move(options)},
          sweeper_{[this](const std::stop_token& stop) { sweep_until(stop); }} {}

    ~State() {
        sweeper_ = {};
        end(std::exchange(to_be_ended_, {}));
        for (auto& [token, entry] : entries_) entry.session->locks.keep();
        for (const LivePtr& session : to_be_ended_) session->locks.keep();
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    std::shared_ptr<const SignedIn> sign_in(std::string user) {
        auto left = std::make_shared<std::atomic<bool>>(false);
        Visitor visitor{std::move(user), "s-" + random_token(name_bytes)};
        visitor.leaves_when(left);
        auto session = std::make_shared<Live>(locks_, std::move(visitor), std::move(left));
        std::vector<LivePtr> displaced;
        {
            const std::scoped_lock lock{mutex_};
            const std::string& user = session->person.visitor.user();
            if (entries_.size() + unreleased_.size() >= options_.most ||
                unreleased_.count(user) >= options_.most_per_user) {
                session->locks.keep();  // it has none
                return nullptr;
            }
            displaced = take_beyond_share(user);
            entries_[session->person.token] = {.session = session, .used_at = options_.clock()};
        }
        end(std::move(displaced));
        return {session, &session->person};
    }

    std::shared_ptr<const SignedIn> find(std::string_view token) {
        const std::scoped_lock lock{mutex_};
        const auto found = entries_.find(token);
        if (found == entries_.end() || is_over(found->second)) return nullptr;
        return {found->second.session, &found->second.session->person};
    }

    void touch(const SignedIn& session) {
        const std::scoped_lock lock{mutex_};
        const auto found = entries_.find(session.token);
        if (found != entries_.end()) found->second.used_at = options_.clock();
    }

    void sign_out(const SignedIn& session) {
        std::vector<LivePtr> ended;
        {
            const std::scoped_lock lock{mutex_};
            const auto found = entries_.find(session.token);
            if (found == entries_.end()) return;
            ended.push_back(take(found));
        }
        end(std::move(ended));
    }

    void end_all() {
        std::vector<LivePtr> ended;
        {
            const std::scoped_lock lock{mutex_};
            while (!entries_.empty()) ended.push_back(take(entries_.begin()));
        }
        end(std::move(ended));
    }

    void sweep(const std::stop_token& stop = {}) {
        std::vector<LivePtr> ended;
        {
            const std::scoped_lock lock{mutex_};
            ended.swap(to_be_ended_);
            for (auto at = entries_.begin(); at != entries_.end();) {
                const auto one = at++;
                if (is_over(one->second)) ended.push_back(take(one));
            }
        }
        end(std::move(ended), stop);
    }

private:
    struct Live {
        Live(LockManager& locks, Visitor visitor, std::shared_ptr<std::atomic<bool>> has_left)
            : person{std::move(visitor), random_token(secret_bytes), random_token(secret_bytes)},
              left{std::move(has_left)},
              locks{locks, person.visitor.owner()} {}

        const SignedIn person;
        const std::shared_ptr<std::atomic<bool>> left;
        Session locks;
    };
    using LivePtr = std::shared_ptr<Live>;
    struct Entry {
        LivePtr session;
        SteadyClock::time_point used_at;
    };
    using Entries = std::map<std::string, Entry, std::less<>>;

    [[nodiscard]] bool is_over(const Entry& entry) const {
        return options_.clock() - entry.used_at > options_.timeout;
    }

    [[nodiscard]] static bool is_of(const LivePtr& session, const std::string& user) {
        return session->person.visitor.user() == user;
    }

    // Under mutex_:
    // A session that is to be ended.
    [[nodiscard]] LivePtr take(Entries::iterator at) {
        unreleased_.insert(at->second.session->person.visitor.user());
        LivePtr session = std::move(at->second.session);
        entries_.erase(at);
        return session;
    }
    // The session that makes room for one more of a user who has too many.
    [[nodiscard]] std::vector<LivePtr> take_beyond_share(const std::string& user) {
        auto oldest = entries_.end();
        std::size_t sessions = 0;
        for (auto at = entries_.begin(); at != entries_.end(); ++at) {
            if (!is_of(at->second.session, user)) continue;
            ++sessions;
            if (oldest == entries_.end() || at->second.used_at < oldest->second.used_at) {
                oldest = at;
            }
        }
        if (sessions < options_.most_per_user || sessions == 0) return {};
        return {take(oldest)};
    }

    // A session whose locks could not be released is tried again by the next sweep: a save may have
    // guarded them. After a fault of the store the other sessions wait for that sweep, too. In the
    // end the locks expire.
    void end(std::vector<LivePtr> sessions, const std::stop_token& stop = {}) {
        for (const LivePtr& session : sessions) *session->left = true;
        bool store_answers = true;
        for (LivePtr& session : sessions) {
            bool ended = false;
            if (store_answers && !stop.stop_requested()) {
                try {
                    ended = session->locks.end().has_value();
                } catch (const StoreFault&) {
                    store_answers = false;
                }
            }
            if (ended) {
                session->locks.keep();  // there is nothing left to release
            }
            const std::scoped_lock lock{mutex_};
            if (ended) {
                unreleased_.erase(unreleased_.find(session->person.visitor.user()));
            } else {
                to_be_ended_.push_back(std::move(session));
            }
        }
    }

    void sweep_until(const std::stop_token& stop) {
        std::unique_lock lock{mutex_};
        while (!stop.stop_requested()) {
            changed_.wait_for(lock, stop, retries::session_end, [] { return false; });
            lock.unlock();
            sweep(stop);
            lock.lock();
        }
    }

    LockManager& locks_;
    const SessionsOptions options_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    Entries entries_;                   // guarded by mutex_; by token
    std::vector<LivePtr> to_be_ended_;  // guarded by mutex_; by the next sweep
    // Guarded by mutex_: the user of each session that has ended and whose locks the store has not
    // released yet.
    std::multiset<std::string> unreleased_;
    std::jthread sweeper_;  // last: it uses everything above
};

Sessions::Sessions(LockManager& locks, SessionsOptions options)
    : state_{std::make_unique<State>(locks, std::move(options))} {}
Sessions::~Sessions() = default;

std::shared_ptr<const SignedIn> Sessions::sign_in(std::string user) {
    return state_->sign_in(std::move(user));
}
std::shared_ptr<const SignedIn> Sessions::find(std::string_view token) {
    return state_->find(token);
}
std::optional<Visitor> Sessions::visitor(const Request& request) {
    const auto person = find(request.cookie("session"));
    if (!person) return std::nullopt;
    if (is_work_of_a_person(request)) touch(*person);
    return person->visitor;
}
void Sessions::touch(const SignedIn& session) {
    state_->touch(session);
}
void Sessions::sign_out(const SignedIn& session) {
    state_->sign_out(session);
}
void Sessions::end_all() {
    state_->end_all();
}
void Sessions::sweep() {
    state_->sweep();
}

std::string random_token(std::size_t bytes) {
    std::string raw(bytes, '\0');
    if (getrandom(raw.data(), raw.size(), 0) != static_cast<ssize_t>(bytes)) {
        throw std::runtime_error{"the operating system gave no random bytes"};
    }
    constexpr std::string_view digits = "0123456789abcdef";
    std::string token;
    for (const char c : raw) {
        const auto byte = static_cast<unsigned char>(c);
        token += digits[byte >> 4U];
        token += digits[byte & 0xFU];
    }
    return token;
}

bool is_same_secret(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
    }
    return difference == 0;
}

}  // namespace leasehold::web
