#include "server/partings.hpp"

#include <boost/asio/dispatch.hpp>

namespace leasehold::server {

Partings::Partings(WaitingRoom& room, asio::io_context& home, const ServerOptions& options)
    : room_{room}, home_{home}, options_{options}, timer_{home.get_executor()} {}

Partings::~Partings() = default;

void Partings::announce(const LockKey& key, LockId lock_id) {
    const std::lock_guard lock{mutex_};
    if (partings_.contains(lock_id) || closed_ || due_.size() >= options_.partings) return;
    // Where nothing more is heard of it, this ends nothing: no lease expires then.
    partings_[lock_id] =
        due_.emplace(Clock::now() + options_.longest_parting, Release{key, lock_id, Time{}});
    parting_ = due_.size();
}

void Partings::end_later(const Lease& lease, std::chrono::milliseconds after) {
    {
        const std::lock_guard lock{mutex_};
        const auto announced = partings_.find(lease.lock_id);
        if (announced == partings_.end()) return;
        due_.erase(announced->second);
        announced->second =
            due_.emplace(Clock::now() + after, Release{lease.key, lease.lock_id, lease.expires_at});
    }
    asio::dispatch(home_, [this] { set_timer(); });
}

void Partings::close() {
    const std::lock_guard lock{mutex_};
    closed_ = true;
    parting_ = 0;
    partings_.clear();
    due_.clear();
    asio::dispatch(home_, [this] { timer_.cancel(); });
}

void Partings::stay(LockId lock_id) {
    const std::lock_guard lock{mutex_};
    const auto found = partings_.find(lock_id);
    if (found == partings_.end()) return;
    due_.erase(found->second);
    partings_.erase(found);
    parting_ = due_.size();
}

void Partings::set_timer() {
    const std::lock_guard lock{mutex_};
    if (due_.empty()) return;
    timer_.expires_at(due_.begin()->first);
    timer_.async_wait([this](boost::system::error_code error) {
        if (!error) on_time();
    });
}

void Partings::on_time() {
    const auto now = Clock::now();
    {
        // Until they are with the store: whoever comes back meanwhile asks after that.
        const std::lock_guard lock{mutex_};
        while (!due_.empty() && due_.begin()->first <= now) {
            const auto parting = due_.extract(due_.begin());
            partings_.erase(parting.mapped().lock_id);
            room_.end(parting.mapped());
        }
        parting_ = due_.size();
    }
    set_timer();
}

}  // namespace leasehold::server
