#pragma once

#include <prometheus/client_metric.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

// Counters that every request may increase: each costs one relaxed addition and takes no lock.
namespace leasehold::server {

class Count {
public:
    void add(std::uint64_t more = 1) noexcept { count_.fetch_add(more, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t value() const noexcept {
        return count_.load(std::memory_order_relaxed);
    }

private:
    std::atomic<std::uint64_t> count_{0};
};

// A histogram: the number of values up to each bound, and the sum of all values. `bounds` is an
// array in ascending order.
template <auto bounds>
class Distribution {
public:
    void add(std::uint64_t value) noexcept {
        const auto bucket = std::ranges::lower_bound(bounds, value) - bounds.begin();
        buckets_[static_cast<std::size_t>(bucket)].add();
        sum_.add(value);
    }

    [[nodiscard]] bool empty() const noexcept {
        return std::ranges::all_of(buckets_, [](const Count& c) { return c.value() == 0; });
    }

    // `unit`: how many of the values' units make one that is shown.
    [[nodiscard]] prometheus::ClientMetric::Histogram collect(double unit) const {
        prometheus::ClientMetric::Histogram shown;
        for (std::size_t i = 0; i < buckets_.size(); ++i) {
            shown.sample_count += buckets_[i].value();
            shown.bucket.push_back({.cumulative_count = shown.sample_count,
                                    .upper_bound = i < bounds.size()
                                                       ? static_cast<double>(bounds[i]) / unit
                                                       : std::numeric_limits<double>::infinity()});
        }
        shown.sample_sum = static_cast<double>(sum_.value()) / unit;
        return shown;
    }

private:
    std::array<Count, bounds.size() + 1> buckets_{};
    Count sum_;
};

}  // namespace leasehold::server
