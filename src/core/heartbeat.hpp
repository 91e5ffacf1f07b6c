#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include <leasehold/request.hpp>
#include <leasehold/time.hpp>

namespace leasehold {

// The thread that renews every lease that is kept alive in this process, however many there are.
// Thread-safe. It starts with the first lease and is never destroyed.
class Heartbeat {
public:
    using time_point = SteadyClock::time_point;
    static constexpr time_point not_again = time_point::max();

    // What is renewed. Both functions are called on the heartbeat's thread, return soon, and say
    // when on_time() is to be called next.
    class RenewedLease {
    public:
        RenewedLease() = default;
        RenewedLease(const RenewedLease&) = delete;
        RenewedLease& operator=(const RenewedLease&) = delete;
        virtual ~RenewedLease() = default;

        [[nodiscard]] virtual time_point on_time() = 0;
        [[nodiscard]] virtual time_point on_answer(Outcome outcome) = 0;

    private:
        friend Heartbeat;
        bool added_ = false;     // guarded by Heartbeat::mutex_
        time_point wakes_at_{};  // guarded by Heartbeat::mutex_
    };

    [[nodiscard]] static Heartbeat& of_process();

    // The first moment after `now` at which everything with this period is renewed: leases that
    // were taken at different times are renewed at the same time, and travel in one batch.
    [[nodiscard]] static time_point next_beat(time_point now, Duration period) {
        return time_point{(now.time_since_epoch() / period + 1) * period};
    }

    void add(std::shared_ptr<RenewedLease> lease, time_point first);
    // From now on, none of its functions is called, and none is running. On the heartbeat's own
    // thread: except for the one that calls this.
    void remove(const std::shared_ptr<RenewedLease>& lease);

    // Calls lease->on_answer() soon, unless the lease is removed before.
    void answer(std::shared_ptr<RenewedLease> lease, Outcome outcome);

private:
    Heartbeat() = default;

    [[noreturn]] void run();
    template <class Function>
    void call(std::unique_lock<std::mutex>& lock, const std::shared_ptr<RenewedLease>& lease,
              Function function);

    std::mutex mutex_;
    std::condition_variable wakes_;
    std::condition_variable called_;
    // All guarded by mutex_:
    std::set<std::pair<time_point, std::shared_ptr<RenewedLease>>> agenda_;
    std::deque<std::pair<std::shared_ptr<RenewedLease>, Outcome>> answers_;
    const RenewedLease* calling_ = nullptr;
    std::size_t removing_ = 0;
    std::thread::id thread_{};
};

}  // namespace leasehold
