#include "server/waiting/waiting_room.hpp"

#include <boost/asio/dispatch.hpp>

#include <algorithm>
#include <iterator>
#include <list>
#include <new>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include "core/fresh_lock_id.hpp"
#include "core/out_of_memory.hpp"
#include "core/sizes.hpp"

namespace leasehold::server {
namespace {

// Limits how busy many lines keep the store.
constexpr std::chrono::milliseconds poll_per_line{1};

constexpr auto ahead_of_all = Clock::time_point::min();

constexpr auto stopping = "the server is stopping; nothing was granted";
constexpr auto client_gone =
    "the client closed the connection, sent too much, or must connect anew with its certificate; "
    "nothing was granted";

constexpr auto token_changed = "the token was changed while its client waited; nothing was granted";

bool names(const Refusal& refusal, const std::string& owner) {
    return !owner.empty() &&
           std::ranges::find(refusal.holders, owner, &Holder::owner) != refusal.holders.end();
}

bool names_all(const Refusal& refusal) {
    return refusal.holders.size() >= refusal.holders_in_all;
}

}  // namespace

struct WaitingRoom::Waiter {
    TryLock wanted;
    std::string name;  // of the client's token
    Clock::time_point until;
    std::function<bool()> still_allowed{};  // until it is answered
    std::function<void(Outcome)> resume{};  // on the waiter's own executor
    // Where it is in the room, from joining to the answer.
    Clock::time_point since{};
    Line* line = nullptr;
    std::list<WaiterPtr>::iterator place{};
    std::multimap<Clock::time_point, WaiterPtr>::iterator ending{};
    bool has_tried = false;
    bool gone = false;
    bool replaced = false;     // its client repeated the try, which waits in its place
    bool is_namesake = false;  // its owner holds the key with another token
    bool answered = false;

    [[nodiscard]] bool is_still_allowed() const { return !still_allowed || still_allowed(); }
};

struct WaitingRoom::Line {
    explicit Line(LockKey line_key) : key{std::move(line_key)} {}

    LockKey key;
    void now_held_by(const Lease& lease);
    void no_more_held_by(Fence fence);
    void forget_owner_of(const Waiter& waiter) {
        const auto [first, last] = by_owner.equal_range(waiter.wanted.owner);
        const auto at = std::find_if(first, last, [&](auto& one) { return one.second == &waiter; });
        if (at != last) by_owner.erase(at);
    }
    // Behind all that have waited as long or longer.
    std::list<WaiterPtr>::iterator place_for(Clock::time_point since) {
        const auto has_waited = [&](const WaiterPtr& other) { return other->since <= since; };
        return std::ranges::find_if(waiters | std::views::reverse, has_waited).base();
    }

    std::list<WaiterPtr> waiters{};    // the one that has waited longest comes first
    std::optional<Refusal> refusal{};  // the latest, updated with later outcomes
    std::optional<std::multimap<Clock::time_point, Line*>::iterator> due{};
    std::unordered_map<LockId, WaiterPtr> drawn{};  // the tries whose clients drew the lock id
    std::multimap<std::string_view, Waiter*> by_owner{};  // without the anonymous ones
    const Waiter* trying = nullptr;
    bool again = false;  // a lease has ended, or may have
    bool watched = false;
};

void WaitingRoom::Line::now_held_by(const Lease& lease) {
    if (!refusal) return;
    NamedHolders holders;
    if (lease.mode == Mode::shared) holders.add(*std::move(refusal));
    holders.add(holder_of(lease));
    refusal = std::move(holders).refusal(lease.store_now);
}

void WaitingRoom::Line::no_more_held_by(Fence fence) {
    if (!refusal) return;
    const bool all_named = names_all(*refusal);
    const auto named = std::erase_if(refusal->holders,
                                     [&](const Holder& holder) { return holder.fence == fence; });
    // A refusal that does not name all holders may leave out this lease; then only the count
    // changes.
    if (named > 0 || !all_named) --refusal->holders_in_all;
    if (refusal->holders_in_all == 0) refusal.reset();
}

WaitingRoom::WaitingRoom(StoreQueue& store, const OutcomeStream& outcomes, asio::io_context& home,
                         const ServerOptions& options, KeyWatcher::Open watch)
    : store_{store},
      outcomes_{outcomes},
      home_{home},
      options_{options},
      timer_{home.get_executor()},
      watcher_{std::move(watch),
               [this](std::span<const LockKey> keys) { wake({keys.begin(), keys.end()}); }} {}

WaitingRoom::~WaitingRoom() = default;

Task<Outcome> WaitingRoom::wait(TryLock wanted, std::string name, Duration patience,
                                ClientConnection& connection, std::function<bool()> still_allowed) {
    auto waiter = std::make_shared<Waiter>(std::move(wanted), std::move(name),
                                           Clock::now() + patience, std::move(still_allowed));
    auto begin = [&](auto resume) {
        waiter->resume = std::move(resume);
        connection.watch(
            [this, waiter] { asio::dispatch(home_, [this, waiter] { leave(waiter); }); });
        asio::dispatch(home_, [this, waiter] { join_or_refuse(waiter); });
    };
    Outcome outcome = co_await answer_from<Outcome>(begin);
    const bool there = connection.unwatch();
    if (const auto* lease = std::get_if<Lease>(&outcome); lease != nullptr && !there) {
        give_back_unknown(waiter->wanted, *lease, waiter->name);
        outcome = not_sent(client_gone);
    }
    co_return outcome;
}

Task<std::vector<std::string>> WaitingRoom::line_for(const LockKey& key) {
    using Owners = std::vector<std::string>;
    if (lines_open_ == 0) co_return Owners{};
    auto begin = [&](auto resume) {
        asio::dispatch(home_, [this, &key, resume] {
            Owners owners;
            if (const auto found = lines_.find(key); found != lines_.end()) {
                for (const WaiterPtr& waiter : found->second->waiters) {
                    if (owners.size() == options_.waiters_named) break;
                    owners.push_back(waiter->wanted.owner);
                }
            }
            resume(std::move(owners));
        });
    };
    co_return co_await answer_from<Owners>(begin);
}

void WaitingRoom::give_back_unknown(const TryLock& wanted, const Lease& lease,
                                    const std::string& name) {
    const bool unknown = FreshLockId::is_fresh(wanted.lock_id) && wanted.lock_id == lease.lock_id;
    if (!unknown) return;
    Release release{.key = lease.key, .lock_id = lease.lock_id, .by = name};
    store_.submit(home_, std::move(release), Recipient::nobody, {});
}

void WaitingRoom::answered(const Answered& answered) {
    if (!ends(answered.kind)) return;
    if (const auto* lease = std::get_if<Lease>(&answered.outcome)) ended(*lease);
    if (const auto* leases = std::get_if<std::vector<Lease>>(&answered.outcome)) {
        for (const Lease& one : *leases) ended(one);
    }
}

void WaitingRoom::ended(const Lease& lease) {
    if (lines_open_ == 0) return;
    asio::dispatch(home_, [this, key = lease.key, fence = lease.fence] {
        const auto found = lines_.find(key);
        if (found == lines_.end()) return;
        Line& line = *found->second;
        line.no_more_held_by(fence);
        line.again = true;
        serve(line);
    });
}

void WaitingRoom::wake(std::vector<LockKey> keys) {
    asio::dispatch(home_, [this, keys = std::move(keys)] {
        for (const LockKey& key : keys) {
            const auto found = lines_.find(key);
            if (found == lines_.end()) continue;
            found->second->again = true;
            serve(*found->second);
        }
    });
}

Task<std::vector<std::size_t>> WaitingRoom::waiting_for(std::vector<LockKey> keys) {
    using Counts = std::vector<std::size_t>;
    auto begin = [&](auto resume) {
        if (lines_open_ == 0) return resume(Counts(keys.size()));
        asio::dispatch(home_, [this, &keys, resume] {
            Counts waiters(keys.size());
            std::ranges::transform(keys, waiters.begin(), [&](const LockKey& key) {
                const auto found = lines_.find(key);
                return found == lines_.end() ? 0 : found->second->waiters.size();
            });
            resume(std::move(waiters));
        });
    };
    co_return co_await answer_from<Counts>(begin);
}

Task<std::size_t> WaitingRoom::waiting_for(const KeySet& keys) {
    auto begin = [&](auto resume) {
        asio::dispatch(home_, [this, &keys, resume] {
            std::size_t waiters = 0;
            for (const auto& [key, line] : lines_) {
                if (keys.has(key)) waiters += line->waiters.size();
            }
            resume(waiters);
        });
    };
    co_return co_await answer_from<std::size_t>(begin);
}

std::vector<WaitingRoom::WaiterPtr> WaitingRoom::everybody() const {
    std::vector<WaiterPtr> all;
    for (const auto& [key, line] : lines_) {
        std::ranges::copy(line->waiters, std::back_inserter(all));
    }
    return all;
}

void WaitingRoom::send_away_revoked() {
    asio::dispatch(home_, [this] {
        std::vector<WaiterPtr> revoked = everybody();
        std::erase_if(revoked, [](const WaiterPtr& waiter) { return waiter->is_still_allowed(); });
        // Start at the end of each line, so that no revoked try becomes the first.
        for (const WaiterPtr& waiter : revoked | std::views::reverse) {
            if (waiter->line->trying == waiter.get()) {
                end_patience(waiter);
            } else {
                answer(waiter, not_sent(token_changed));
            }
        }
        set_timer();
    });
}

void WaitingRoom::close() {
    asio::dispatch(home_, [this] {
        closed_ = true;
        for (const WaiterPtr& waiter : everybody()) {
            if (waiter->line->trying != waiter.get()) answer(waiter, not_sent(stopping));
        }
        timer_.cancel();
        timer_at_ = Clock::time_point::max();
    });
}

void WaitingRoom::join_or_refuse(const WaiterPtr& waiter) {
    ++waiting_;
    try {
        join(waiter);
    } catch (const std::bad_alloc&) {
        if (waiter->answered || waiter->line != nullptr) return;
        // It may be in some of the lists.
        std::erase_if(ending_, [&](const auto& one) { return one.second == waiter; });
        if (const auto at = lines_.find(waiter->wanted.key); at != lines_.end() && at->second) {
            at->second->forget_owner_of(*waiter);
            at->second->waiters.remove(waiter);
            std::erase_if(at->second->drawn, [&](const auto& one) { return one.second == waiter; });
        }
        answer(waiter, out_of_memory(StoreFault::Effect::none));
    }
}

void WaitingRoom::join(const WaiterPtr& waiter) {
    if (closed_) return answer(waiter, not_sent(stopping));
    if (!waiter->is_still_allowed()) return answer(waiter, not_sent(token_changed));
    if (waiting_ > options_.waiters)
        return answer(waiter, not_sent("too many tries wait already; nothing was granted"));
    auto& line = lines_[waiter->wanted.key];
    if (!line) {
        line = std::make_unique<Line>(waiter->wanted.key);
        ++lines_open_;
    }
    const WaiterPtr before = same_try(*line, waiter->wanted);
    waiter->since = before ? before->since : waits_since(*line, *waiter);
    if (!waiter->wanted.owner.empty()) {
        line->by_owner.emplace(waiter->wanted.owner, waiter.get());
    }
    waiter->place = line->waiters.insert(line->place_for(waiter->since), waiter);
    waiter->ending = ending_.emplace(waiter->until, waiter);
    if (!FreshLockId::is_fresh(waiter->wanted.lock_id))
        line->drawn[waiter->wanted.lock_id] = waiter;
    waiter->line = line.get();
    if (before) {
        waiter->has_tried = before->has_tried;
        before->replaced = true;
        end_patience(before);
    }
    serve(*line);
    set_timer();
}

WaitingRoom::WaiterPtr WaitingRoom::same_try(const Line& line, const TryLock& wanted) {
    if (FreshLockId::is_fresh(wanted.lock_id)) return nullptr;
    const auto found = line.drawn.find(wanted.lock_id);
    return found == line.drawn.end() ? nullptr : found->second;
}

Clock::time_point WaitingRoom::waits_since(const Line& line, const Waiter& waiter) {
    // An owner that holds the key already need not wait for itself.
    if (line.refusal && names(*line.refusal, waiter.wanted.owner)) return ahead_of_all;
    return kept_places_.take(waiter.wanted, Clock::now());
}

void WaitingRoom::put_holders_first(Line& line) {
    for (const Holder& holder : line.refusal->holders) {
        if (holder.owner.empty()) continue;
        const auto [first, last] = line.by_owner.equal_range(holder.owner);
        for (auto at = first; at != last; ++at) {
            Waiter& waiter = *at->second;
            if (waiter.since == ahead_of_all || waiter.is_namesake) continue;
            waiter.since = ahead_of_all;
            line.waiters.splice(line.waiters.begin(), line.waiters, waiter.place);
        }
    }
}

void WaitingRoom::leave(const WaiterPtr& waiter) {
    waiter->gone = true;
    // The answer to a try under way says whether there is a lease to give back.
    if (waiter->answered || waiter->line->trying == waiter.get()) return;
    answer(waiter, not_sent(client_gone));
}

void WaitingRoom::answer(WaiterPtr waiter, Outcome outcome) {
    --waiting_;
    waiter->answered = true;
    const bool refused = std::holds_alternative<Refusal>(outcome);
    // A try that was replaced, or whose client has gone, has nobody to refuse.
    if (refused && !waiter->gone && !waiter->replaced) {
        outcomes_.publish({RequestKind::try_lock, waiter->wanted.owner, outcome});
    }
    std::exchange(waiter->resume, {})(std::move(outcome));
    Line* const line = waiter->line;
    if (line == nullptr) return;
    ending_.erase(waiter->ending);
    line->forget_owner_of(*waiter);
    line->waiters.erase(waiter->place);
    if (const auto drawn = line->drawn.find(waiter->wanted.lock_id);
        drawn != line->drawn.end() && drawn->second == waiter) {
        line->drawn.erase(drawn);
        if (refused && waiter->since != ahead_of_all) {
            kept_places_.keep(waiter->wanted, waiter->since, Clock::now());
        }
    }
    serve(*line);
}

void WaitingRoom::serve(Line& line) {
    if (line.trying != nullptr) return;
    if (line.waiters.empty()) {
        if (line.due) due_.erase(*line.due);
        if (line.watched) watcher_.remove(line.key);
        --lines_open_;
        lines_.erase(LockKey{line.key});
        return;
    }
    const WaiterPtr first = line.waiters.front();
    if (closed_ || (first->has_tried && !line.again)) return;
    try {
        // The answer comes in a later turn of the event loop.
        store_.submit(home_, first->wanted, Recipient::nobody,
                      [this, first](Outcome outcome) { tried(first, std::move(outcome)); });
    } catch (const std::bad_alloc&) {
        line.again = true;
        do_for_certain([&] { schedule(line, Clock::now() + options_.wait_poll); });
        return;
    }
    line.again = false;
    line.trying = first.get();
    first->has_tried = true;
}

void WaitingRoom::tried(const WaiterPtr& waiter, Outcome outcome) {
    Line& line = *waiter->line;
    const auto* refusal = std::get_if<Refusal>(&outcome);
    const bool final = refusal == nullptr || refusal->kind == Refusal::Kind::gone;
    if (!final) {
        // Refused although its owner holds the key: with another token. The lease is not the
        // waiter's own.
        const bool is_namesake = names(*refusal, waiter->wanted.owner);
        if (is_namesake) waiter->is_namesake = true;
        const bool names_more = !line.refusal || !names_all(*line.refusal);
        line.refusal = *refusal;
        if (names_more) put_holders_first(line);
        schedule(line, next_try(*refusal));
        if (!std::exchange(line.watched, true)) watcher_.add(line.key);
        if (is_namesake && waiter->since == ahead_of_all) {
            waiter->since = kept_places_.take(waiter->wanted, Clock::now());
            const auto place = line.place_for(waiter->since);
            line.waiters.splice(place, line.waiters, waiter->place);
            waiter->has_tried = line.waiters.front() == waiter;
        }
    }
    if (const auto* lease = std::get_if<Lease>(&outcome)) {
        line.now_held_by(*lease);
        if (waiter->gone) {
            give_back_unknown(waiter->wanted, *lease, waiter->name);
            outcome = not_sent(client_gone);
        }
    }
    if (!final && waiter->gone) outcome = not_sent(client_gone);
    if (!final && closed_) outcome = not_sent(stopping);
    line.trying = nullptr;
    const bool patient = !closed_ && !waiter->gone && Clock::now() < waiter->until;
    if (!final && patient) {
        serve(line);
    } else {
        answer(waiter, std::move(outcome));
    }
    set_timer();
}

Clock::time_point WaitingRoom::next_try(const Refusal& refusal) const {
    const auto now = Clock::now();
    auto due = now + std::max<Clock::duration>(options_.wait_poll, lines_.size() * poll_per_line);
    for (const Holder& holder : refusal.holders) {
        if (holder.expires_at == never) continue;
        const auto left = std::max(holder.expires_at - refusal.store_now, Duration::zero());
        due = std::min(due,
                       now + std::chrono::duration_cast<Clock::duration>(left) + behind_the_expiry);
    }
    return due;
}

void WaitingRoom::schedule(Line& line, Clock::time_point due) {
    if (line.due) due_.erase(*line.due);
    line.due = due_.emplace(due, &line);
}

void WaitingRoom::set_timer() {
    auto at = Clock::time_point::max();
    if (!due_.empty()) at = due_.begin()->first;
    if (!ending_.empty()) at = std::min(at, ending_.begin()->first);
    if (at >= timer_at_) return;
    timer_at_ = at;
    timer_.expires_at(at);
    timer_.async_wait([this](boost::system::error_code error) {
        if (!error) on_time();
    });
}

void WaitingRoom::end_patience(const WaiterPtr& waiter) {
    if (waiter->line->refusal && waiter->line->trying != waiter.get()) {
        answer(waiter, *waiter->line->refusal);
        return;
    }
    // The try that is under way answers it.
    const auto now = Clock::now();
    waiter->until = std::min(waiter->until, now);
    ending_.erase(waiter->ending);
    waiter->ending = ending_.emplace(now + options_.wait_poll, waiter);
}

void WaitingRoom::on_time() {
    timer_at_ = Clock::time_point::max();
    const auto now = Clock::now();
    while (!ending_.empty() && ending_.begin()->first <= now) {
        const WaiterPtr waiter = ending_.begin()->second;
        end_patience(waiter);
    }
    while (!due_.empty() && due_.begin()->first <= now) {
        Line& line = *due_.begin()->second;
        due_.erase(due_.begin());
        line.due.reset();
        line.again = true;
        serve(line);
    }
    set_timer();
}

}  // namespace leasehold::server
