#include <leasehold/lock_manager.hpp>
#include <leasehold/store.hpp>

#include <algorithm>
#include <functional>
#include <latch>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/batcher.hpp"
#include "core/delayed_releases.hpp"
#include "core/dots.hpp"
#include "core/durations.hpp"
#include "core/fresh_lock_id.hpp"
#include "core/grant.hpp"
#include "core/out_of_memory.hpp"
#include "core/release_in_parts.hpp"
#include "core/text.hpp"
#include "core/waiting_lines.hpp"

namespace leasehold {
namespace {

// Throws BadRequest if a request exceeds the limits. Changes nothing.
class Bounds {
public:
    explicit Bounds(const Limits& limits) : limits_{limits} {}

    void operator()(const TryLock& r) const {
        grantable(r.key);
        lock_id(r.lock_id);
        terms(r);
    }
    void operator()(const TryLockAll& r) const {
        if (r.keys.empty()) throw BadRequest{"try_lock_all needs at least one key"};
        at_most("the number of keys", r.keys.size(), limits_.keys_at_once);
        if (r.lock_ids.size() != r.keys.size()) throw BadRequest{"each key needs a lock id"};
        for (const LockKey& key : r.keys) grantable(key);
        for (const TryLockId& id : r.lock_ids) lock_id(id);
        if (std::ranges::adjacent_find(r.keys, std::greater_equal<>{}) != r.keys.end()) {
            throw BadRequest{"the keys must be sorted and different"};
        }
        std::vector<LockId> ids{r.lock_ids.begin(), r.lock_ids.end()};
        std::ranges::sort(ids);
        if (std::ranges::adjacent_find(ids) != ids.end()) {
            throw BadRequest{"each key needs a lock id of its own"};
        }
        terms(r);
    }
    void operator()(const Check& r) const { lock_id(r.lock_id); }
    void operator()(const Extend& r) const {
        lock_id(r.lock_id);
        if (r.by <= Duration::zero()) throw BadRequest{"the extension must be more than 0"};
        if (r.by > limits_.max_ttl) too_long("the extension", r.by);
        if (r.max_ttl <= Duration::zero()) throw BadRequest{"max_ttl must be more than 0"};
    }
    void operator()(const Renew& r) const {
        lock_id(r.lock_id);
        ttl("the ttl", r.ttl);
    }
    void operator()(const Release& r) const {
        lock_id(r.lock_id);
        owner(r.by);
    }
    void operator()(const ReleaseAll& r) const {
        if (r.owner.empty())
            throw BadRequest{"release_all needs an owner; anonymous leases have none"};
        owner(r.owner);
        owner(r.by);
        token_id(r.token_id);
    }
    void operator()(const Break& r) const {
        owner(r.by);
        text("the reason", r.reason, Limits::note_bytes);
        if (r.by.empty()) throw BadRequest{"the person who breaks a lock must be named"};
    }
    void operator()(const Holders&) const {}
    void operator()(const List& r) const {
        page(r.limit);
        if (r.type) text("the type", *r.type, Limits::type_bytes);
        if (r.owner) owner(*r.owner);
    }
    void operator()(const History& r) const { page(r.limit); }
    void operator()(const Purge& r) const { page(r.rows); }

private:
    // What a try of one key and a try of several have in common.
    void terms(const auto& r) const {
        owner(r.owner);
        if (r.places) places(*r.places, r.mode);
        ttl("the ttl", r.ttl);
        for_each_field(requested_texts, [&](const auto& field) {
            text("the " + std::string{field.name}, field.of(r), field.max_bytes);
        });
        token_id(r.token_id);
    }
    static void places(std::size_t number, Mode mode) {
        if (number == 0) throw BadRequest{"a key has at least one place"};
        at_most("the number of places", number, Limits::shared_holders);
        if (mode == Mode::exclusive) {
            throw BadRequest{"places are for shared leases, and the mode is exclusive"};
        }
    }
    // Every other request takes such a key, so that leases of older versions can be ended.
    static void grantable(const LockKey& key) {
        if (!has_dots(key)) return;
        throw BadRequest{
            "the key's type and id cannot be '.' or '..': browsers and proxies remove them from a "
            "URL, and the request would reach another route"};
    }
    static void lock_id(LockId id) {
        if (id.is_nil()) throw BadRequest{"the nil lock id names no lease"};
    }
    static void owner(const std::string& owner) { line("the owner", owner, Limits::owner_bytes); }
    static void token_id(const std::string& id) {
        line("the token id", id, Limits::token_id_bytes);
    }
    static void line(std::string_view what, const std::string& text, std::size_t max_bytes) {
        if (auto problem = text_problem(what, text, max_bytes, Lines::one)) {
            throw BadRequest{*problem};
        }
    }
    static void text(std::string_view what, const std::string& text, std::size_t max_bytes) {
        if (auto problem = text_problem(what, text, max_bytes, Lines::many)) {
            throw BadRequest{*problem};
        }
    }
    static void at_most(std::string_view what, std::size_t size, std::size_t max) {
        if (size > max) {
            throw BadRequest{std::string{what} + " is " + std::to_string(size) + "; at most " +
                             std::to_string(max) + " are allowed"};
        }
    }
    void page(std::size_t rows) const {
        if (rows == 0) throw BadRequest{"a page has at least one row"};
        at_most("the size of a page", rows, limits_.page_rows);
    }
    [[noreturn]] void too_long(std::string_view what, Duration duration) const {
        throw BadRequest{std::string{what} + " is " + exactly(duration) + "; at most " +
                         exactly(limits_.max_ttl) + " is allowed"};
    }
    void ttl(std::string_view what, Duration ttl) const {
        if (ttl == until_released) {
            if (limits_.allow_endless) return;
            throw BadRequest{"leases without an expiry are not allowed here: allow_endless is off"};
        }
        if (ttl < limits_.min_ttl) {
            throw BadRequest{std::string{what} + " is " + exactly(ttl) + "; at least " +
                             exactly(limits_.min_ttl) + " is needed"};
        }
        if (ttl > limits_.max_ttl) too_long(what, ttl);
    }

    const Limits& limits_;
};

// Longer times could overflow when they are added to a date.
constexpr Duration longest = std::chrono::years{100};

Limits checked(const Limits& limits) {
    const auto fits = [](Duration time) { return time > Duration::zero() && time <= longest; };
    if (!fits(limits.max_ttl) || !fits(limits.max_hold.value_or(longest))) {
        throw BadRequest{
            "the limits max_ttl and max_hold must be more than 0 and at most 100 years; "
            "max_hold may be left out"};
    }
    const auto no_more_than = [&](std::string_view name, Duration limit) {
        if (limits.min_ttl <= limit) return;
        throw BadRequest{"the limit min_ttl (" + exactly(limits.min_ttl) + ") must not be above " +
                         std::string{name} + " (" + exactly(limit) + ")"};
    };
    no_more_than("max_ttl", limits.max_ttl);
    no_more_than("max_hold", limits.max_hold.value_or(limits.min_ttl));
    return limits;
}

Mode mode_of(const LockOptions& options) {
    return options.places ? Mode::shared : options.mode;
}

}  // namespace

template <class T>
T result_of(Outcome&& outcome) {
    if (auto* fault = std::get_if<StoreFault>(&outcome)) throw StoreFault{*fault};
    auto* refusal = std::get_if<Refusal>(&outcome);
    if constexpr (requires {
                      typename T::value_type;
                      typename T::error_type;
                  }) {
        if (auto* value = std::get_if<typename T::value_type>(&outcome)) return std::move(*value);
        if (refusal != nullptr) return std::unexpected{std::move(*refusal)};
    } else {
        if (auto* value = std::get_if<T>(&outcome)) return std::move(*value);
        if (refusal != nullptr) {
            throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::internal,
                             refusal->message()};
        }
    }
    throw StoreFault{StoreFault::Effect::unknown, StoreFault::Cause::internal,
                     "the store gave no answer to this request"};
}
template Result<Lease> result_of(Outcome&& outcome);
template Result<std::vector<Lease>> result_of(Outcome&& outcome);
template HolderPage result_of(Outcome&& outcome);
template HistoryPage result_of(Outcome&& outcome);
template Purged result_of(Outcome&& outcome);

LockManager::LockManager(std::unique_ptr<Store> store, Limits limits)
    : limits_{checked(limits)},
      store_{std::move(store)},
      batcher_{std::make_unique<Batcher>(*store_, limits_)},
      lines_{std::make_unique<WaitingLines>(*batcher_, *store_)},
      delayed_{std::make_unique<DelayedReleases>([this](Release release) {
          batcher_->submit(std::move(release),
                           [this](const Outcome& outcome) { lines_->ended(outcome); });
      })} {}

LockManager::~LockManager() {
    delayed_->close();
    lines_->close();
    // Answers the tries that the lines have sent.
    batcher_.reset();
}

void LockManager::validate(const Request& request) const {
    std::visit(
        [this]<class R>(const R& r) {
            if constexpr (requires { r.max_hold; }) {
                if (r.max_hold && (*r.max_hold <= Duration::zero() || *r.max_hold > longest)) {
                    throw BadRequest{"max_hold must be more than 0 and at most 100 years"};
                }
            }
            Bounds{limits_}(r);
        },
        request);
}

// Limits that only the store can check are sent along with the request.
void LockManager::apply_limits(Request& request) const {
    std::visit(
        [this]<class R>(R& r) {
            if constexpr (requires { r.max_hold; }) {
                if (limits_.max_hold)
                    r.max_hold = std::min(r.max_hold.value_or(Duration::max()), *limits_.max_hold);
            }
            if constexpr (std::is_same_v<R, Extend>)
                r.max_ttl = std::min(r.max_ttl, limits_.max_ttl);
        },
        request);
}

Outcome LockManager::ask(Request&& request) {
    validate(request);
    apply_limits(request);
    const RequestKind kind = kind_of(request);
    delayed_->sign_of(request);
    Outcome outcome = batcher_->ask(std::move(request));
    if (ends(kind)) lines_->ended(outcome);
    if (takes(kind)) delayed_->sign_of(outcome);
    return outcome;
}

Outcome LockManager::ask_for(Request&& request, Duration patience, std::stop_token stop) {
    validate(request);
    apply_limits(request);
    Outcome outcome = lines_->wait(std::move(request), patience, std::move(stop));
    delayed_->sign_of(outcome);
    return outcome;
}

std::vector<Outcome> LockManager::ask_all(std::vector<Request> requests) {
    std::vector<Outcome> outcomes(requests.size());
    const auto unanswered =
        std::make_shared<std::latch>(static_cast<std::ptrdiff_t>(requests.size()));
    for (std::size_t i = 0; i < requests.size(); ++i) {
        try {
            submit(std::move(requests[i]), [unanswered, &to = outcomes[i]](Outcome outcome) {
                to = std::move(outcome);
                unanswered->count_down();
            });
        } catch (const std::bad_alloc&) {
            outcomes[i] = out_of_memory(StoreFault::Effect::none);
            unanswered->count_down();
        }
    }
    unanswered->wait();
    return outcomes;
}

void LockManager::submit(Request request, std::function<void(Outcome)> reply) {
    validate(request);
    apply_limits(request);
    delayed_->sign_of(request);
    if (delayed_->is_anything_scheduled() && takes(kind_of(request))) {
        reply = [this, reply = std::move(reply)](Outcome outcome) {
            delayed_->sign_of(outcome);
            reply(std::move(outcome));
        };
    }
    if (ends(kind_of(request))) {
        reply = [this, reply = std::move(reply)](Outcome outcome) {
            lines_->ended(outcome);
            reply(std::move(outcome));
        };
    }
    batcher_->submit(std::move(request), std::move(reply));
}

void LockManager::submit_for(Request request, Duration patience, std::function<void(Outcome)> reply,
                             std::stop_token stop) {
    if (!takes(kind_of(request))) throw BadRequest{"only a try can wait for a lock"};
    validate(request);
    apply_limits(request);
    lines_->join(std::move(request), patience, std::move(stop),
                 [this, reply = std::move(reply)](Outcome outcome) {
                     delayed_->sign_of(outcome);
                     reply(std::move(outcome));
                 });
}

TryLock try_request(LockKey key, LockOptions options, const Limits& limits) {
    TryLock request{.key = std::move(key),
                    .lock_id = options.lock_id ? TryLockId{*options.lock_id} : FreshLockId::draw(),
                    .owner = std::move(options.owner),
                    .mode = mode_of(options),
                    .ttl = options.ttl.value_or(limits.default_ttl),
                    .since = options.since,
                    .max_hold = options.max_hold,
                    .places = options.places};
    copy_fields(requested_texts, std::move(options), request);
    return request;
}

TryLockAll try_all_request(std::vector<LockKey> keys, LockOptions options, const Limits& limits) {
    if (options.since || options.lock_id) {
        throw BadRequest{"try_lock_all takes neither `since` nor `lock_id`: they are for one key"};
    }
    std::ranges::sort(keys);
    const auto repeated = std::ranges::unique(keys);
    keys.erase(repeated.begin(), repeated.end());
    std::vector<TryLockId> lock_ids(keys.size());
    std::ranges::generate(lock_ids, FreshLockId::draw);
    TryLockAll request{.keys = std::move(keys),
                       .lock_ids = std::move(lock_ids),
                       .owner = std::move(options.owner),
                       .mode = mode_of(options),
                       .ttl = options.ttl.value_or(limits.default_ttl),
                       .max_hold = options.max_hold,
                       .places = options.places};
    copy_fields(requested_texts, std::move(options), request);
    return request;
}

Result<Lease> LockManager::try_lock(LockKey key, LockOptions options) {
    return result_of<Result<Lease>>(ask(try_request(std::move(key), std::move(options), limits_)));
}

Result<std::vector<Lease>> LockManager::try_lock_all(std::vector<LockKey> keys,
                                                     LockOptions options) {
    return result_of<Result<std::vector<Lease>>>(
        ask(try_all_request(std::move(keys), std::move(options), limits_)));
}

Result<Lease> LockManager::lock_for(LockKey key, Duration patience, LockOptions options,
                                    std::stop_token stop) {
    return result_of<Result<Lease>>(ask_for(
        try_request(std::move(key), std::move(options), limits_), patience, std::move(stop)));
}

Result<std::vector<Lease>> LockManager::lock_all_for(std::vector<LockKey> keys, Duration patience,
                                                     LockOptions options, std::stop_token stop) {
    return result_of<Result<std::vector<Lease>>>(ask_for(
        try_all_request(std::move(keys), std::move(options), limits_), patience, std::move(stop)));
}

Result<Lease> LockManager::check(LockKey key, LockId lock_id) {
    return result_of<Result<Lease>>(ask(Check{std::move(key), lock_id}));
}

Result<Lease> LockManager::check(LockId lock_id) {
    return result_of<Result<Lease>>(ask(Check{{}, lock_id}));
}

Result<Lease> LockManager::extend(LockKey key, LockId lock_id, Duration by) {
    return result_of<Result<Lease>>(
        ask(Extend{.key = std::move(key), .lock_id = lock_id, .by = by}));
}

Result<Lease> LockManager::extend(LockId lock_id, Duration by) {
    return result_of<Result<Lease>>(ask(Extend{.key = {}, .lock_id = lock_id, .by = by}));
}

Result<Lease> LockManager::renew(LockKey key, LockId lock_id, Duration ttl,
                                 std::optional<Duration> max_hold) {
    return result_of<Result<Lease>>(
        ask(Renew{.key = std::move(key), .lock_id = lock_id, .ttl = ttl, .max_hold = max_hold}));
}

Result<Lease> LockManager::renew(LockId lock_id, Duration ttl, std::optional<Duration> max_hold) {
    return result_of<Result<Lease>>(
        ask(Renew{.key = {}, .lock_id = lock_id, .ttl = ttl, .max_hold = max_hold}));
}

Result<Lease> LockManager::release(LockKey key, LockId lock_id) {
    return result_of<Result<Lease>>(ask(Release{std::move(key), lock_id}));
}

Result<Lease> LockManager::release(LockId lock_id) {
    return result_of<Result<Lease>>(ask(Release{{}, lock_id}));
}

void LockManager::wake_waiters(const LockKey& key) {
    lines_->wake({&key, 1});
}

void LockManager::release_after(const Lease& lease, Duration delay) {
    validate(Release{.key = lease.key, .lock_id = lease.lock_id, .if_expires_at = {}, .by = {}});
    delayed_->schedule(lease, std::clamp(delay, Duration::zero(), longest));
}

Result<std::vector<Lease>> LockManager::release_all(std::string owner, OwnerScope scope,
                                                    std::optional<LockKey> key) {
    const ReleaseAll all{std::move(owner), scope, std::move(key)};
    Outcome outcome = ask(all);
    if (!ReleaseInParts::is_needed(outcome)) {
        return result_of<Result<std::vector<Lease>>>(std::move(outcome));
    }
    ReleaseInParts parts{all, limits_};
    while (!parts.is_done()) {
        for (Outcome& one : ask_all(parts.releases_of(ask(parts.next_page())))) {
            parts.collect(std::move(one));
        }
    }
    return result_of<Result<std::vector<Lease>>>(std::move(parts).outcome());
}

Result<Lease> LockManager::break_lock(LockKey key, Fence fence, std::string by,
                                      std::string reason) {
    return result_of<Result<Lease>>(
        ask(Break{std::move(key), fence, std::move(by), std::move(reason)}));
}

HolderPage LockManager::holders(LockKey key) {
    return result_of<HolderPage>(ask(Holders{std::move(key)}));
}

HolderPage LockManager::list(List query) {
    return result_of<HolderPage>(ask(std::move(query)));
}

HistoryPage LockManager::history(History query) {
    return result_of<HistoryPage>(ask(std::move(query)));
}

std::size_t LockManager::purge() {
    std::size_t forgotten = 0;
    // A purge continues where the last one stopped. So: to the last key, and then once through all.
    for (int ends = 0; ends < 2;) {
        const auto slice = result_of<Purged>(ask(Purge{limits_.page_rows}));
        forgotten += slice.forgotten;
        if (slice.complete) ++ends;
    }
    return forgotten;
}

StoreStatus LockManager::status() {
    return store_->status();
}

std::unique_ptr<StoreWatch> LockManager::open_watch() {
    return store_->open_watch();
}

}  // namespace leasehold
