#include "server/statistics/series.hpp"

#include <algorithm>

namespace leasehold::server {

Point& Series::at(Clock::time_point now) {
    if (now < begun_ + step_) return points_.back();
    const auto passed = (now - begun_) / step_;
    begun_ += passed * step_;
    const auto empty = std::min(static_cast<std::size_t>(passed), most_);
    points_.insert(points_.end(), empty, Point{.waiters = waiters_});
    while (points_.size() > most_) points_.pop_front();
    return points_.back();
}

void Series::waiting(std::size_t waiters, Clock::time_point now) {
    Point& point = at(now);
    waiters_ = waiters;
    point.waiters = std::max(point.waiters, waiters);
}

}  // namespace leasehold::server
