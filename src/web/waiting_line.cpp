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

WaitingLine::Joined WaitingLine::wait(TryLock wanted, const Visitor& who, Duration patience,
                                      Occupies occupies, const std::stop_token& client_gone,
                                      Reply reply) {
    locks_.validate(wanted);
    const std::string& user = who.user();
    const LockKey key = wanted.key;
    PlacePtr place;
    bool is_new = false;
    std::optional<OpenRequest> earlier;
    std::uint64_t number = 0;
    {
        std::unique_lock lock{mutex_};
        if (closed_) {
            ++unanswered_;
            lock.unlock();
            refuse(key, std::move(reply));
            return Joined::waits;
        }
        const auto now = SteadyClock::now();
        place = find(wanted);
        is_new = place == nullptr;
        if (is_new && is_full_for(user)) return Joined::too_many;
        if (occupies == Occupies::thread && !has_thread_for(user, place.get())) {
            if (is_new) return Joined::no_thread;
            place->latest_id = wanted.lock_id;
            place->kept_until = now + ask_again + options_.place_kept;
            return Joined::kept;
        }
        const LockId lock_id = wanted.lock_id;
        if (is_new) place = add(std::move(wanted), user);
        earlier = take_request(*place);
        number = ++numbers_;
        place->latest_id = lock_id;
        place->asking = OpenRequest{.number = number,
                                    .until = now + std::min(patience, options_.longest_wait),
                                    .occupies = occupies,
                                    .reply = std::move(reply)};
    }
    changed_.notify_all();
    if (earlier) refuse(key, *std::move(earlier));
    if (is_new) start(place);
    if (!client_gone.stop_possible()) return Joined::waits;
    auto on_gone = std::make_unique<std::stop_callback<std::function<void()>>>(
        client_gone, [this, place, number] { leave(place, number); });
    const std::scoped_lock lock{mutex_};
    if (place->asking && place->asking->number == number) {
        place->asking->on_gone = std::move(on_gone);
    }
    return Joined::waits;
}

bool WaitingLine::keep_place(TryLock wanted, const Visitor& who) {
    const std::string& user = who.user();
    PlacePtr place;
    {
        const std::scoped_lock lock{mutex_};
        if (closed_ || find(wanted)) return true;
        if (is_full_for(user)) return false;
        place = add(std::move(wanted), user);
        place->kept_until = SteadyClock::now() + ask_again + options_.place_kept;
        ++numbers_;
    }
    changed_.notify_all();
    start(place);
    return true;
}

void WaitingLine::start(const PlacePtr& place) {
    try {
        locks_.submit_for(
            place->wanted, longest_place,
            [this, place](const Outcome& outcome) { answered(place, outcome); },
            place->stop.get_token());
    } catch (const std::bad_alloc&) {
        answered(place, StoreFault{StoreFault::Effect::none, StoreFault::Cause::unavailable,
                                   "there is no memory to wait with"});
    }
}

void WaitingLine::withdraw(const LockKey& key, LockId lock_id, const Visitor& who) {
    PlacePtr withdrawn;
    std::optional<OpenRequest> left;
    {
        const std::scoped_lock lock{mutex_};
        const auto line = lines_.find(key);
        if (line == lines_.end()) return;
        const auto found = std::ranges::find_if(line->second, [&](const PlacePtr& place) {
            return who.owns(place->wanted.owner) &&
                   (place->latest_id == lock_id || place->wanted.lock_id == lock_id);
        });
        if (found == line->second.end()) return;
        withdrawn = *found;
        left = give_up(*withdrawn);
    }
    end(withdrawn, std::move(left));
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
    std::vector<std::pair<PlacePtr, std::optional<OpenRequest>>> left;
    {
        const std::scoped_lock lock{mutex_};
        closed_ = true;
        for (const PlacePtr& place : everybody()) left.emplace_back(place, give_up(*place));
    }
    for (auto& [place, asking] : left) end(place, std::move(asking));
}

WaitingLine::PlacePtr WaitingLine::find(const TryLock& wanted) const {
    const auto line = lines_.find(wanted.key);
    if (line == lines_.end()) return nullptr;
    const auto found = std::ranges::find_if(line->second, [&](const PlacePtr& place) {
        return place->wanted.owner == wanted.owner && place->wanted.mode == wanted.mode &&
               place->wanted.since == wanted.since;
    });
    return found == line->second.end() ? nullptr : *found;
}

std::vector<WaitingLine::PlacePtr> WaitingLine::everybody() const {
    std::vector<PlacePtr> places;
    for (const auto& [key, line] : lines_) places.insert(places.end(), line.begin(), line.end());
    return places;
}

bool WaitingLine::is_full_for(const std::string& user) const {
    const auto places = everybody();
    return places.size() >= options_.waiting ||
           std::ranges::count(places, user, &Place::user) >=
               static_cast<std::ptrdiff_t>(options_.waiting_per_user);
}

// The request that has `place` at present gives way to the next one.
bool WaitingLine::has_thread_for(const std::string& user, const Place* place) const {
    std::size_t in_all = 0;
    std::size_t of_user = 0;
    for (const PlacePtr& other : everybody()) {
        if (other.get() == place || !other->asking) continue;
        if (other->asking->occupies == Occupies::nothing) continue;
        ++in_all;
        if (other->user == user) ++of_user;
    }
    return in_all < options_.waiting_threads && of_user < options_.waiting_threads_per_user;
}

WaitingLine::PlacePtr WaitingLine::add(TryLock wanted, const std::string& user) {
    const LockId lock_id = wanted.lock_id;
    auto place = std::make_shared<Place>(
        Place{.wanted = std::move(wanted), .user = user, .latest_id = lock_id});
    lines_[place->wanted.key].push_back(place);
    ++unanswered_;
    return place;
}

std::optional<WaitingLine::OpenRequest> WaitingLine::take_request(Place& place) {
    if (place.asking) ++unanswered_;
    return std::exchange(place.asking, std::nullopt);
}

std::optional<WaitingLine::OpenRequest> WaitingLine::give_up(Place& place) {
    place.given_up = true;
    forget(place);
    return take_request(place);
}

void WaitingLine::forget(const Place& place) {
    const auto line = lines_.find(place.wanted.key);
    if (line == lines_.end()) return;
    std::erase_if(line->second, [&](const PlacePtr& other) { return other.get() == &place; });
    if (line->second.empty()) lines_.erase(line);
}

SteadyClock::time_point WaitingLine::next_look() const {
    auto next = SteadyClock::now() + longest_pause;
    for (const PlacePtr& place : everybody()) {
        next = std::min(next, place->asking ? place->asking->until : place->kept_until);
    }
    return next;
}

void WaitingLine::end(const PlacePtr& place, std::optional<OpenRequest> left) {
    place->stop.request_stop();
    if (left) refuse(place->wanted.key, *std::move(left));
}

// The place is a copy: the callback that names it is destroyed here.
void WaitingLine::leave(PlacePtr place, std::uint64_t number) {
    std::optional<OpenRequest> left;
    {
        const std::scoped_lock lock{mutex_};
        if (!place->asking || place->asking->number != number) return;
        left = give_up(*place);
    }
    end(place, std::move(left));
}

void WaitingLine::answered(const PlacePtr& place, const Outcome& outcome) {
    std::optional<OpenRequest> asking;
    bool given_up = false;
    Duration kept{};
    {
        const std::scoped_lock lock{mutex_};
        given_up = place->given_up;
        asking = std::exchange(place->asking, std::nullopt);
        kept = std::chrono::floor<Duration>(place->kept_until - SteadyClock::now());
        forget(*place);
    }
    const TryLock& wanted = place->wanted;
    Got got = Got::nothing;
    if (const auto* lease = std::get_if<Lease>(&outcome)) {
        // An owner that held the key before may know its lease.
        got = lease->lock_id == wanted.lock_id ? Got::new_lease : Got::own_lease;
        if (got == Got::new_lease) {
            // A page that got this answer renews in time.
            const Duration in_time = wanted.ttl / 2 + options_.sign_of_life;
            locks_.release_after(*lease, given_up ? Duration::zero() : asking ? in_time : kept);
        }
    } else if (std::holds_alternative<StoreFault>(outcome)) {
        locks_.submit(Release{.key = wanted.key, .lock_id = wanted.lock_id}, [](const Outcome&) {
            // If the store fails again, the lease expires.
        });
    }
    if (asking) {
        asking->reply(outcome, got);
        asking.reset();  // from here on, no client that goes away uses this
    }
    const std::scoped_lock lock{mutex_};
    --unanswered_;
    changed_.notify_all();
}

void WaitingLine::look_after_places(const std::stop_token& stop) {
    std::unique_lock lock{mutex_};
    while (!stop.stop_requested()) {
        if (const auto now = SteadyClock::now(), next = next_look(); next > now) {
            const auto seen = numbers_;
            changed_.wait_for(lock, stop, next - now, [&] { return numbers_ != seen; });
        }
        std::vector<std::pair<LockKey, OpenRequest>> late;
        std::vector<PlacePtr> left;
        const auto now = SteadyClock::now();
        for (const PlacePtr& place : everybody()) {
            if (!place->asking && place->kept_until <= now) {
                (void)give_up(*place);
                left.push_back(place);
            } else if (place->asking && place->asking->until <= now) {
                place->kept_until = now + options_.place_kept;
                late.emplace_back(place->wanted.key, *take_request(*place));
            }
        }
        if (late.empty() && left.empty()) continue;
        lock.unlock();
        for (auto& [key, asking] : late) refuse(key, std::move(asking));
        for (const PlacePtr& place : left) end(place, std::nullopt);
        late.clear();
        lock.lock();
    }
}

// Without the mutex: a client may be leaving at this moment.
void WaitingLine::refuse(const LockKey& key, OpenRequest asking) {
    asking.on_gone.reset();
    refuse(key, std::move(asking.reply));
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
        reply(std::move(outcome), Got::nothing);
        const std::scoped_lock lock{mutex_};
        --unanswered_;
        changed_.notify_all();
    });
}

}  // namespace leasehold::web
