#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>

#include "core/cached_status.hpp"

namespace leasehold {
namespace {

using namespace std::chrono_literals;

// Does not answer from the second reading on, until the reading is ended.
class SilentServer {
public:
    StoreStatus read(const std::stop_token& ended) {
        const int reading = ++readings_;
        if (reading > 1) {
            began_.set_value();
            std::mutex mutex;
            std::unique_lock lock{mutex};
            std::condition_variable_any never;
            never.wait(lock, ended, [] { return false; });
        }
        return {.name = "reading " + std::to_string(reading)};
    }
    void wait_until_read_again() { began_.get_future().wait(); }

private:
    std::atomic<int> readings_{0};
    std::promise<void> began_;
};

TEST(CachedStatus, IsKnownAtOnceWhileTheServerIsSilentAndEndsAtOnce) {
    SilentServer server;
    CachedStatus cached{[&](const std::stop_token& ended) { return server.read(ended); }, 0s};
    cached.refresh_if_old();
    server.wait_until_read_again();
    EXPECT_EQ(cached.status().name, "reading 1");
    cached.refresh_if_old();  // one is under way
}

TEST(CachedStatus, IsReadAgainAfterWorkOnceItIsOld) {
    std::atomic<int> readings{0};
    CachedStatus cached{
        [&](const std::stop_token&) { return StoreStatus{.name = std::to_string(++readings)}; },
        0s};
    while (cached.status().name == "1") cached.refresh_if_old();
    EXPECT_GE(readings, 2);
}

TEST(CachedStatus, IsNotReadAgainWhileItIsNew) {
    std::atomic<int> readings{0};
    {
        CachedStatus cached{[&](const std::stop_token&) {
            ++readings;
            return StoreStatus{};
        }};
        for (int i = 0; i < 100; ++i) cached.refresh_if_old();
    }
    EXPECT_EQ(readings, 1);
}

TEST(CachedStatus, StaysWhereReadingFails) {
    std::atomic<int> readings{0};
    CachedStatus cached{[&](const std::stop_token&) -> StoreStatus {
                            if (++readings > 1) {
                                throw StoreFault{StoreFault::Effect::none,
                                                 StoreFault::Cause::unavailable, "away"};
                            }
                            return {.name = "known"};
                        },
                        0s};
    while (readings < 3) cached.refresh_if_old();
    EXPECT_EQ(cached.status().name, "known");
}

}  // namespace
}  // namespace leasehold
