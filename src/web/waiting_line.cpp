#include "web/waiting_line.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace leasehold::web {
namespace {

// The try of a place ends with the place; this only bounds it.
constexpr std::chrono::hours longest_place{24};
constexpr std::chrono::seconds longest_pause{10};

}  // namespace

WaitingLine::WaitingLine(LockManager& locks, const LockRoutesOptions& options)
    : locks_{locks},
      options_{options},
      thread_{[this](const std::stop_token& stop) { look_after_places(stop); }} {}

WaitingLine::~WaitingLine() {
    close();
    thread_.request_stop();
    thread_.join();
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return unanswered_ == 0; });
}

bool WaitingLine::wait(TryLock wanted, Duration patience, const std::stop_token& client_gone,
                       Reply reply) {
    locks_.validate(wanted);
    PlacePtr place;
    bool is_new = false;
    std::uint64_t number = 0;
    {
        const std::scoped_lock lock{mutex_};
        if (waiting_ >= options_.waiting) return false;
        place = find(wanted.key, wanted.owner);
        is_new = place == nullptr;
        if (is_new) {
            place = std::make_shared<Place>(Place{.wanted = wanted});
            lines_[wanted.key].push_back(place);
            ++unanswered_;
        }
        if (!has(*place, wanted.lock_id)) place->lock_ids.push_back(wanted.lock_id);
        number = ++numbers_;
        place->asking.push_back(
            {.number = number,
             .until = SteadyClock::now() +
                      (closed_ ? Duration::zero() : std::min(patience, options_.longest_wait)),
             .reply = std::move(reply)});
        ++waiting_;
    }
    changed_.notify_all();
    if (is_new) start(place);
    if (!client_gone.stop_possible()) return true;
    auto on_gone = std::make_unique<std::stop_callback<std::function<void()>>>(
        client_gone, [this, place, number] { leave(place, number); });
    const std::scoped_lock lock{mutex_};
    const auto asking = std::ranges::find(place->asking, number, &Asking::number);
    if (asking != place->asking.end()) asking->on_gone = std::move(on_gone);
    return true;
}

void WaitingLine::start(const PlacePtr& place) {
    try {
        locks_.submit_for(
            place->wanted, longest_place,
            [this, place](Outcome outcome) { answered(place, std::move(outcome)); },
            place->stop.get_token());
    } catch (const std::bad_alloc&) {
        answered(place, StoreFault{StoreFault::Effect::none, StoreFault::Cause::unavailable,
                                   "there is no memory to wait with"});
    }
}

void WaitingLine::withdraw(const LockKey& key, LockId lock_id, const Visitor& who) {
    PlacePtr withdrawn;
    {
        const std::scoped_lock lock{mutex_};
        const auto line = lines_.find(key);
        if (line == lines_.end()) return;
        for (const PlacePtr& place : line->second) {
            if (who.owns(place->wanted.owner) && has(*place, lock_id)) withdrawn = place;
        }
    }
    if (withdrawn) give_up(withdrawn);
}

std::vector<std::string> WaitingLine::owners(const LockKey& key) const {
    const std::scoped_lock lock{mutex_};
    std::vector<std::string> owners;
    const auto line = lines_.find(key);
    if (line == lines_.end()) return owners;
    for (const PlacePtr& place : line->second) owners.push_back(place->wanted.owner);
    return owners;
}

void WaitingLine::close() {
    std::vector<PlacePtr> places;
    {
        const std::scoped_lock lock{mutex_};
        closed_ = true;
        for (const auto& [key, line] : lines_)
            places.insert(places.end(), line.begin(), line.end());
    }
    for (const PlacePtr& place : places) give_up(place);
}

bool WaitingLine::has(const Place& place, LockId lock_id) {
    return std::ranges::find(place.lock_ids, lock_id) != place.lock_ids.end();
}

WaitingLine::PlacePtr WaitingLine::find(const LockKey& key, const std::string& owner) const {
    const auto line = lines_.find(key);
    if (line == lines_.end()) return nullptr;
    const auto found = std::ranges::find_if(
        line->second, [&](const PlacePtr& place) { return place->wanted.owner == owner; });
    return found == line->second.end() ? nullptr : *found;
}

void WaitingLine::forget(const Place& place) {
    const auto line = lines_.find(place.wanted.key);
    if (line == lines_.end()) return;
    std::erase_if(line->second, [&](const PlacePtr& other) { return other.get() == &place; });
    if (line->second.empty()) lines_.erase(line);
}

SteadyClock::time_point WaitingLine::next_look() const {
    auto next = SteadyClock::now() + longest_pause;
    for (const auto& [key, line] : lines_) {
        for (const PlacePtr& place : line) {
            if (place->asking.empty()) next = std::min(next, place->kept_until);
            for (const Asking& asking : place->asking) next = std::min(next, asking.until);
        }
    }
    return next;
}

// The place is a copy: the callback that names it is destroyed here.
void WaitingLine::leave(PlacePtr place, std::uint64_t number) {
    std::list<Asking> left;
    bool was_last = false;
    {
        const std::scoped_lock lock{mutex_};
        const auto asking = std::ranges::find(place->asking, number, &Asking::number);
        if (asking == place->asking.end()) return;
        left.splice(left.begin(), place->asking, asking);
        --waiting_;
        ++unanswered_;
        was_last = place->asking.empty();
    }
    if (was_last) give_up(place);
    refuse(place->wanted.key, std::move(left.front().reply));
}

void WaitingLine::give_up(const PlacePtr& place) {
    std::list<Asking> left;
    {
        const std::scoped_lock lock{mutex_};
        place->given_up = true;
        left.swap(place->asking);
        waiting_ -= left.size();
        unanswered_ += left.size();
        forget(*place);
    }
    place->stop.request_stop();
    for (Asking& asking : left) {
        asking.on_gone.reset();
        refuse(place->wanted.key, std::move(asking.reply));
    }
}

void WaitingLine::answered(const PlacePtr& place, Outcome outcome) {
    std::list<Asking> asking;
    bool given_up = false;
    {
        const std::scoped_lock lock{mutex_};
        given_up = place->given_up;
        asking.swap(place->asking);
        waiting_ -= asking.size();
        forget(*place);
    }
    const auto* lease = std::get_if<Lease>(&outcome);
    // An owner that held the key before gets that lease back, and may know it.
    if (lease != nullptr && lease->lock_id == place->wanted.lock_id) {
        if (given_up) {
            locks_.release_after(*lease, Duration::zero());
        } else if (asking.empty()) {
            locks_.release_after(*lease, options_.place_kept);
        } else {
            // A page that got this answer renews in time.
            locks_.release_after(*lease, place->wanted.ttl / 3 + options_.sign_of_life);
        }
    }
    for (Asking& one : asking) one.reply(outcome);
    asking.clear();  // from here on, no client that goes away uses this
    const std::scoped_lock lock{mutex_};
    --unanswered_;
    changed_.notify_all();
}

void WaitingLine::look_after_places(const std::stop_token& stop) {
    std::unique_lock lock{mutex_};
    while (!stop.stop_requested()) {
        const auto now = SteadyClock::now();
        if (const auto next = next_look(); next > now) {
            const auto seen = numbers_;
            changed_.wait_for(lock, stop, next - now, [&] { return numbers_ != seen; });
        }
        std::vector<std::pair<LockKey, std::list<Asking>>> late;
        std::vector<PlacePtr> left;
        for (const auto& [key, line] : lines_) {
            for (const PlacePtr& place : line) {
                const bool was_asking = !place->asking.empty();
                std::list<Asking> over;
                for (auto it = place->asking.begin(); it != place->asking.end();) {
                    const auto asking = it++;
                    if (asking->until <= SteadyClock::now()) {
                        over.splice(over.end(), place->asking, asking);
                    }
                }
                waiting_ -= over.size();
                unanswered_ += over.size();
                if (was_asking && place->asking.empty()) {
                    place->kept_until = SteadyClock::now() + options_.place_kept;
                } else if (!was_asking && place->kept_until <= SteadyClock::now()) {
                    left.push_back(place);
                }
                if (!over.empty()) late.emplace_back(key, std::move(over));
            }
        }
        if (late.empty() && left.empty()) continue;
        lock.unlock();
        for (auto& [key, over] : late) {
            for (Asking& asking : over) refuse(key, std::move(asking.reply));
        }
        for (const PlacePtr& place : left) give_up(place);
        late.clear();  // without the lock: a client may be leaving at this moment
        lock.lock();
    }
}

void WaitingLine::refuse(const LockKey& key, Reply reply) {
    locks_.submit(Holders{key}, [this, reply = std::move(reply)](Outcome outcome) {
        if (auto* page = std::get_if<HolderPage>(&outcome)) {
            Refusal refusal{.kind = Refusal::Kind::held,
                            .holders_in_all = page->items.size(),
                            .store_now = page->store_now};
            if (page->items.size() > Limits::named_holders) {
                page->items.erase(page->items.begin() + Limits::named_holders, page->items.end());
            }
            refusal.holders = std::move(page->items);
            outcome = std::move(refusal);
        }
        reply(std::move(outcome));
        const std::scoped_lock lock{mutex_};
        --unanswered_;
        changed_.notify_all();
    });
}

}  // namespace leasehold::web
