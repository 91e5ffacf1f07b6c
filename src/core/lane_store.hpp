#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include <leasehold/store.hpp>

#include "core/store_clock.hpp"

namespace leasehold {

// Estimates how long a call waits for its database: for the round trip and the commit, not for the
// work on its requests. Thread-safe.
class CallTimes {
public:
    void note(std::size_t requests, Duration took);
    // The shortest of the recent calls of few requests; 0 until there were some.
    [[nodiscard]] Duration shortest() const noexcept {
        return shortest_.load(std::memory_order_relaxed);
    }

private:
    std::mutex mutex_;
    std::size_t noted_ = 0;                      // guarded by mutex_; in this window
    Duration in_window_ = Duration::max();       // guarded by mutex_
    Duration in_last_window_ = Duration::max();  // guarded by mutex_
    std::atomic<Duration> shortest_{Duration::zero()};
};

struct LaneOptions {
    std::size_t lanes = 4;
    Duration distant = std::chrono::microseconds{700};
    // For tests: lanes are opened at once, and the calls take them in turn.
    enum class Use : std::uint8_t { when_distant, always_in_turn };
    Use use = Use::when_distant;
};

// A database at a distance through several connections, its lanes. Each lane is a store with one
// connection.
//   1. The first lane is opened at once, and kept. A database that is near needs no other one.
//   2. Every call that may write is timed. The database is distant if even the shortest recent call
//      takes longer than LaneOptions::distant.
//   3. Once a database is distant and requests have had to gather, a thread opens the other lanes.
//      Calls then begin LaneOptions::lanes times during the shortest call (spacing()), so that a
//      request waits for a part of a call instead of a whole one before it is sent.
//   4. Each call takes the first free lane. LockManager never has two requests on one key under way
//      at once, so their order is kept, and one lane never meets the locked rows of another.
//   5. If a call on another lane than the first fails, that lane is closed, and the thread opens it
//      again after a pause. Until then the rest are used.
//   6. Lanes that no call needed between two rounds of housekeeping are closed.
// All lanes share one clock, so that time never goes back from one lane to another.
class LaneStore final : public Store {
public:
    using Options = LaneOptions;
    using OpenLane = std::function<std::unique_ptr<Store>(std::shared_ptr<StoreClock> clock)>;

    // Opens the first lane.
    LaneStore(OpenLane open, const StoreOptions& store_options, Options options = {});
    ~LaneStore() override;

    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override;
    void apply_first(std::span<const Request> requests, std::span<Outcome> outcomes) override;
    void apply_rest(std::span<const Request> requests, std::span<Outcome> outcomes) override;
    [[nodiscard]] std::size_t concurrency() const noexcept override;
    [[nodiscard]] Duration spacing() const noexcept override;
    [[nodiscard]] StoreStatus status() override { return first_->store->status(); }
    // On the first lane, which remembers where it stopped.
    [[nodiscard]] bool keep_house() noexcept override;
    [[nodiscard]] Duration housekeeping_interval() const noexcept override {
        return first_->store->housekeeping_interval();
    }
    [[nodiscard]] std::unique_ptr<StoreWatch> open_watch() override {
        return first_->store->open_watch();
    }

private:
    struct Lane {
        std::unique_ptr<Store> store;
        bool busy = false;  // guarded by mutex_
    };
    class Turn;
    using Call = void (Store::*)(std::span<const Request>, std::span<Outcome>);

    void run(Call call, std::span<const Request> requests, std::span<Outcome> outcomes);
    void note(std::span<const Request> requests, Duration took);
    [[nodiscard]] bool is_distant() const noexcept;
    void want_lanes();
    void open_lanes();  // run by opener_
    // False if it could not be opened.
    [[nodiscard]] bool open_lane();
    void close(Lane& lane);
    void close_unused();
    void count_lanes();  // under mutex_

    const OpenLane open_;
    const Options options_;
    const std::shared_ptr<StoreClock> clock_;
    CallTimes times_;
    std::atomic<bool> distant_{false};
    std::atomic<bool> gathered_{false};  // since the last housekeeping a batch had several requests
    std::atomic<std::size_t> open_lanes_{1};

    std::mutex mutex_;
    std::condition_variable changed_;           // a lane became free, or lanes are wanted
    std::vector<std::shared_ptr<Lane>> lanes_;  // guarded by mutex_; the first is kept
    std::size_t next_ = 0;                      // guarded by mutex_; for always_in_turn
    bool wanted_ = false;                       // guarded by mutex_
    bool closing_ = false;                      // guarded by mutex_
    std::shared_ptr<Lane> first_;
    std::thread opener_;  // guarded by mutex_ until closing
};

}  // namespace leasehold
