#include <algorithm>
#include <type_traits>
#include <utility>

#include "conformance/reference_model.hpp"
#include "core/grant.hpp"

// Describes how an answer differs from the expected one.
namespace leasehold::conformance {
namespace {

using namespace std::chrono_literals;

// Longer than a test takes, and shorter than the time between two expiries.
constexpr Duration tolerance = 2min;

std::string describe(const Holder& holder) {
    return "'" + holder.owner + "' " + to_string(holder.mode) + " " + std::to_string(holder.fence);
}

std::string first_digits(LockId id) {
    return id.to_string().substr(0, 8);
}

std::string with(const std::string& token_id) {
    return token_id.empty() ? "" : " with the token " + token_id;
}

std::string in_minutes(Duration duration) {
    if (duration == until_released) return "until released";
    return std::to_string(std::chrono::floor<std::chrono::minutes>(duration).count()) + "min";
}

}  // namespace

std::string ReferenceModel::late_or_early(Duration actual, Duration expected) const {
    if (std::chrono::abs(actual - expected) <= tolerance) return {};
    return std::to_string(std::chrono::floor<std::chrono::seconds>(actual).count()) +
           " s and not " +
           std::to_string(std::chrono::floor<std::chrono::seconds>(expected).count()) + " s";
}

std::string ReferenceModel::differs(const Life& life, const Lease& lease) const {
    if (lease.lock_id != life.lock_id) return "the lease has another lock id";
    if (auto difference = differs(life, holder_of(lease)); !difference.empty()) return difference;
    if (life.expires == Duration::max()) {
        return lease.expires_at == never ? "" : "the lease should never expire";
    }
    if (auto difference =
            late_or_early(lease.remaining().value_or(until_released), life.expires - now_);
        !difference.empty()) {
        return "it lives for another " + difference;
    }
    if (auto difference = late_or_early(lease.store_now - lease.granted_at, now_ - life.granted);
        !difference.empty()) {
        return "it has lived for " + difference;
    }
    return {};
}

std::string ReferenceModel::differs(const Life& life, const Outcome& outcome) const {
    const auto* lease = std::get_if<Lease>(&outcome);
    return lease != nullptr ? differs(life, *lease) : expected_something_else("a lease", outcome);
}

std::string ReferenceModel::differs(const Life& life, const Holder& holder) const {
    if (holder.key != life.key) return "the key is " + holder.key.to_string();
    if (holder.owner != life.owner)
        return "the owner is '" + holder.owner + "', not '" + life.owner + "'";
    if (holder.mode != life.mode) return std::string{"the mode is "} + to_string(holder.mode);
    if (holder.fence != life.fence) return "the fence is another";
    if (holder.note != life.note)
        return "the note is '" + holder.note + "', not '" + life.note + "'";
    if ((holder.expires_at == never) != (life.expires == Duration::max()))
        return "the expiry is wrong";
    if (holder.expires_at == never) return {};
    return late_or_early(holder.expires_at - holder.granted_at, life.expires - life.granted);
}

std::string ReferenceModel::differs_from_gone(std::optional<std::size_t> life,
                                              const Outcome& outcome) const {
    const auto* refusal = std::get_if<Refusal>(&outcome);
    if (refusal == nullptr || refusal->kind != Refusal::Kind::gone) {
        return expected_something_else("gone", outcome);
    }
    const auto is = [&](Gone how, const std::string& by, const std::string& why) {
        return refusal->reason == how && refusal->by == by && refusal->why == why;
    };
    if (!life) return is(Gone::unknown, "", "") ? "" : expected_something_else("unknown", outcome);
    const Life& known = lives_[*life];
    if (known.maybe_forgotten && (is(Gone::unknown, "", "") || is(Gone::expired, "", "")))
        return {};
    const Gone how = known.how == Gone::unknown ? Gone::expired : known.how;
    if (is(how, known.by, known.why)) return {};
    return expected_something_else(to_string(how), outcome) + ", by '" + known.by + "'";
}

std::string ReferenceModel::differs_from_held(std::vector<std::size_t> conflicts,
                                              const Outcome& outcome) const {
    const auto* refusal = std::get_if<Refusal>(&outcome);
    if (refusal == nullptr || refusal->kind != Refusal::Kind::held) {
        return expected_something_else("held", outcome);
    }
    if (refusal->holders_in_all != conflicts.size()) {
        return "there are " + std::to_string(refusal->holders_in_all) + " holders in all, not " +
               std::to_string(conflicts.size());
    }
    // A refusal names only some of many holders.
    if (conflicts.size() > Limits::named_holders &&
        refusal->holders.size() == Limits::named_holders) {
        std::erase_if(conflicts, [&](std::size_t i) {
            return std::ranges::none_of(refusal->holders, [&](const Holder& holder) {
                return holder.key == lives_[i].key && holder.fence == lives_[i].fence;
            });
        });
    }
    return differs_from_holders(std::move(conflicts), refusal->holders);
}

std::string ReferenceModel::differs_from_holders(std::vector<std::size_t> expected,
                                                 std::vector<Holder> holders) const {
    if (expected.size() != holders.size()) {
        return "there are " + std::to_string(holders.size()) + " holders, not " +
               std::to_string(expected.size());
    }
    std::ranges::sort(expected, {},
                      [&](std::size_t i) { return std::pair{lives_[i].key, lives_[i].fence}; });
    std::ranges::sort(holders, {}, [](const Holder& h) { return std::pair{h.key, h.fence}; });
    for (std::size_t i = 0; i < holders.size(); ++i) {
        if (auto difference = differs(lives_[expected[i]], holders[i]); !difference.empty()) {
            return "a holder: " + difference;
        }
    }
    return {};
}

std::string describe(const Request& request) {
    const auto key_and_id = [](const auto& r) {
        return (r.key ? r.key->to_string() : std::string{"?"}) + " " + first_digits(r.lock_id);
    };
    return std::visit(
        [&]<class R>(const R& r) -> std::string {
            if constexpr (std::is_same_v<R, TryLock>) {
                return "try " + r.key.to_string() + " " + first_digits(r.lock_id) + " '" + r.owner +
                       "' " + to_string(r.mode) + " for " + in_minutes(r.ttl) +
                       (r.places ? " of " + std::to_string(*r.places) + " places" : "") +
                       (r.since ? " since " + std::to_string(*r.since) : "") +
                       (r.max_hold ? " at most " + in_minutes(*r.max_hold) : "") + with(r.token_id);
            } else if constexpr (std::is_same_v<R, TryLockAll>) {
                std::string text = "try all '" + r.owner + "' " + to_string(r.mode) + " for " +
                                   in_minutes(r.ttl) + with(r.token_id);
                for (std::size_t i = 0; i < r.keys.size(); ++i) {
                    text += ", " + r.keys[i].to_string() + " " + first_digits(r.lock_ids[i]);
                }
                return text;
            } else if constexpr (std::is_same_v<R, Check>) {
                return "check " + key_and_id(r);
            } else if constexpr (std::is_same_v<R, Extend>) {
                return "extend " + key_and_id(r) + " by " + in_minutes(r.by) + " up to " +
                       in_minutes(r.max_ttl);
            } else if constexpr (std::is_same_v<R, Renew>) {
                return "renew " + key_and_id(r) + " for " + in_minutes(r.ttl);
            } else if constexpr (std::is_same_v<R, Release>) {
                return "release " + key_and_id(r);
            } else if constexpr (std::is_same_v<R, ReleaseAll>) {
                return "release all of '" + r.owner +
                       (r.scope == OwnerScope::below ? "' and below" : "'") +
                       (r.key ? " on " + r.key->to_string() : "") + with(r.token_id);
            } else if constexpr (std::is_same_v<R, Break>) {
                return "break " + r.key.to_string() + " " + std::to_string(r.fence);
            } else if constexpr (std::is_same_v<R, Holders>) {
                return "holders of " + r.key.to_string();
            } else if constexpr (std::is_same_v<R, List>) {
                return "list";
            } else if constexpr (std::is_same_v<R, History>) {
                return "history" + (r.key ? " of " + r.key->to_string() : "");
            } else {
                return "purge";
            }
        },
        request);
}

std::string describe(const Outcome& outcome) {
    return std::visit(
        []<class T>(const T& value) -> std::string {
            if constexpr (std::is_same_v<T, Lease>) {
                return "lease " + first_digits(value.lock_id) + " '" + value.owner + "' " +
                       to_string(value.mode) + " " + std::to_string(value.fence);
            } else if constexpr (std::is_same_v<T, std::vector<Lease>>) {
                return std::to_string(value.size()) + " leases";
            } else if constexpr (std::is_same_v<T, HolderPage>) {
                std::string text = "holders";
                for (const Holder& holder : value) text += " " + describe(holder);
                return text;
            } else if constexpr (std::is_same_v<T, HistoryPage>) {
                std::string text = "past";
                for (const PastLease& past : value) {
                    text += " " + describe(past.lease) + " " + to_string(past.how);
                }
                return text;
            } else if constexpr (std::is_same_v<T, Purged>) {
                return "purged " + std::to_string(value.forgotten);
            } else if constexpr (std::is_same_v<T, Refusal>) {
                std::string text = std::string{to_string(value.kind)} + " " +
                                   to_string(value.reason) + " by '" + value.by + "' why '" +
                                   value.why + "'";
                for (const Holder& holder : value.holders) text += " " + describe(holder);
                return text;
            } else if constexpr (std::is_same_v<T, StoreFault>) {
                return std::string{"fault: "} + value.what();
            } else {
                return "no answer";
            }
        },
        outcome);
}

std::string expected_something_else(const char* expected, const Outcome& outcome) {
    return std::string{"expected "} + expected + ", got " + describe(outcome);
}

}  // namespace leasehold::conformance
