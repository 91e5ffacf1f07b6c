#include "server/partings.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>

#include <utility>

namespace leasehold::server {

Partings::Partings(LockManager& locks, WaitingRoom& room, asio::io_context& home,
                   const ServerOptions& options)
    : locks_{locks}, room_{room}, home_{home}, options_{options}, timer_{home.get_executor()} {}

Partings::~Partings() = default;

void Partings::end_later(Lease lease, std::chrono::milliseconds after) {
    const auto at = Clock::now() + after;
    asio::dispatch(home_, [this, at, lease = std::move(lease)]() mutable {
        if (closed_ || due_.size() >= options_.partings) return;
        due_.emplace(at, std::move(lease));
        set_timer();
    });
}

void Partings::close() {
    asio::dispatch(home_, [this] {
        closed_ = true;
        due_.clear();
        timer_.cancel();
    });
}

void Partings::set_timer() {
    if (due_.empty()) return;
    timer_.expires_at(due_.begin()->first);
    timer_.async_wait([this](boost::system::error_code error) {
        if (!error) on_time();
    });
}

void Partings::on_time() {
    const auto now = Clock::now();
    while (!due_.empty() && due_.begin()->first <= now) {
        end_unless_prolonged(due_.extract(due_.begin()).mapped());
    }
    set_timer();
}

void Partings::end_unless_prolonged(const Lease& lease) {
    auto work = asio::make_work_guard(home_);
    locks_.submit(Check{lease.key, lease.lock_id},
                  [this, lease, work = std::move(work)](const Outcome& now) {
                      const auto* alive = std::get_if<Lease>(&now);
                      if (alive != nullptr && alive->expires_at == lease.expires_at)
                          room_.give_back(lease);
                  });
}

}  // namespace leasehold::server
