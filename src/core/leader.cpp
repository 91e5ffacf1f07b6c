#include <leasehold/leader.hpp>

#include <mutex>
#include <thread>
#include <utility>

#include <leasehold/hold.hpp>
#include <leasehold/request.hpp>

#include "core/hold_terms.hpp"
#include "core/retry.hpp"
#include "core/unique_owner.hpp"

namespace leasehold {
namespace {

HoldOptions hold_options(const LeaderOptions& options) {
    return {.owner = options.name,
            .ttl = options.ttl,
            .note = options.note,
            .wait = Duration::max(),
            .margin = options.margin};
}

}  // namespace

struct Leader::State {
    State(LockManager& manager, LockKey&& led, LeaderOptions&& wanted, Work&& task)
        : locks{manager},
          key{std::move(led)},
          options{std::move(wanted)},
          work{std::move(task)},
          thread{[this](const std::stop_token& stop) { run(stop); }} {}

    void run(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            try {
                lead(stop);
            } catch (const std::exception& error) {
                if (options.on_error && !stop.stop_requested()) options.on_error(error);
            }
            (void)Retry{retries::next_term}.pause(stop);
        }
    }

    void lead(const std::stop_token& stop) {
        HoldOptions terms = hold_options(options);
        terms.stop_waiting = stop;
        const auto held = hold(locks, key, std::move(terms));
        if (!held) return;
        std::stop_source end;
        const auto end_work = [&] { end.request_stop(); };
        const std::stop_callback when_stopped{stop, end_work};
        const std::stop_callback when_lost{held->stop_token(), end_work};
        const Leading shown{*this, *held};
        work(end.get_token(), held->fence());
    }

    // While the work runs.
    struct Leading {
        Leading(State& state, const Held& held) : leader{state} { leader.show(&held); }
        Leading(const Leading&) = delete;
        Leading& operator=(const Leading&) = delete;
        ~Leading() { leader.show(nullptr); }
        State& leader;
    };

    void show(const Held* held) {
        const std::lock_guard lock{mutex};
        leading = held;
    }

    LockManager& locks;
    const LockKey key;
    const LeaderOptions options;
    const Work work;
    std::mutex mutex;
    const Held* leading = nullptr;  // guarded by mutex
    std::jthread thread;            // last: it uses the members above
};

Leader::Leader(LockManager& locks, LockKey key, LeaderOptions options, Work work) {
    if (options.name.empty()) throw BadRequest{"a candidate needs a name"};
    if (!work) throw BadRequest{"a candidate needs work to do"};
    require_workable(hold_options(options));
    locks.validate(try_request(
        key,
        {.owner = unique_owner(options.name, "hold"), .ttl = options.ttl, .note = options.note},
        locks.limits()));
    state_ = std::make_unique<State>(locks, std::move(key), std::move(options), std::move(work));
}

Leader::~Leader() = default;

bool Leader::leads() const {
    const std::lock_guard lock{state_->mutex};
    return state_->leading != nullptr && !state_->leading->lost();
}

std::optional<Holder> Leader::current() const {
    const HolderPage holders = state_->locks.holders(state_->key);
    if (holders.empty()) return std::nullopt;
    return holders.items.front();
}

}  // namespace leasehold
