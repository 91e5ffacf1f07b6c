// What the server's parts do if a single allocation fails, whichever it is, or all of a thread's.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <boost/json/parse.hpp>

#include "core/key_watcher.hpp"
#include "server/access/audit.hpp"
#include "server/access/quotas.hpp"
#include "server/monitoring/metrics.hpp"
#include "server/token_fixture.hpp"
#include "server/transport/peers.hpp"
#include "support/process.hpp"

namespace {

// How many allocations of this thread succeed before one fails.
thread_local std::optional<std::size_t> allocations_left;

// While this is true, each allocation of another thread fails. They are counted.
std::atomic<bool> others_fail{false};
std::atomic<std::size_t> failed_of_others{0};
thread_local bool is_main = false;

}  // namespace

// NOLINTBEGIN(cppcoreguidelines-no-malloc,misc-new-delete-overloads)
void* operator new(std::size_t bytes) {
    if (allocations_left && (*allocations_left)-- == 0) {
        allocations_left.reset();
        throw std::bad_alloc{};
    }
    if (others_fail && !is_main) {
        ++failed_of_others;
        throw std::bad_alloc{};
    }
    if (void* const memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
    throw std::bad_alloc{};
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
// NOLINTEND(cppcoreguidelines-no-malloc,misc-new-delete-overloads)

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using server::Quota;
using server::Quotas;

// Calls `act` with the first allocation failing, then the second, until none fails. Returns how
// many failed.
template <class Act>
std::size_t with_each_allocation_failing(Act act) {
    for (std::size_t n = 0;; ++n) {
        try {
            allocations_left = n;
            act();
            const bool none_failed = allocations_left.has_value();
            allocations_left.reset();
            if (none_failed) return n;
        } catch (const std::bad_alloc&) {
        }
    }
}

// A place that is given back under the mutex of the quotas would wait for itself, for ever.
TEST(QuotasWithoutMemory, RefuseAPlaceAndCountNothing) {
    const server::ServerOptions options;
    Quotas quotas{options};
    const server::Token shop = token("shop", {server::Role::use}, "shop");
    std::promise<std::size_t> failed;
    std::future<std::size_t> done = failed.get_future();
    std::thread entering{[&] {
        const std::string owner = "shop/somebody-with-a-name-that-is-allocated";
        std::size_t n =
            with_each_allocation_failing([&] { (void)quotas.enter(shop, Quota::waiters, owner); });
        n += with_each_allocation_failing(
            [&] { (void)quotas.enter_as(shop, Quota::delayed_releases, owner); });
        failed.set_value(n);
    }};
    if (done.wait_for(60s) != std::future_status::ready) {
        std::fputs("a place without memory locks the mutex of the quotas twice\n", stderr);
        std::abort();
    }
    entering.join();
    EXPECT_GE(done.get(), 2U);
    EXPECT_EQ(quotas.use_of(shop)[Quota::waiters].used, 0U);
    EXPECT_EQ(quotas.use_of(shop)[Quota::delayed_releases].used, 0U);
    const auto place = quotas.enter(shop, Quota::waiters, "shop/alice");
    EXPECT_TRUE(place.has_value());
    EXPECT_EQ(quotas.use_of(shop)[Quota::waiters].used, 1U);
}

// The same of the places that an address has for connections.
TEST(PeersWithoutMemory, RefuseAConnectionAndCountNothing) {
    server::Peers peers;
    const std::string address = "2001:db8:1234:5678::/64, which is allocated";
    std::promise<std::size_t> failed;
    std::future<std::size_t> done = failed.get_future();
    std::thread entering{[&] {
        failed.set_value(with_each_allocation_failing([&] { (void)peers.enter(address, 1); }));
    }};
    if (done.wait_for(60s) != std::future_status::ready) {
        std::fputs("a place without memory locks the mutex of the peers twice\n", stderr);
        std::abort();
    }
    entering.join();
    EXPECT_GE(done.get(), 2U);
    EXPECT_NE(peers.enter(address, 1), nullptr);
}

// Lets all allocations of other threads fail until some have failed, or until this is destroyed.
class OthersWithoutMemory {
public:
    OthersWithoutMemory() {
        is_main = true;
        failed_of_others = 0;
        others_fail = true;
    }
    OthersWithoutMemory(const OthersWithoutMemory&) = delete;
    OthersWithoutMemory& operator=(const OthersWithoutMemory&) = delete;
    ~OthersWithoutMemory() {
        others_fail = false;
        is_main = false;
    }

    [[nodiscard]] static bool until_some_have_failed() {
        return eventually([] { return failed_of_others >= 3; });
    }
};

TEST(AuditWithoutMemory, LosesNoCountAndGoesOn) {
    const TemporaryFolder folder;
    const std::string path = folder.path() / "audit";
    server::Metrics metrics{"1"};
    constexpr std::size_t events = 10;
    {
        server::Audit::Limits limits;
        limits.refusals = {.per_second = 0.001, .at_once = 1};
        limits.between_counts = 0ms;
        server::Audit audit{path, metrics, limits};
        const OthersWithoutMemory others;
        for (std::size_t i = 0; i < events; ++i) {
            audit.record({.action = "access",
                          .outcome = "refused",
                          .address = "192.0.2.1, which is so long that it is allocated",
                          .status = 401});
        }
        EXPECT_TRUE(OthersWithoutMemory::until_some_have_failed());
    }
    std::size_t counted = 0;
    std::ifstream file{path};
    for (std::string line; std::getline(file, line);) {
        const auto object = boost::json::parse(line).as_object();
        const auto* const left_out = object.if_contains("left_out");
        counted += left_out != nullptr ? left_out->to_number<std::size_t>() : 1;
    }
    EXPECT_EQ(counted, events);
}

// The watch of the keys that clients wait for.
class RecordedWatch final : public StoreWatch {
public:
    explicit RecordedWatch(std::atomic<std::size_t>& watched) : watched_{watched} {}
    std::vector<LockKey> wait(std::span<const LockKey> keys, const std::stop_token& stop) override {
        if (watched_.exchange(keys.size()) != keys.size()) return {keys.begin(), keys.end()};
        while (!stop.stop_requested()) std::this_thread::sleep_for(1ms);
        return {};
    }

private:
    std::atomic<std::size_t>& watched_;
};

TEST(KeyWatcherWithoutMemory, WatchesAsSoonAsThereIsSome) {
    std::atomic<std::size_t> watched{0};
    KeyWatcher watcher{[&] { return std::make_unique<RecordedWatch>(watched); },
                       [](std::span<const LockKey>) {}};
    watcher.add({"Order", "the first, so that the thread is there"});
    ASSERT_TRUE(eventually([&] { return watched == 1; }));
    {
        const OthersWithoutMemory others;
        watcher.add({"Order", "the second, whose thread has no memory to watch it"});
        EXPECT_TRUE(OthersWithoutMemory::until_some_have_failed());
    }
    EXPECT_TRUE(eventually([&] { return watched == 2; }));
}

}  // namespace
}  // namespace leasehold::testing
