#include <leasehold/limits.hpp>

#include "lab/checks.hpp"

namespace leasehold::lab {
namespace {

// The store may read the answer's time at any moment of the operation, so the lease may look
// shorter by the duration of the whole operation.
bool is_shorter(const Lease& lease, Duration asked_for, const Operation& operation,
                const Expectations& expectations) {
    if (asked_for == until_released) return false;
    const auto took = std::chrono::ceil<Duration>(*operation.returned - operation.called);
    const auto left = lease.remaining();
    return left && *left + took + expectations.clock_drift < asked_for;
}

void contradicts_itself(const Evidence& evidence, const Report& report) {
    for (const Operation& operation : evidence.operations) {
        for (const Lease& lease : leases_in(operation)) {
            if (lease.expires_at <= lease.store_now)
                report("shown alive after its expiry", {&operation});
            if (lease.granted_at > lease.store_now) report("granted in the future", {&operation});
            if (lease.fence <= 0) report("a fence that is not positive", {&operation});
        }
        if (const auto* wanted = std::get_if<TryLock>(&operation.request)) {
            if (const auto* lease = std::get_if<Lease>(&operation.outcome)) {
                if (lease->key != wanted->key) report("granted another key", {&operation});
                if (lease->owner != wanted->owner) report("granted to another owner", {&operation});
                if (lease->mode != wanted->mode) report("granted in another mode", {&operation});
                if (wanted->owner.empty() && lease->lock_id != wanted->lock_id) {
                    report("somebody without a name was given another's lease", {&operation});
                }
                const Story& story = evidence.stories.by_id.at(lease->lock_id);
                const bool capped = wanted->max_hold.has_value();
                if (story.tries == 1 && !capped &&
                    is_shorter(*lease, wanted->ttl, operation, evidence.expectations)) {
                    report("granted for a shorter time than asked", {&operation});
                }
            }
        }
        if (const auto* wanted = std::get_if<Renew>(&operation.request)) {
            const auto* lease = std::get_if<Lease>(&operation.outcome);
            if (lease != nullptr && !wanted->max_hold &&
                is_shorter(*lease, wanted->ttl, operation, evidence.expectations)) {
                report("renewed for a shorter time than asked", {&operation});
            }
        }
        const auto* refusal = std::get_if<Refusal>(&operation.outcome);
        if (refusal == nullptr || refusal->kind != Refusal::Kind::held) continue;
        if (refusal->holders.empty()) report("held by nobody", {&operation});
        const auto* wanted = std::get_if<TryLock>(&operation.request);
        bool exclusive = false;
        for (const Holder& holder : refusal->holders) {
            exclusive |= holder.mode == Mode::exclusive;
            if (wanted != nullptr && holder.key != wanted->key)
                report("held under another key", {&operation});
        }
        if (wanted != nullptr && exclusive && refusal->holders.size() > 1) {
            report("held alone by several", {&operation});
        }
        if (wanted != nullptr && wanted->mode == Mode::shared && !exclusive &&
            refusal->holders_in_all < Limits::shared_holders &&
            !evidence.expectations.may_have_met_a_transaction(operation)) {
            report("a share refused although nobody holds it alone", {&operation});
        }
    }
}

}  // namespace

std::vector<Rule> rules_by_answers() {
    return {
        {"contradicts itself", contradicts_itself},
    };
}

}  // namespace leasehold::lab
