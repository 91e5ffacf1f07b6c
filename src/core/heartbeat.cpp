#include "core/heartbeat.hpp"

#include <algorithm>

#include "core/out_of_memory.hpp"

namespace leasehold {
namespace {

// A wait does not count the time while the machine is suspended, but SteadyClock does: so look at
// the clock often.
constexpr Duration longest_nap = std::chrono::seconds{1};

}  // namespace

Heartbeat& Heartbeat::of_process() {
    // Never destroyed: a lease may be kept until the last static object is gone.
    static Heartbeat& heartbeat = *new Heartbeat;
    return heartbeat;
}

void Heartbeat::add(std::shared_ptr<RenewedLease> lease, time_point first) {
    const std::lock_guard lock{mutex_};
    if (thread_ == std::thread::id{}) {
        std::thread thread{[this] { run(); }};
        thread_ = thread.get_id();
        thread.detach();
    }
    lease->wakes_at_ = first;
    lease->added_ = true;
    agenda_.emplace(first, std::move(lease));
    wakes_.notify_one();
}

void Heartbeat::remove(const std::shared_ptr<RenewedLease>& lease) {
    std::unique_lock lock{mutex_};
    lease->added_ = false;
    agenda_.erase({lease->wakes_at_, lease});
    if (std::this_thread::get_id() == thread_) return;
    ++removing_;
    called_.wait(lock, [&] { return calling_ != lease.get(); });
    --removing_;
}

void Heartbeat::answer(std::shared_ptr<RenewedLease> lease, Outcome outcome) {
    const std::lock_guard lock{mutex_};
    if (!lease->added_) return;
    do_for_certain([&] { answers_.emplace_back(); });
    answers_.back() = {std::move(lease), std::move(outcome)};
    wakes_.notify_one();
}

template <class Function>
void Heartbeat::call(std::unique_lock<std::mutex>& lock, const std::shared_ptr<RenewedLease>& lease,
                     Function function) {
    calling_ = lease.get();
    lock.unlock();
    const time_point next = function(*lease);
    lock.lock();
    calling_ = nullptr;
    if (removing_ > 0) called_.notify_all();
    if (!lease->added_) return;
    // Moving the node needs no memory.
    auto node = agenda_.extract({lease->wakes_at_, lease});
    node.value().first = lease->wakes_at_ = next;
    agenda_.insert(std::move(node));
}

void Heartbeat::run() {
    std::unique_lock lock{mutex_};
    for (;;) {
        if (!answers_.empty()) {
            const std::shared_ptr<RenewedLease> lease = std::move(answers_.front().first);
            Outcome outcome = std::move(answers_.front().second);
            answers_.pop_front();
            if (!lease->added_) continue;
            call(lock, lease, [&](RenewedLease& one) { return one.on_answer(std::move(outcome)); });
            continue;
        }
        const time_point now = SteadyClock::now();
        if (!agenda_.empty() && agenda_.begin()->first <= now) {
            const std::shared_ptr<RenewedLease> lease = agenda_.begin()->second;
            call(lock, lease, [](RenewedLease& one) { return one.on_time(); });
        } else if (agenda_.empty()) {
            wakes_.wait(lock);
        } else {
            wakes_.wait_for(lock, std::min(agenda_.begin()->first - now, longest_nap));
        }
    }
}

}  // namespace leasehold
