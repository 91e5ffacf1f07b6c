#include "stores/etcd/clock_key.hpp"

#include <algorithm>

namespace leasehold::etcd {
namespace {

// Two steady clocks may differ in speed by one part in this many.
constexpr int drift = 500;
constexpr std::chrono::milliseconds widest_gap{100};
// A process that has not looked for longer writes the key: its own estimate may be far ahead.
constexpr std::chrono::seconds longest_unseen{10};
constexpr std::chrono::seconds longest_unwritten{1};
constexpr std::chrono::seconds longest_unwritten_by_others{3};

Duration offset(Time time, ClockKey::Moment moment) {
    return time.time_since_epoch() - moment.time_since_epoch();
}

}  // namespace

void ClockKey::saw(const Reading& reading, Moment asked, Moment answered) {
    const std::lock_guard lock{mutex_};
    if (reading.changed < latest_.changed) return;
    if (reading.changed == latest_.changed) {
        still_ = std::max(still_, asked);
        return;
    }
    // The key was written after we last saw another value.
    if (latest_.changed > 0) {
        ahead_ = std::min(ahead_, offset(reading.time, still_));
        unseen_ = answered - still_;
    }
    ours_ = false;
    latest_ = reading;
    seen_ = answered;
    still_ = asked;
}

void ClockKey::wrote(const Reading& reading, Moment asked, Moment answered) {
    const std::lock_guard lock{mutex_};
    ahead_ = std::min(ahead_, offset(reading.time, asked));
    if (reading.changed <= latest_.changed) return;
    ours_ = true;
    unseen_ = answered - asked;
    latest_ = reading;
    seen_ = answered;
    still_ = asked;
}

Time ClockKey::writable(Moment at) const {
    const Duration since = std::max(at - seen_, Duration{});
    return latest_.time + (since - since / drift);
}

bool ClockKey::is_known() const {
    const std::lock_guard lock{mutex_};
    return ahead_ != Duration::max();
}

bool ClockKey::is_close(Moment at) const {
    const std::lock_guard lock{mutex_};
    if (ahead_ == Duration::max()) return false;
    return ahead_ + at.time_since_epoch() - writable(at).time_since_epoch() <=
           widest_gap + std::min<Duration>(unseen_, longest_unseen);
}

bool ClockKey::is_old(Moment at) const {
    const std::lock_guard lock{mutex_};
    return writable(at) - latest_.time >= (ours_ ? longest_unwritten : longest_unwritten_by_others);
}

bool ClockKey::was_looked_at_since(Moment moment) const {
    const std::lock_guard lock{mutex_};
    return still_ >= moment;
}

ClockKey::Reading ClockKey::latest() const {
    const std::lock_guard lock{mutex_};
    return latest_;
}

ClockKey::Step ClockKey::step(Moment at) const {
    const std::lock_guard lock{mutex_};
    return {latest_, writable(at)};
}

Time ClockKey::now(Moment at) {
    const std::lock_guard lock{mutex_};
    highest_ = std::max(highest_, Time{ahead_ + at.time_since_epoch()});
    return highest_;
}

}  // namespace leasehold::etcd
