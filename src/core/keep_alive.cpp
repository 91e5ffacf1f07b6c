#include <leasehold/keep_alive.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include <leasehold/request.hpp>

#include "core/retry.hpp"

namespace leasehold {
namespace {

// Receives the answer to one renewal, perhaps after KeepAlive has stopped waiting for it.
class Mailbox {
public:
    void put(Outcome outcome) {
        const std::lock_guard lock{mutex_};
        outcome_ = std::move(outcome);
        filled_.notify_all();
    }

    // Nothing if `deadline` or `ended` comes first.
    [[nodiscard]] std::optional<Outcome> wait(const std::stop_token& ended,
                                              SteadyClock::time_point deadline) {
        // A wait does not count the time the machine is suspended, but the steady clock does: so
        // look at the clock often.
        constexpr Duration longest_wait = std::chrono::seconds{1};
        std::unique_lock lock{mutex_};
        for (auto now = SteadyClock::now(); !outcome_ && !ended.stop_requested() && now < deadline;
             now = SteadyClock::now()) {
            filled_.wait_for(lock, ended, std::min(deadline - now, longest_wait),
                             [this] { return outcome_.has_value(); });
        }
        return std::exchange(outcome_, std::nullopt);
    }

private:
    std::mutex mutex_;
    std::condition_variable_any filled_;
    std::optional<Outcome> outcome_;  // guarded by mutex_
};

}  // namespace

struct KeepAlive::State {
    State(LockManager& manager, Lease&& held, Options&& wanted)
        : locks{manager},
          lease{std::move(held)},
          options{std::move(wanted)},
          every{options.every.value_or(options.ttl / 3)},
          margin{options.margin.value_or(options.ttl / 10)},
          valid_until{end_of(lease)} {}

    [[nodiscard]] SteadyClock::time_point end_of(const Lease& answer) const {
        if (answer.valid_until == SteadyClock::time_point::max()) return answer.valid_until;
        return answer.valid_until - margin;
    }

    void run(const std::stop_token& ended) {
        Loss unconfirmed = StoreFault{StoreFault::Effect::none, StoreFault::Cause::unavailable,
                                      "the store did not confirm the lease in time"};
        while (!ended.stop_requested()) {
            const auto answer = ask(ended);
            Duration pause = retries::renewal(every).first_pause;
            if (answer) {
                if (const auto* renewed = std::get_if<Lease>(&*answer)) {
                    if (!confirm(end_of(*renewed))) return lose(unconfirmed);
                    pause = every;
                } else if (const auto* refusal = std::get_if<Refusal>(&*answer)) {
                    if (refusal->kind != Refusal::Kind::busy) return lose(*refusal);
                } else if (const auto* fault = std::get_if<StoreFault>(&*answer)) {
                    unconfirmed = *fault;
                }
            }
            Mailbox nothing;
            (void)nothing.wait(ended, std::min(SteadyClock::now() + pause, valid_until));
            if (!ended.stop_requested() && SteadyClock::now() >= valid_until) {
                return lose(unconfirmed);
            }
        }
    }

    [[nodiscard]] std::optional<Outcome> ask(const std::stop_token& ended) const {
        const auto mailbox = std::make_shared<Mailbox>();
        locks.submit(renewal(), [mailbox](Outcome outcome) { mailbox->put(std::move(outcome)); });
        return mailbox->wait(ended, valid_until);
    }

    [[nodiscard]] Renew renewal() const {
        return {.key = lease.key, .lock_id = lease.lock_id, .ttl = options.ttl};
    }

    // False if the renewal comes too late: lost() may have answered true already.
    [[nodiscard]] bool confirm(SteadyClock::time_point until) {
        {
            const std::lock_guard lock{mutex};
            if (SteadyClock::now() >= valid_until) return false;
            valid_until = until;
        }
        if (options.on_renewed) options.on_renewed(until);
        return true;
    }

    [[nodiscard]] bool is_over() const {
        const std::lock_guard lock{mutex};
        return SteadyClock::now() >= valid_until;
    }

    void lose(const Loss& loss) {
        {
            const std::lock_guard lock{mutex};
            valid_until = std::min(valid_until, SteadyClock::now());
        }
        stop.request_stop();
        if (options.on_lost) options.on_lost(loss);
    }

    LockManager& locks;
    const Lease lease;
    const Options options;
    const Duration every;
    const Duration margin;
    std::stop_source stop;

    mutable std::mutex mutex;
    SteadyClock::time_point
        valid_until;  // written by the thread under mutex, read by others under it
};

KeepAlive::KeepAlive(LockManager& locks, Lease lease, Options options)
    : state_{std::make_unique<State>(locks, std::move(lease), std::move(options))} {
    if (state_->every <= Duration::zero() || state_->margin < Duration::zero() ||
        state_->every >= state_->options.ttl - state_->margin) {
        throw BadRequest{"KeepAlive needs 0 < every, 0 <= margin and every + margin < ttl"};
    }
    locks.validate(state_->renewal());
    thread_ =
        std::jthread{[state = state_.get()](const std::stop_token& ended) { state->run(ended); }};
}

KeepAlive::~KeepAlive() = default;

bool KeepAlive::lost() const {
    return stop_token().stop_requested() || state_->is_over();
}

std::stop_token KeepAlive::stop_token() const noexcept {
    return state_->stop.get_token();
}

SteadyClock::time_point KeepAlive::valid_until() const {
    const std::lock_guard lock{state_->mutex};
    return state_->valid_until;
}

}  // namespace leasehold
