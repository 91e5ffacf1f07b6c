#include "server/waiting/delayed_releases.hpp"

#include <boost/asio/dispatch.hpp>

namespace leasehold::server {

DelayedReleases::DelayedReleases(WaitingRoom& room, asio::io_context& home,
                                 const ServerOptions& options)
    : room_{room}, home_{home}, options_{options}, timer_{home.get_executor()} {}

DelayedReleases::~DelayedReleases() = default;

void DelayedReleases::announce(const LockKey& key, LockId lock_id) {
    const std::lock_guard lock{mutex_};
    if (delayed_releases_.contains(lock_id) || closed_ || due_.size() >= options_.delayed_releases)
        return;
    // Where nothing more is heard of it, this ends nothing: no lease expires then.
    delayed_releases_[lock_id] =
        due_.emplace(Clock::now() + options_.longest_delay, Release{key, lock_id, Time{}});
    parting_ = due_.size();
}

void DelayedReleases::end_later(const Lease& lease, std::chrono::milliseconds after) {
    {
        const std::lock_guard lock{mutex_};
        const auto announced = delayed_releases_.find(lease.lock_id);
        if (announced == delayed_releases_.end()) return;
        due_.erase(announced->second);
        announced->second =
            due_.emplace(Clock::now() + after, Release{lease.key, lease.lock_id, lease.expires_at});
    }
    asio::dispatch(home_, [this] { set_timer(); });
}

void DelayedReleases::close() {
    const std::lock_guard lock{mutex_};
    closed_ = true;
    parting_ = 0;
    delayed_releases_.clear();
    due_.clear();
    asio::dispatch(home_, [this] { timer_.cancel(); });
}

void DelayedReleases::stay(LockId lock_id) {
    const std::lock_guard lock{mutex_};
    const auto found = delayed_releases_.find(lock_id);
    if (found == delayed_releases_.end()) return;
    due_.erase(found->second);
    delayed_releases_.erase(found);
    parting_ = due_.size();
}

void DelayedReleases::set_timer() {
    const std::lock_guard lock{mutex_};
    if (due_.empty()) return;
    timer_.expires_at(due_.begin()->first);
    timer_.async_wait([this](boost::system::error_code error) {
        if (!error) on_time();
    });
}

void DelayedReleases::on_time() {
    const auto now = Clock::now();
    {
        // Until they are with the store: whoever comes back meanwhile asks after that.
        const std::lock_guard lock{mutex_};
        while (!due_.empty() && due_.begin()->first <= now) {
            const auto parting = due_.extract(due_.begin());
            delayed_releases_.erase(parting.mapped().lock_id);
            room_.end(parting.mapped());
        }
        parting_ = due_.size();
    }
    set_timer();
}

}  // namespace leasehold::server
