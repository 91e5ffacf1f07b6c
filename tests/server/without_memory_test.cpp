// What the server's parts do if a single allocation fails, whichever it is.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include "server/access/quotas.hpp"
#include "server/token_fixture.hpp"
#include "server/transport/peers.hpp"

namespace {

// How many allocations of this thread succeed before one fails.
thread_local std::optional<std::size_t> allocations_left;

}  // namespace

// NOLINTBEGIN(cppcoreguidelines-no-malloc,misc-new-delete-overloads)
void* operator new(std::size_t bytes) {
    if (allocations_left && (*allocations_left)-- == 0) {
        allocations_left.reset();
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

}  // namespace
}  // namespace leasehold::testing
