#include "server/partings.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace leasehold::server {

Partings::Partings(LockManager& locks, WaitingRoom& room, asio::io_context& home,
                   const ServerOptions& options)
    : locks_{locks}, room_{room}, home_{home}, options_{options}, timer_{home.get_executor()} {}

Partings::~Partings() = default;

void Partings::end_later(Lease lease, std::chrono::milliseconds after) {
    const auto at = Clock::now() + after;
    asio::dispatch(home_, [this, at, lease = std::move(lease)]() mutable {
        const LockId id = lease.lock_id;
        const bool known = partings_.contains(id);
        if (closed_ || (!known && due_.size() >= options_.partings)) return;
        if (known) std::erase_if(due_, [&](const auto& entry) { return entry.second == id; });
        partings_.insert_or_assign(id, Parting{at, std::move(lease)});
        due_.emplace(at, id);
        parting_ = partings_.size();
        set_timer();
    });
}

void Partings::close() {
    asio::dispatch(home_, [this] {
        closed_ = true;
        parting_ = 0;
        partings_.clear();
        due_.clear();
        timer_.cancel();
    });
}

void Partings::stay(LockId lock_id) {
    asio::dispatch(home_, [this, lock_id] {
        partings_.erase(lock_id);
        parting_ = partings_.size();
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
        const LockId id = due_.extract(due_.begin()).mapped();
        if (const auto found = partings_.find(id); found != partings_.end()) {
            end_unless_prolonged(found->second);
        }
    }
    set_timer();
}

void Partings::end_unless_prolonged(const Parting& parting) {
    auto answered = [this, parting, work = asio::make_work_guard(home_)](const Outcome& now) {
        const auto* alive = std::get_if<Lease>(&now);
        const bool prolonged = alive != nullptr && alive->expires_at != parting.lease.expires_at;
        asio::post(home_, [this, parting, ends = alive != nullptr && !prolonged] {
            const auto still = partings_.find(parting.lease.lock_id);
            if (still == partings_.end() || still->second.at != parting.at) return;
            partings_.erase(still);
            parting_ = partings_.size();
            if (ends) room_.give_back(parting.lease);
        });
    };
    locks_.submit(Check{parting.lease.key, parting.lease.lock_id}, std::move(answered));
}

}  // namespace leasehold::server
