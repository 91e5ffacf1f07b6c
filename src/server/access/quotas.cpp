#include "server/access/quotas.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <ratio>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "core/grant.hpp"
#include "core/keyed_hash.hpp"
#include "core/request_traits.hpp"
#include "server/http/phrases.hpp"

namespace leasehold::server {
namespace {

using std::chrono::steady_clock;

// How many owners are counted. Further ones are limited only by the quotas of their token.
constexpr std::size_t most_owners = 100'000;
// More tokens than this are looked through for some that use nothing: every bearer of a JWT is one.
constexpr std::size_t usual_tokens = 10'000;
// Bounds the cost of looking for owners that use nothing.
constexpr std::chrono::seconds between_owner_sweeps{1};
// How long a lease without an expiry counts after it was last renewed.
constexpr std::chrono::hours endless_counts{24};
// The bytes of a stored lease besides its texts: lock id, fence, times, indexes.
constexpr std::uint64_t bytes_besides_texts = 256;

constexpr std::array per_day{Quota::grants_per_day, Quota::bytes_per_day};
// What a try counts for.
constexpr std::array of_grants{Quota::leases, Quota::grants_per_day, Quota::bytes_per_day};

bool is_per_day(Quota quota) {
    return std::ranges::find(per_day, quota) != per_day.end();
}

// Rounds up: a unit of which a part is used counts as used.
std::uint64_t whole(double used) {
    return static_cast<std::uint64_t>(std::ceil(used));
}

// How much a try needs of each quota.
using Amounts = EnumArray<Quota, std::uint64_t>;

Amounts amounts_of(const Request& wanted) {
    Amounts amounts;
    const auto add = [&](const auto& tried) {
        std::uint64_t bytes = bytes_besides_texts + tried.owner.size();
        for_each_field(requested_texts,
                       [&](const auto& field) { bytes += field.of(tried).size(); });
        for (const LockKey& key : tried_keys(tried)) {
            ++amounts[Quota::leases];
            ++amounts[Quota::grants_per_day];
            amounts[Quota::bytes_per_day] += key.type().size() + key.id().size() + bytes;
        }
    };
    if (const auto* one = std::get_if<TryLock>(&wanted)) add(*one);
    if (const auto* all = std::get_if<TryLockAll>(&wanted)) add(*all);
    return amounts;
}

// The owner down to its first name below the token's own owner.
std::string_view counted_owner(const Token& token, std::string_view owner) {
    const bool below = owner.starts_with(token.owner) && owner.size() > token.owner.size() &&
                       owner[token.owner.size()] == '/';
    const std::size_t from = below && !token.owner.empty() ? token.owner.size() + 1 : 0;
    return owner.substr(0, std::min(owner.find('/', from), owner.size()));
}

// The public name of a lease.
struct LeaseName {
    LockKey key;
    Fence fence;

    friend bool operator==(const LeaseName&, const LeaseName&) = default;
};
struct HashOfLeaseName {
    std::size_t operator()(const LeaseName& name) const noexcept {
        return std::hash<LockKey>{}(name.key) ^ static_cast<std::size_t>(name.fence);
    }
};

// Most of the leases that ended lately: a later ending may take the place of an earlier one.
class EndedLately {
public:
    void add(const LeaseName& name) noexcept { place_of(name) = HashOfLeaseName{}(name); }
    [[nodiscard]] bool has(const LeaseName& name) noexcept {
        return place_of(name) == HashOfLeaseName{}(name);
    }

private:
    [[nodiscard]] std::size_t& place_of(const LeaseName& name) noexcept {
        return hashes_[HashOfLeaseName{}(name) % hashes_.size()];
    }

    std::array<std::size_t, 8192> hashes_{};
};

}  // namespace

class Quotas::Accounts {
public:
    explicit Accounts(const ServerOptions& options) : options_{options} {}

    struct Account {
        EnumArray<Quota, double> used{};
        QuotaLimits limits{};  // the latest
        steady_clock::time_point at{};
    };
    // The accounts of a token and of one of its owners. One that does not count is nullptr.
    struct Pair {
        Account* token = nullptr;
        Account* owner = nullptr;
    };

    Pair pair_of(const Token& token, std::string_view owner, Moment now) {
        if (tokens_.size() >= most_tokens_) forget_idle_tokens(now);
        Account& account = tokens_[id_of(token)];
        account.limits = limits_of(token);
        drain(account, now);
        return {&account, owner_account(token, account.limits, owner, now)};
    }

    // The problem if the amount does not fit.
    std::optional<Problem> problem_of(const Pair& pair, Quota quota, std::uint64_t amount,
                                      const Token& token, std::string_view owner) {
        const auto refused = [&](const Account& account, const Phrase& phrase,
                                 std::string_view name) {
            ++refusals_[quota];
            return problem(account, quota, amount, phrase, name);
        };
        if (!fits(*pair.token, quota, amount)) {
            return refused(*pair.token, phrases::token_quota, token.name);
        }
        if (pair.owner != nullptr && !fits(*pair.owner, quota, amount)) {
            return refused(*pair.owner, phrases::owner_quota, counted_owner(token, owner));
        }
        if (!leaves_places(*pair.token, quota)) {
            ++refusals_[quota];
            return full(quota, token);
        }
        return std::nullopt;
    }

    // The same for the owner alone.
    std::optional<Problem> problem_of_owner(const Pair& pair, Quota quota, const Token& token,
                                            std::string_view owner) {
        if (pair.owner == nullptr || fits(*pair.owner, quota, 1)) return std::nullopt;
        ++refusals_[quota];
        return problem(*pair.owner, quota, 1, phrases::owner_quota, counted_owner(token, owner));
    }

    void add(const Pair& pair, Quota quota, double amount) {
        for (Account* const account : {pair.token, pair.owner}) {
            if (account == nullptr) continue;
            account->used[quota] = std::max(0.0, account->used[quota] + amount);
        }
        // A place of an owner is also a place of its token, which counts it in all.
        if (pair.token != nullptr) in_all_[quota] += amount;
    }

    // The client has its lease in any case: for lack of memory it is not counted.
    void count(const Pair& pair, const Lease& lease, Moment now) noexcept try {
        const LeaseName name{lease.key, lease.fence};
        if (ended_.has(name)) return;
        const Moment until = end_of(lease, now);
        const auto known = by_lock_id_.find(lease.lock_id);
        if (known != by_lock_id_.end() && known->second != name) {
            if (is_older(name, known->second)) return;
            rename(known->second, name);
        }
        if (const auto found = live_.find(name); found != live_.end()) {
            // The answer to a try may come after that to a renewal, which never shortens a lease.
            if (until <= found->second.expiry->first) return;
            auto node = expiries_.extract(found->second.expiry);
            node.key() = until;
            found->second.expiry = expiries_.insert(std::move(node));
            return;
        }
        live_.emplace(name, Live{pair, expiries_.emplace(until, name), lease.lock_id});
        add(pair, Quota::leases, 1);
        if (lease.lock_id != LockId{}) by_lock_id_.emplace(lease.lock_id, name);
    } catch (const std::bad_alloc&) {
    }

    void forget(const Lease& lease) {
        const LeaseName name{lease.key, lease.fence};
        ended_.add(name);
        if (const auto found = live_.find(name); found != live_.end()) forget(found);
    }

    void forget_expired(Moment now) {
        while (!expiries_.empty() && expiries_.begin()->first <= now) {
            const auto found = live_.find(expiries_.begin()->second);
            if (found != live_.end()) {
                forget(found);
            } else {
                expiries_.erase(expiries_.begin());
            }
        }
    }

    EnumArray<Quota, QuotaUse> use_of(const Token& token, Moment now) {
        forget_expired(now);
        const Pair pair = pair_of(token, {}, now);
        EnumArray<Quota, QuotaUse> use;
        for (const auto& [quota, traits] : quota_traits) {
            use[quota] = {whole(pair.token->used[quota]), pair.token->limits[quota]};
        }
        return use;
    }

    [[nodiscard]] std::size_t tokens() const noexcept { return tokens_.size(); }

    QuotaLevels levels(Moment now) {
        forget_expired(now);
        QuotaLevels levels;
        for (auto& [name, account] : tokens_) {
            drain(account, now);
            for (const auto& [quota, traits] : quota_traits) {
                QuotaLevel& level = levels[quota];
                level.used += whole(account.used[quota]);
                const auto limit = static_cast<double>(account.limits[quota]);
                if (limit > 0) level.fullest = std::max(level.fullest, account.used[quota] / limit);
            }
        }
        for (const auto& [quota, traits] : quota_traits) levels[quota].refusals = refusals_[quota];
        return levels;
    }

    std::mutex mutex;  // guards everything here

private:
    using ByName = std::unordered_map<std::string, Account, KeyedTextHash>;
    struct Live {
        Pair pair;
        std::multimap<Moment, LeaseName>::iterator expiry;
        LockId lock_id;
    };
    using LiveLeases = std::unordered_map<LeaseName, Live, HashOfLeaseName>;

    void forget(LiveLeases::iterator live) {
        add(live->second.pair, Quota::leases, -1);
        expiries_.erase(live->second.expiry);
        by_lock_id_.erase(live->second.lock_id);
        live_.erase(live);
    }

    // Whether the answer that has this name is older than the one that has the other.
    static bool is_older(const LeaseName& name, const LeaseName& other) {
        return name.key == other.key && name.fence < other.fence;
    }

    // `name` is a reference to a name in by_lock_id_.
    void rename(LeaseName& name, const LeaseName& to) {
        auto node = live_.extract(name);
        name = to;
        node.mapped().expiry->second = to;
        node.key() = to;
        const auto renamed = live_.insert(std::move(node));
        if (renamed.inserted) return;
        // For lack of memory the lease was counted without its lock id, and so it was counted
        // twice.
        add(renamed.node.mapped().pair, Quota::leases, -1);
        expiries_.erase(renamed.node.mapped().expiry);
    }

    [[nodiscard]] QuotaLimits limits_of(const Token& token) const {
        QuotaLimits limits = options_.quotas;
        token.quotas.for_each([&](Quota quota, const std::optional<std::uint64_t>& own) {
            if (own) limits[quota] = *own;
        });
        return limits;
    }

    // What was used of the quotas of a day comes back steadily.
    static void drain(Account& account, Moment now) {
        if (now <= account.at) return;
        const std::chrono::duration<double, std::ratio<86400>> days = now - account.at;
        account.at = now;
        for (const Quota quota : per_day) {
            double& used = account.used[quota];
            const auto limit = static_cast<double>(account.limits[quota]);
            used = std::max(0.0, used - (limit > 0 ? limit : used) * days.count());
        }
    }

    Account* owner_account(const Token& token, const QuotaLimits& limits, std::string_view owner,
                           Moment now) {
        if (owner.empty() || options_.owner_share >= 100) return nullptr;
        std::string name = id_of(token) + '\n';
        name += counted_owner(token, owner);
        auto found = owners_.find(name);
        if (found == owners_.end()) {
            if (owners_.size() >= most_owners) forget_idle_owners(now);
            if (owners_.size() >= most_owners) return nullptr;
            found = owners_.emplace(std::move(name), Account{}).first;
        }
        Account& account = found->second;
        for (const auto& [quota, traits] : quota_traits) {
            account.limits[quota] = share_of(limits[quota]);
        }
        drain(account, now);
        return &account;
    }

    [[nodiscard]] std::uint64_t share_of(std::uint64_t limit) const {
        const double share =
            static_cast<double>(limit) * 0.01 * static_cast<double>(options_.owner_share);
        return limit == 0 ? 0 : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(share));
    }

    // The next time only if there are twice as many as were left.
    void forget_idle_tokens(Moment now) {
        forget_idle(tokens_, now);
        most_tokens_ = std::max(usual_tokens, 2 * tokens_.size());
    }

    void forget_idle_owners(Moment now) {
        if (now < next_owner_sweep_) return;
        next_owner_sweep_ = now + between_owner_sweeps;
        forget_idle(owners_, now);
    }

    // What counts for an account keeps it: nothing refers to one that uses nothing.
    static void forget_idle(ByName& accounts, Moment now) {
        for (auto& [name, account] : accounts) drain(account, now);
        std::erase_if(accounts, [](const auto& one) {
            bool idle = true;
            one.second.used.for_each([&](Quota, double used) { idle = idle && used < 1; });
            return idle;
        });
    }

    static bool fits(const Account& account, Quota quota, std::uint64_t amount) {
        const std::uint64_t limit = account.limits[quota];
        return limit == 0 ||
               account.used[quota] + static_cast<double>(amount) <= static_cast<double>(limit);
    }

    // Rule 5 of the class.
    [[nodiscard]] bool leaves_places(const Account& account, Quota quota) const {
        const std::optional<std::size_t> places = places_for(quota);
        return !places || account.used[quota] < static_cast<double>(*places) - in_all_[quota];
    }

    [[nodiscard]] std::optional<std::size_t> places_for(Quota quota) const {
        switch (quota) {
            case Quota::waiters: return options_.waiters;
            case Quota::event_streams: return options_.events_clients;
            case Quota::delayed_releases: return options_.delayed_releases;
            case Quota::connections: return options_.connections;
            case Quota::leases:
            case Quota::grants_per_day:
            case Quota::bytes_per_day: break;
        }
        return std::nullopt;
    }

    static Problem quota_problem(Quota quota, std::uint64_t limit, Detail detail) {
        constexpr unsigned soon_s = 10;
        return {.status = 429,
                .code = "quota_exceeded",
                .detail = std::move(detail),
                .facts = {{"quota", quota_traits[quota].name}, {"limit", limit}},
                .retry_after_s = soon_s};
    }

    static Problem problem(const Account& account, Quota quota, std::uint64_t amount,
                           const Phrase& phrase, std::string_view name) {
        const QuotaTraits& traits = quota_traits[quota];
        const std::uint64_t limit = account.limits[quota];
        Problem refused =
            quota_problem(quota, limit, Detail::written_by([&](Language language) {
                              return phrase.in(language, {{"name", name},
                                                          {"quota", traits.name},
                                                          {"limit", std::to_string(limit)},
                                                          {"what", traits.what.in(language)},
                                                          {"remedy", traits.remedy.in(language)}});
                          }));
        if (is_per_day(quota)) {
            constexpr double day_s = 86400;
            const double over =
                account.used[quota] + static_cast<double>(amount) - static_cast<double>(limit);
            refused.retry_after_s = static_cast<unsigned>(
                std::clamp(over * day_s / static_cast<double>(limit) + 1, 1.0, day_s));
        }
        return refused;
    }

    [[nodiscard]] Problem full(Quota quota, const Token& token) const {
        const QuotaTraits& traits = quota_traits[quota];
        const auto limit = static_cast<std::uint64_t>(tokens_.at(id_of(token)).used[quota]);
        return quota_problem(quota, limit, Detail::written_by([&](Language language) {
                                 return phrases::few_places.in(
                                     language, {{"what", traits.what.in(language)},
                                                {"name", token.name},
                                                {"limit", std::to_string(limit)},
                                                {"remedy", traits.remedy.in(language)}});
                             }));
    }

    static Moment end_of(const Lease& lease, Moment now) {
        const Duration longest = std::chrono::years{1};
        const auto remaining = lease.remaining();
        const Duration left =
            std::clamp(remaining.value_or(endless_counts), Duration::zero(), longest);
        return now + std::chrono::duration_cast<steady_clock::duration>(left);
    }

    const ServerOptions& options_;
    ByName tokens_;
    // By the id of the token and the owner.
    ByName owners_;
    std::size_t most_tokens_ = usual_tokens;
    Moment next_owner_sweep_{};
    LiveLeases live_;
    // The names of the leases in live_. A lease that becomes exclusive gets another fence, and
    // keeps its lock id.
    std::unordered_map<LockId, LeaseName> by_lock_id_;
    std::multimap<Moment, LeaseName> expiries_;  // of every lease in live_
    EndedLately ended_;
    EnumArray<Quota, double> in_all_{};
    EnumArray<Quota, std::uint64_t> refusals_{};
};

struct Quotas::Reservation::Counted {
    std::shared_ptr<Accounts> accounts;
    Accounts::Pair pair;
    Amounts amounts;

    // Under the mutex.
    void give_back(std::span<const Quota> quotas) {
        for (const Quota quota : quotas) {
            accounts->add(pair, quota, -static_cast<double>(amounts[quota]));
            amounts[quota] = 0;
        }
    }
};

Quotas::Reservation::Reservation(std::unique_ptr<Counted> counted) : counted_{std::move(counted)} {}

Quotas::Reservation::Reservation(Reservation&& other) noexcept = default;

Quotas::Reservation::~Reservation() {
    if (!counted_) return;
    const std::lock_guard lock{counted_->accounts->mutex};
    counted_->give_back(of_grants);
}

void Quotas::Reservation::settle(const Outcome& outcome, Faults faults) {
    const std::unique_ptr<Counted> counted = std::move(counted_);
    Accounts& accounts = *counted->accounts;
    const Moment now = steady_clock::now();
    const std::lock_guard lock{accounts.mutex};
    std::span<const Lease> leases;
    if (const auto* one = std::get_if<Lease>(&outcome)) leases = {one, 1};
    if (const auto* all = std::get_if<std::vector<Lease>>(&outcome)) leases = *all;
    const auto* const fault = std::get_if<StoreFault>(&outcome);
    const bool may_be_granted =
        fault != nullptr &&
        (faults == Faults::may_follow_a_grant || fault->effect() == StoreFault::Effect::unknown);
    const bool granted = std::ranges::any_of(
        leases, [](const Lease& lease) { return lease.granted_at == lease.store_now; });
    if (granted || may_be_granted) {
        constexpr std::array live{Quota::leases};
        counted->give_back(live);
    } else {
        counted->give_back(of_grants);
    }
    for (const Lease& lease : leases) accounts.count(counted->pair, lease, now);
}

Quotas::Quotas(const ServerOptions& options) : accounts_{std::make_shared<Accounts>(options)} {}

Quotas::~Quotas() = default;

// A place that counts for the accounts in `pair` once it is taken.
struct Quotas::Entered {
    std::shared_ptr<Accounts> accounts;
    Quota quota;
    Accounts::Pair pair{};

    Entered(std::shared_ptr<Accounts> in, Quota of) : accounts{std::move(in)}, quota{of} {}
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;
    ~Entered() {
        if (pair.token == nullptr && pair.owner == nullptr) return;
        const std::lock_guard lock{accounts->mutex};
        accounts->add(pair, quota, -1);
    }

    // Under the mutex.
    void take(const Accounts::Pair& by) noexcept {
        pair = by;
        accounts->add(pair, quota, 1);
    }
};

// The place is allocated before the mutex is locked, and so it is destroyed after the mutex is
// unlocked: without memory, or without a place, it locks nothing.
std::expected<Quotas::Place, Problem> Quotas::enter(const Token& token, Quota quota,
                                                    std::string_view owner) {
    auto place = std::make_shared<Entered>(accounts_, quota);
    const std::lock_guard lock{accounts_->mutex};
    const Accounts::Pair pair = accounts_->pair_of(token, owner, steady_clock::now());
    if (auto problem = accounts_->problem_of(pair, quota, 1, token, owner)) {
        return std::unexpected{*std::move(problem)};
    }
    place->take(pair);
    return place;
}

std::expected<Quotas::Place, Problem> Quotas::enter_as(const Token& token, Quota quota,
                                                       std::string_view owner) {
    auto place = std::make_shared<Entered>(accounts_, quota);
    const std::lock_guard lock{accounts_->mutex};
    const Accounts::Pair pair = accounts_->pair_of(token, owner, steady_clock::now());
    if (pair.owner == nullptr) return Place{};
    if (auto problem = accounts_->problem_of_owner(pair, quota, token, owner)) {
        return std::unexpected{*std::move(problem)};
    }
    place->take({.owner = pair.owner});
    return place;
}

std::expected<Quotas::Reservation, Problem> Quotas::reserve(const Token& token,
                                                            const Request& wanted, Moment now) {
    const Amounts amounts = amounts_of(wanted);
    const std::string* const named = owner_of(wanted);
    const std::string_view owner = named != nullptr ? std::string_view{*named} : std::string_view{};
    auto counted = std::make_unique<Reservation::Counted>(accounts_, Accounts::Pair{}, amounts);
    const std::lock_guard lock{accounts_->mutex};
    accounts_->forget_expired(now);
    counted->pair = accounts_->pair_of(token, owner, now);
    for (const Quota quota : of_grants) {
        if (amounts[quota] == 0) continue;
        auto problem = accounts_->problem_of(counted->pair, quota, amounts[quota], token, owner);
        if (problem) return std::unexpected{*std::move(problem)};
    }
    for (const Quota quota : of_grants) {
        accounts_->add(counted->pair, quota, static_cast<double>(amounts[quota]));
    }
    return Reservation{std::move(counted)};
}

void Quotas::prolonged(const Token& token, const Lease& lease, Moment now) {
    const std::lock_guard lock{accounts_->mutex};
    accounts_->count(accounts_->pair_of(token, lease.owner, now), lease, now);
}

void Quotas::answered(const Answered& answered) {
    if (!ends(answered.kind)) return;
    const std::lock_guard lock{accounts_->mutex};
    if (const auto* lease = std::get_if<Lease>(&answered.outcome)) accounts_->forget(*lease);
    if (const auto* leases = std::get_if<std::vector<Lease>>(&answered.outcome)) {
        for (const Lease& lease : *leases) accounts_->forget(lease);
    }
}

EnumArray<Quota, QuotaUse> Quotas::use_of(const Token& token, Moment now) {
    const std::lock_guard lock{accounts_->mutex};
    return accounts_->use_of(token, now);
}

std::size_t Quotas::tokens() const {
    const std::lock_guard lock{accounts_->mutex};
    return accounts_->tokens();
}

QuotaLevels Quotas::levels(Moment now) {
    const std::lock_guard lock{accounts_->mutex};
    return accounts_->levels(now);
}

}  // namespace leasehold::server
