#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace leasehold::server {

class Families;

// The number of entries of a folder, which is counted at most once in `kept_for`: counting ten
// thousand open files takes as long as answering hundreds of requests. Thread-safe.
class CountedEntries {
public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds kept_for{1};

    explicit CountedEntries(std::string folder) : folder_{std::move(folder)} {}

    [[nodiscard]] double at(Clock::time_point now);

private:
    const std::string folder_;
    std::mutex mutex_;
    double count_ = 0;                       // guarded by mutex_
    std::optional<Clock::time_point> next_;  // guarded by mutex_; nothing: not counted yet
};

// Adds the processor time, memory and open files of this process, under Prometheus' usual names.
void add_process_metrics(Families& to);

}  // namespace leasehold::server
