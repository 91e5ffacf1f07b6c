// How requests travel to a database at a distance: steps 8 to 10 of the batcher.
#include "core/batcher.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "core/out_of_memory.hpp"

namespace leasehold {

bool Batcher::is_spaced() const noexcept {
    return store_.spacing() > Duration::zero();
}

// Fails while a call runs that is not spaced, because the names of its requests are not known.
bool Batcher::begin_spaced_call() noexcept {
    if (spaced_calls_ >= store_.concurrency()) return false;
    std::size_t running = spaced_calls_;
    if (!running_calls_.compare_exchange_strong(running, running + 1)) return false;
    ++spaced_calls_;
    return true;
}

void Batcher::end_dispatched_call(Group& group) noexcept {
    names_in_use_.remove(group.names);
    group.names.clear();
    if (group.is_rest) --rest_calls_;
    if (group.is_spaced) --spaced_calls_;
    --running_calls_;
}

bool Batcher::dispatch_spaced(std::unique_lock<std::mutex>& lock) {
    const std::size_t most = store_.concurrency();
    if (spaced_calls_ >= most || running_calls_ != spaced_calls_) return false;
    const bool takes_rest = !rests_.empty() && rest_calls_ + 1 < most;
    const auto now = Clock::now();
    if (!takes_rest && (groups_.empty() || (now < next_call_ && spaced_calls_ > rest_calls_))) {
        return false;
    }
    std::shared_ptr<Group> group;
    if (takes_rest) {
        group = std::move(rests_.front());
        rests_.pop_front();
    } else {
        group = take_sendable();
        if (!group) return false;
        next_call_ = now + store_.spacing();
    }
    queued_ -= group->requests.size();
    // Fails if the store takes fewer calls since a moment ago. apply_rest() answers everything.
    if (!begin_spaced_call()) {
        queued_ += group->requests.size();
        rests_.push_front(std::move(group));
        return false;
    }
    group->is_spaced = true;
    group->is_rest = takes_rest;
    if (takes_rest) ++rest_calls_;
    if (idle_dispatchers_ > 0) {
        if (!groups_.empty() || !rests_.empty()) dispatcher_wakes_.notify_one();
    } else if (dispatchers_.size() < most && !closing_ &&
               options_.dispatch == Options::Dispatch::by_thread) {
        try {
            (void)add_dispatcher();
        } catch (const std::bad_alloc&) {
            // The other dispatchers go on.
        }
    }
    lock.unlock();
    dispatch(*group, takes_rest ? &Store::apply_rest : &Store::apply_first);
    group.reset();
    lock.lock();
    return true;
}

std::shared_ptr<Batcher::Group> Batcher::take_sendable() {
    held_back_.clear();
    try {
        for (std::size_t place = 0; place < groups_.size(); ++place) {
            if (auto group = take_sendable_of(place)) return group;
        }
        return nullptr;
    } catch (const std::bad_alloc&) {
        // Unordered at worst: the rows of the database keep two requests for one key apart.
        std::shared_ptr<Group> group = std::move(groups_.front());
        groups_.pop_front();
        return group;
    }
}

std::shared_ptr<Batcher::Group> Batcher::take_sendable_of(std::size_t place) {
    const std::shared_ptr<Group> group = groups_[place];
    names_.clear();
    goes_.clear();
    stays_.clear();
    for (std::size_t i = 0; i < group->requests.size(); ++i) {
        const std::size_t before = names_.size();
        NamesInUse::append(group->requests[i], names_);
        const auto names = std::span{names_}.subspan(before);
        if (!names_in_use_.clash(names) && !held_back_.clash(names)) {
            goes_.push_back(i);
        } else {
            held_back_.add(names);
            names_.resize(before);
            stays_.push_back(i);
        }
    }
    if (goes_.empty()) return nullptr;
    const auto at = groups_.begin() + static_cast<std::ptrdiff_t>(place);
    if (stays_.empty()) {
        names_in_use_.add(names_);
        group->names = std::exchange(names_, {});
        groups_.erase(at);
        return group;
    }
    // The others join those that are held back already.
    const bool joins = place > 0 && groups_[place - 1]->is_held_back &&
                       groups_[place - 1]->weight + group->weight <= limits_.batch_requests;
    const auto others = joins ? groups_[place - 1] : std::make_shared<Group>();
    auto sent = std::make_shared<Group>();
    make_room_to_move(*group, *sent, goes_.size());
    make_room_to_move(*group, *others, stays_.size());
    names_in_use_.add(names_);
    sent->names = std::exchange(names_, {});
    const std::size_t sleepers = group->requests.size() - group->submitted.size();
    move_requests(*group, goes_, sent);
    move_requests(*group, stays_, others);
    others->is_held_back = true;
    if (joins) {
        groups_.erase(at);
    } else {
        *at = others;
    }
    group->done.set(sleepers);
    return sent;
}

void Batcher::keep_rest(Group& group) {
    try {
        Indices left;
        for (std::size_t i = 0; i < group.outcomes.size(); ++i) {
            if (std::holds_alternative<std::monostate>(group.outcomes[i])) left.push_back(i);
        }
        if (left.empty()) return;
        std::vector<NamesInUse::Name> names;
        std::size_t weight = 0;
        for (const std::size_t index : left) {
            NamesInUse::append(group.requests[index], names);
            weight += weight_of(group.requests[index]);
        }
        const bool joins =
            !rests_.empty() && rests_.back()->weight + weight <= limits_.batch_requests;
        const auto rest = joins ? rests_.back() : std::make_shared<Group>();
        make_room_to_move(group, *rest, left.size());
        rest->names.reserve(rest->names.size() + names.size());
        if (!joins) rests_.push_back(rest);
        try {
            names_in_use_.add(names);
        } catch (const std::bad_alloc&) {
            if (!joins) rests_.pop_back();
            throw;
        }
        rest->names.insert(rest->names.end(), names.begin(), names.end());
        queued_ += left.size();
        move_requests(group, left, rest);
    } catch (const std::bad_alloc&) {
        for (Outcome& outcome : group.outcomes) {
            if (std::holds_alternative<std::monostate>(outcome)) {
                outcome = out_of_memory(StoreFault::Effect::none);
            }
        }
    }
}

void Batcher::make_room_to_move(Group& from, Group& to, std::size_t requests) {
    to.requests.reserve(to.requests.size() + requests);
    to.outcomes.reserve(to.outcomes.size() + requests);
    to.submitted.reserve(to.submitted.size() + std::min(requests, from.submitted.size()));
    from.moved.resize(from.requests.size());
}

void Batcher::move_requests(Group& from, const Indices& which,
                            const std::shared_ptr<Group>& to) noexcept {
    auto submitted = from.submitted.begin();
    for (const std::size_t index : which) {
        const std::size_t place = to->requests.size();
        to->weight += weight_of(from.requests[index]);
        to->requests.push_back(std::move(from.requests[index]));
        to->outcomes.emplace_back();
        from.moved[index] = {to, place};
        while (submitted != from.submitted.end() && submitted->index < index) ++submitted;
        if (submitted == from.submitted.end() || submitted->index != index) continue;
        to->submitted.push_back(
            {place, std::exchange(submitted->reply, {}), submitted->asked_at, submitted->retry});
    }
}

}  // namespace leasehold
