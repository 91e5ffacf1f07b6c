#include <leasehold/hold.hpp>

#include <future>
#include <memory>
#include <utility>

#include <leasehold/request.hpp>

#include "core/grant.hpp"
#include "core/hold_terms.hpp"
#include "core/unique_owner.hpp"

namespace leasehold {
namespace {

LockOptions lock_options(HoldOptions& options) {
    if (!options.owner.empty()) options.owner = unique_owner(options.owner, "hold");
    LockOptions result{.owner = std::move(options.owner),
                       .mode = options.mode,
                       .places = options.places,
                       .ttl = options.ttl,
                       .max_hold = options.max_hold};
    copy_fields(requested_texts, std::move(options), result);
    return result;
}

}  // namespace

void require_workable(const HoldOptions& options) {
    if (options.ttl == until_released) {
        throw BadRequest{"a held lock is renewed, so its ttl must have an end"};
    }
    (void)renewal_terms(options);
}

struct Held::State {
    State(LockManager& manager, std::vector<Lease> granted)
        : locks{manager}, leases{std::move(granted)} {}
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
        keep_alive.reset();
        if (kept) return;
        try {
            release();
        } catch (const std::exception&) {
            // The leases end when they expire.
        }
    }

    // All at once, so that they travel in one batch.
    void release() {
        std::vector<std::future<void>> answers;
        for (const Lease& lease : leases) {
            const auto answered = std::make_shared<std::promise<void>>();
            answers.push_back(answered->get_future());
            locks.submit(Release{.key = lease.key, .lock_id = lease.lock_id},
                         [answered](const Outcome&) { answered->set_value(); });
        }
        for (const auto& answer : answers) answer.wait();
    }

    LockManager& locks;
    std::vector<Lease> leases;
    bool kept = false;
    std::unique_ptr<KeepAlive> keep_alive{};
};

Held::Held(LockManager& locks, std::vector<Lease> leases, const HoldOptions& options)
    : state_{std::make_unique<State>(locks, std::move(leases))} {
    // If this fails, the leases are released.
    state_->keep_alive.reset(new KeepAlive{locks, state_->leases,
                                           KeepAlive::Options{.ttl = options.ttl,
                                                              .max_hold = options.max_hold,
                                                              .every = options.every,
                                                              .margin = options.margin},
                                           KeepAlive::FirstRenewal::next_beat});
}

Held::Held(Held&&) noexcept = default;
Held& Held::operator=(Held&&) noexcept = default;
Held::~Held() = default;

const std::vector<Lease>& Held::leases() const noexcept {
    return state_->leases;
}

std::stop_token Held::stop_token() const noexcept {
    return state_->keep_alive->stop_token();
}

bool Held::lost() const {
    return state_->keep_alive->lost();
}

std::optional<KeepAlive::Loss> Held::loss() const {
    return state_->keep_alive->loss();
}

SteadyClock::time_point Held::valid_until() const {
    return state_->keep_alive->valid_until();
}

std::vector<Lease> Held::keep() && {
    const std::unique_ptr<State> state = std::move(state_);
    state->kept = true;
    return std::move(state->leases);
}

Result<Held> hold(LockManager& locks, LockKey key, HoldOptions options) {
    require_workable(options);
    auto lease =
        locks.lock_for(std::move(key), options.wait, lock_options(options), options.stop_waiting);
    if (!lease) return std::unexpected{std::move(lease.error())};
    std::vector<Lease> leases{*std::move(lease)};
    return Held{locks, std::move(leases), options};
}

Result<Held> hold_all(LockManager& locks, std::vector<LockKey> keys, HoldOptions options) {
    require_workable(options);
    auto leases = locks.lock_all_for(std::move(keys), options.wait, lock_options(options),
                                     options.stop_waiting);
    if (!leases) return std::unexpected{std::move(leases.error())};
    return Held{locks, *std::move(leases), options};
}

}  // namespace leasehold
