#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

#include <leasehold/store.hpp>

namespace leasehold {

// The status of a store that has to ask a server for it. status() gives the latest one that is
// known and never waits for the server. Thread-safe.
//  1. The constructor reads the status.
//  2. With each batch, refresh_if_old() starts a thread that reads it again, at most once an
//     interval.
//  3. If reading fails, the known status stays.
class CachedStatus {
public:
    // Ends soon once the token is stopped. May throw StoreFault.
    using Read = std::function<StoreStatus(const std::stop_token& ended)>;

    explicit CachedStatus(Read read, Duration interval = std::chrono::seconds{10});

    [[nodiscard]] StoreStatus status() const;
    // Returns at once.
    void refresh_if_old();

private:
    void refresh(const std::stop_token& ended) noexcept;

    const Read read_;
    const Duration interval_;
    mutable std::mutex mutex_;
    StoreStatus status_;                 // guarded by mutex_, as all below
    SteadyClock::time_point refreshed_;  // or tried to
    bool refreshing_ = false;
    std::jthread thread_;
};

}  // namespace leasehold
