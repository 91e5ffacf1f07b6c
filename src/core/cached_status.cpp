#include "core/cached_status.hpp"

#include <system_error>
#include <utility>

namespace leasehold {

CachedStatus::CachedStatus(Read read, Duration interval)
    : read_{std::move(read)},
      interval_{interval},
      status_{read_({})},
      refreshed_{SteadyClock::now()} {}

StoreStatus CachedStatus::status() const {
    const std::lock_guard lock{mutex_};
    return status_;
}

void CachedStatus::refresh_if_old() {
    const std::lock_guard lock{mutex_};
    if (refreshing_ || SteadyClock::now() < refreshed_ + interval_) return;
    try {
        thread_ = std::jthread{[this](const std::stop_token& ended) { refresh(ended); }};
        refreshing_ = true;
    } catch (const std::system_error&) {
        // No thread can be started now; later work tries again.
    }
}

void CachedStatus::refresh(const std::stop_token& ended) noexcept {
    StoreStatus fresh;
    bool known = false;
    try {
        fresh = read_(ended);
        known = true;
    } catch (...) {
        // The server does not answer: the next request will say so.
    }
    const std::lock_guard lock{mutex_};
    if (known) status_ = std::move(fresh);
    refreshed_ = SteadyClock::now();
    refreshing_ = false;
}

}  // namespace leasehold
