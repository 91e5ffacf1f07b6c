#include "core/lane_store.hpp"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "core/request_traits.hpp"
#include "core/retry.hpp"

namespace leasehold {
namespace {

// A call of more requests says little about the distance.
constexpr std::size_t few_requests = 8;
constexpr std::size_t window = 64;

bool only_reads(std::span<const Request> requests) {
    return std::ranges::all_of(requests, [](const Request& r) { return only_reads(kind_of(r)); });
}

}  // namespace

void CallTimes::note(std::size_t requests, Duration took) {
    // No call is shorter than the distance, however much work it was.
    if (requests > few_requests && took >= shortest()) return;
    const std::lock_guard lock{mutex_};
    in_window_ = std::min(in_window_, took);
    if (++noted_ == window) {
        noted_ = 0;
        in_last_window_ = std::exchange(in_window_, Duration::max());
    }
    if (in_last_window_ != Duration::max()) shortest_ = std::min(in_window_, in_last_window_);
}

// One call's use of a lane.
class LaneStore::Turn {
public:
    explicit Turn(LaneStore& store) : store_{store} {
        std::unique_lock lock{store.mutex_};
        store.changed_.wait(lock, [&] { return take_free(); });
    }
    Turn(LaneStore& store, std::shared_ptr<Lane> lane) : store_{store}, lane_{std::move(lane)} {
        std::unique_lock lock{store.mutex_};
        store.changed_.wait(lock, [&] { return !lane_->busy; });
        lane_->busy = true;
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
        {
            const std::lock_guard lock{store_.mutex_};
            lane_->busy = false;
        }
        store_.changed_.notify_all();
    }
    [[nodiscard]] Lane& lane() const { return *lane_; }

private:
    [[nodiscard]] bool take_free() {
        const auto& lanes = store_.lanes_;
        const bool in_turn = store_.options_.use == Options::Use::always_in_turn;
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            const auto& lane = lanes[in_turn ? (store_.next_ + i) % lanes.size() : i];
            if (lane->busy) continue;
            ++store_.next_;
            lane_ = lane;
            lane_->busy = true;
            return true;
        }
        return false;
    }

    LaneStore& store_;
    std::shared_ptr<Lane> lane_;
};

LaneStore::LaneStore(OpenLane open, const StoreOptions& store_options, Options options)
    : open_{std::move(open)},
      options_{options},
      clock_{std::make_shared<StoreClock>(store_options.max_clock_leap)} {
    lanes_.push_back(std::make_shared<Lane>(Lane{.store = open_(clock_)}));
    first_ = lanes_.front();
    if (options_.use == Options::Use::always_in_turn) {
        while (lanes_.size() < options_.lanes && open_lane()) {
        }
    }
}

LaneStore::~LaneStore() {
    {
        const std::lock_guard lock{mutex_};
        closing_ = true;
    }
    changed_.notify_all();
    if (opener_.joinable()) opener_.join();
}

std::size_t LaneStore::concurrency() const noexcept {
    return is_distant() ? open_lanes_.load(std::memory_order_relaxed) : 1;
}

Duration LaneStore::spacing() const noexcept {
    const std::size_t lanes = concurrency();
    if (lanes == 1) return Duration::zero();
    return std::max<Duration>(times_.shortest() / lanes, Duration{1});
}

bool LaneStore::is_distant() const noexcept {
    return options_.use == Options::Use::always_in_turn || distant_.load(std::memory_order_relaxed);
}

void LaneStore::apply(std::span<const Request> requests, std::span<Outcome> outcomes) {
    run(&Store::apply, requests, outcomes);
}

void LaneStore::apply_first(std::span<const Request> requests, std::span<Outcome> outcomes) {
    run(&Store::apply_first, requests, outcomes);
}

void LaneStore::apply_rest(std::span<const Request> requests, std::span<Outcome> outcomes) {
    run(&Store::apply_rest, requests, outcomes);
}

void LaneStore::run(Call call, std::span<const Request> requests, std::span<Outcome> outcomes) {
    const Turn turn{*this};
    const auto begun = SteadyClock::now();
    try {
        ((*turn.lane().store).*call)(requests, outcomes);
    } catch (const StoreFault&) {
        close(turn.lane());
        throw;
    }
    // What was not sent says nothing.
    const bool sent = std::ranges::none_of(
        outcomes, [](const Outcome& o) { return std::holds_alternative<std::monostate>(o); });
    if (sent && !only_reads(requests)) note(requests, SteadyClock::now() - begun);
}

void LaneStore::note(std::span<const Request> requests, Duration took) {
    times_.note(requests.size(), took);
    const Duration shortest = times_.shortest();
    // A database at about that distance does not change sides all the time.
    constexpr int part = 4;
    if (shortest > options_.distant) {
        distant_.store(true, std::memory_order_relaxed);
    } else if (shortest < options_.distant - options_.distant / part) {
        distant_.store(false, std::memory_order_relaxed);
    }
    if (requests.size() == 1) return;
    gathered_.store(true, std::memory_order_relaxed);
    if (distant_.load(std::memory_order_relaxed) && open_lanes_ < options_.lanes) want_lanes();
}

void LaneStore::want_lanes() {
    {
        const std::lock_guard lock{mutex_};
        if (wanted_ || closing_) return;
        try {
            if (!opener_.joinable()) opener_ = std::thread{[this] { open_lanes(); }};
        } catch (const std::system_error&) {
            return;
        }
        wanted_ = true;
    }
    changed_.notify_all();
}

void LaneStore::open_lanes() {
    std::unique_lock lock{mutex_};
    Retry retry{retries::lanes};
    for (;;) {
        changed_.wait(lock, [&] { return closing_ || wanted_; });
        if (closing_) return;
        if (lanes_.size() >= options_.lanes) {
            wanted_ = false;
            retry = Retry{retries::lanes};
            continue;
        }
        lock.unlock();
        const bool opened = open_lane();
        lock.lock();
        if (opened) continue;
        const auto pause = *retry.next_pause();
        changed_.wait_for(lock, pause, [&] { return closing_; });
    }
}

bool LaneStore::open_lane() {
    try {
        auto lane = std::make_shared<Lane>(Lane{.store = open_(clock_)});
        const std::lock_guard lock{mutex_};
        lanes_.push_back(std::move(lane));
        count_lanes();
    } catch (const std::exception&) {
        // The first lane tells its callers what is wrong.
        return false;
    }
    changed_.notify_all();
    return true;
}

void LaneStore::close(Lane& lane) {
    if (&lane == first_.get()) return;
    const std::lock_guard lock{mutex_};
    const auto found = std::ranges::find(lanes_, &lane, &std::shared_ptr<Lane>::get);
    if (found == lanes_.end()) return;
    lanes_.erase(found);
    count_lanes();
}

void LaneStore::close_unused() {
    if (options_.use == Options::Use::always_in_turn || gathered_.exchange(false)) return;
    std::vector<std::shared_ptr<Lane>> closed;
    const std::lock_guard lock{mutex_};
    while (lanes_.size() > 1 && !lanes_.back()->busy) {
        closed.push_back(std::move(lanes_.back()));
        lanes_.pop_back();
    }
    count_lanes();
}

void LaneStore::count_lanes() {
    open_lanes_.store(lanes_.size(), std::memory_order_relaxed);
}

bool LaneStore::keep_house() noexcept {
    try {
        const Turn turn{*this, first_};
        const bool unfinished = first_->store->keep_house();
        if (!unfinished) close_unused();
        return unfinished;
    } catch (...) {
        return false;
    }
}

}  // namespace leasehold
