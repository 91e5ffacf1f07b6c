#include "sessions/app_sessions.hpp"

#include <utility>

#include "sessions/random_token.hpp"

namespace customers {
namespace {

constexpr std::size_t secret_bytes = 32;
constexpr std::size_t name_bytes = 4;
constexpr std::chrono::seconds between_sweeps{1};

}  // namespace

AppSession::AppSession(leasehold::LockManager& lock_manager, const std::string& user_name)
    : user{user_name},
      token{random_token(secret_bytes)},
      form_token{random_token(secret_bytes)},
      locks{lock_manager, user_name + "/s-" + random_token(name_bytes)} {}

AppSessions::AppSessions(leasehold::LockManager& locks, leasehold::Duration timeout, Clock clock)
    : locks_{locks},
      timeout_{timeout},
      clock_{std::move(clock)},
      sweeper_{[this](const std::stop_token& stop) { sweep_until(stop); }} {}

std::shared_ptr<AppSession> AppSessions::sign_in(const std::string& user) {
    auto session = std::make_shared<AppSession>(locks_, user);
    const std::scoped_lock lock{mutex_};
    if (entries_.size() >= most) return nullptr;
    entries_[session->token] = {.session = session, .used_at = clock_()};
    return session;
}

std::shared_ptr<AppSession> AppSessions::find(const std::string& token) {
    const std::scoped_lock lock{mutex_};
    const auto found = entries_.find(token);
    if (found == entries_.end()) return nullptr;
    if (clock_() - found->second.used_at > timeout_) return nullptr;
    return found->second.session;
}

void AppSessions::touch(const AppSession& session) {
    const std::scoped_lock lock{mutex_};
    const auto found = entries_.find(session.token);
    if (found != entries_.end()) found->second.used_at = clock_();
}

void AppSessions::sign_out(const AppSession& session) {
    std::vector<std::shared_ptr<AppSession>> ended;
    {
        const std::scoped_lock lock{mutex_};
        const auto found = entries_.find(session.token);
        if (found == entries_.end()) return;
        ended.push_back(std::move(found->second.session));
        entries_.erase(found);
    }
    end(std::move(ended));
}

void AppSessions::sweep() {
    std::vector<std::shared_ptr<AppSession>> ended;
    {
        const std::scoped_lock lock{mutex_};
        ended.swap(to_be_ended_);
        const auto now = clock_();
        std::erase_if(entries_, [&](auto& entry) {
            if (now - entry.second.used_at <= timeout_) return false;
            ended.push_back(std::move(entry.second.session));
            return true;
        });
    }
    end(std::move(ended));
}

// Retries sessions whose locks could not be released, because a save guarded them or the store did
// not answer. In the end the locks expire.
void AppSessions::end(std::vector<std::shared_ptr<AppSession>> sessions) {
    for (auto& session : sessions) {
        bool ended = false;
        try {
            ended = session->locks.end().has_value();
        } catch (const leasehold::StoreFault&) {
            ended = false;
        }
        if (ended) continue;
        const std::scoped_lock lock{mutex_};
        to_be_ended_.push_back(std::move(session));
    }
}

void AppSessions::sweep_until(const std::stop_token& stop) {
    std::unique_lock lock{mutex_};
    while (!stop.stop_requested()) {
        changed_.wait_for(lock, stop, between_sweeps, [] { return false; });
        lock.unlock();
        sweep();
        lock.lock();
    }
}

}  // namespace customers
