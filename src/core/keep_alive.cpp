#include <leasehold/keep_alive.hpp>

#include <algorithm>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include <leasehold/request.hpp>

#include "core/heartbeat.hpp"
#include "core/hold_terms.hpp"
#include "core/retry.hpp"

namespace leasehold {

struct KeepAlive::State : std::enable_shared_from_this<State> {
    class KeptLease;

    State(LockManager& manager, Options&& wanted)
        : locks{manager}, options{std::move(wanted)}, terms{renewal_terms(options)} {}

    [[nodiscard]] SteadyClock::time_point end_of(const Lease& answer) const {
        if (answer.valid_until == SteadyClock::time_point::max()) return answer.valid_until;
        return answer.valid_until - terms.margin;
    }

    [[nodiscard]] SteadyClock::time_point valid_until() const;

    // On the heartbeat's thread. Tells the holder on another one: its callbacks may take long, and
    // the other leases of this process must be renewed in the meantime.
    void lose(const Loss& why) {
        {
            const std::lock_guard lock{mutex};
            if (lost_at) return;
            lost_at = SteadyClock::now();
            loss = why;
        }
        try {
            teller = std::thread{[self = shared_from_this()] { self->tell(); }};
        } catch (const std::system_error&) {
            tell();
        }
    }

    void tell() {
        stop.request_stop();
        if (options.on_lost) options.on_lost(*loss);
    }

    LockManager& locks;
    const Options options;
    const RenewalTerms terms;
    std::stop_source stop;
    std::vector<std::shared_ptr<KeptLease>> leases;
    std::thread teller;  // set by the heartbeat's thread, until the leases are removed from it

    mutable std::mutex mutex;
    std::optional<SteadyClock::time_point> lost_at;  // guarded by mutex
    std::optional<Loss> loss;                        // guarded by mutex; set once
};

// One lease of a set. Until it is removed from the heartbeat, the set lives.
class KeepAlive::State::KeptLease final : public Heartbeat::RenewedLease,
                                          public std::enable_shared_from_this<KeptLease> {
public:
    KeptLease(State& set, const Lease& lease)
        : set_{set}, key_{lease.key}, lock_id_{lease.lock_id}, valid_until_{set.end_of(lease)} {
        note_last_expiry(lease);
    }

    [[nodiscard]] Renew renewal() const {
        return {.key = key_,
                .lock_id = lock_id_,
                .ttl = set_.options.ttl,
                .max_hold = set_.options.max_hold};
    }

    void keep(SteadyClock::time_point first) {
        due_ = first;
        Heartbeat::of_process().add(shared_from_this(), std::min(due_, valid_until_));
    }

    // Under the mutex of the set, unless on the heartbeat's thread.
    [[nodiscard]] SteadyClock::time_point valid_until() const { return valid_until_; }

    [[nodiscard]] Heartbeat::time_point on_time() override {
        const auto now = SteadyClock::now();
        if (now >= valid_until_) return lose(unconfirmed_);
        if (now < due_ || renewing_) return next();
        renewing_ = true;
        try {
            set_.locks.submit(renewal(), [self = shared_from_this()](Outcome outcome) {
                Heartbeat::of_process().answer(self, std::move(outcome));
            });
        } catch (const std::bad_alloc&) {
            renewing_ = false;
            ask_again_soon();
        }
        return next();
    }

    [[nodiscard]] Heartbeat::time_point on_answer(Outcome outcome) override {
        renewing_ = false;
        ask_again_soon();
        if (const auto* renewed = std::get_if<Lease>(&outcome)) {
            if (!confirm(set_.end_of(*renewed))) return lose(unconfirmed_);
            note_last_expiry(*renewed);
            due_ = Heartbeat::next_beat(SteadyClock::now(), set_.terms.every);
        } else if (const auto* refusal = std::get_if<Refusal>(&outcome)) {
            if (refusal->kind != Refusal::Kind::busy) return lose(*refusal);
        } else if (const auto* fault = std::get_if<StoreFault>(&outcome)) {
            if (std::holds_alternative<StoreFault>(unconfirmed_)) unconfirmed_ = *fault;
        }
        return next();
    }

private:
    // No renewal moves the expiry beyond the longest hold.
    void note_last_expiry(const Lease& lease) {
        const auto& longest = set_.options.max_hold;
        if (!longest || lease.expires_at - lease.granted_at < *longest) return;
        unconfirmed_ = Refusal{.reason = Gone::expired, .store_now = lease.store_now};
    }

    [[nodiscard]] Heartbeat::time_point next() const {
        if (lost_) return Heartbeat::not_again;
        return renewing_ ? valid_until_ : std::min(due_, valid_until_);
    }

    void ask_again_soon() {
        due_ = SteadyClock::now() + retries::renewal(set_.terms.every).first_pause;
    }

    // False if the renewal comes too late: lost() may have answered true already.
    [[nodiscard]] bool confirm(SteadyClock::time_point until) {
        {
            const std::lock_guard lock{set_.mutex};
            if (set_.lost_at) return true;
            if (SteadyClock::now() >= valid_until_) return false;
            valid_until_ = until;
        }
        if (set_.options.on_renewed) set_.options.on_renewed(set_.valid_until());
        return true;
    }

    [[nodiscard]] Heartbeat::time_point lose(const Loss& loss) {
        lost_ = true;
        set_.lose(loss);
        return Heartbeat::not_again;
    }

    State& set_;
    const LockKey key_;
    const LockId lock_id_;
    // Written by the heartbeat's thread under the mutex of the set.
    SteadyClock::time_point valid_until_;

    // Of the heartbeat's thread:
    SteadyClock::time_point due_{};
    bool renewing_ = false;
    bool lost_ = false;
    Loss unconfirmed_ = StoreFault{StoreFault::Effect::none, StoreFault::Cause::unavailable,
                                   "the store did not confirm the lease in time"};
};

SteadyClock::time_point KeepAlive::State::valid_until() const {
    const std::lock_guard lock{mutex};
    auto earliest = lost_at.value_or(SteadyClock::time_point::max());
    for (const auto& lease : leases) earliest = std::min(earliest, lease->valid_until());
    return earliest;
}

KeepAlive::KeepAlive(LockManager& locks, Lease lease, Options options)
    : KeepAlive{locks, std::vector<Lease>{std::move(lease)}, std::move(options)} {}

KeepAlive::KeepAlive(LockManager& locks, const std::vector<Lease>& leases, Options options)
    : KeepAlive{locks, leases, std::move(options), FirstRenewal::at_once} {}

KeepAlive::KeepAlive(LockManager& locks, const std::vector<Lease>& leases, Options options,
                     FirstRenewal first)
    : state_{std::make_shared<State>(locks, std::move(options))} {
    for (const Lease& lease : leases) {
        state_->leases.push_back(std::make_shared<State::KeptLease>(*state_, lease));
        locks.validate(state_->leases.back()->renewal());
    }
    const auto now = SteadyClock::now();
    const auto due =
        first == FirstRenewal::at_once ? now : Heartbeat::next_beat(now, state_->terms.every);
    try {
        for (const auto& lease : state_->leases) lease->keep(due);
    } catch (...) {
        stop();
        throw;
    }
}

KeepAlive::~KeepAlive() {
    stop();
}

void KeepAlive::stop() noexcept {
    for (const auto& lease : state_->leases) Heartbeat::of_process().remove(lease);
    std::thread& teller = state_->teller;
    if (!teller.joinable()) return;
    // A holder may destroy this object when it learns of the loss.
    if (teller.get_id() == std::this_thread::get_id()) {
        teller.detach();
    } else {
        teller.join();
    }
}

bool KeepAlive::lost() const {
    return stop_token().stop_requested() || SteadyClock::now() >= state_->valid_until();
}

std::optional<KeepAlive::Loss> KeepAlive::loss() const {
    const std::lock_guard lock{state_->mutex};
    return state_->loss;
}

std::stop_token KeepAlive::stop_token() const noexcept {
    return state_->stop.get_token();
}

SteadyClock::time_point KeepAlive::valid_until() const {
    return state_->valid_until();
}

}  // namespace leasehold
