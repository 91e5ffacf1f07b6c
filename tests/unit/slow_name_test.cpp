#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <leasehold/errors.hpp>

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>

#include "net/connection.hpp"
#include "unit/waiting.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

// The system's search for the name "slow.example", which finds nothing once it is let go.
struct SlowSearch {
    std::atomic<int> begun{0};
    std::atomic<int> ended{0};
    std::atomic<bool> let_go{false};
};
SlowSearch slow_search;

int search_slowly() {
    ++slow_search.begun;
    (void)eventually([] { return slow_search.let_go.load(); });
    ++slow_search.ended;
    return EAI_NONAME;
}

std::string fault_of(net::Connection& connection, std::chrono::milliseconds within) {
    const auto deadline = std::chrono::steady_clock::now() + within;
    try {
        (void)connection.exchange({.path = "/"}, {.connected = deadline, .answered = deadline});
    } catch (const StoreFault& fault) {
        EXPECT_EQ(fault.effect(), StoreFault::Effect::none);
        return fault.what();
    }
    return "none";
}

TEST(ANameThatIsFoundSlowly, EndsACallByItsDeadlineAndIsSearchedForOnce) {
    const std::string name = "the server at slow.example:1: cannot be found: ";
    net::Connection connection{{.what = "the server", .host = "slow.example", .port = 1}};
    for (int i = 0; i < 2; ++i) EXPECT_EQ(fault_of(connection, 1ms), name + "no answer in time");
    EXPECT_TRUE(eventually([] { return slow_search.begun == 1; }));
    {
        net::Connection brief{{.what = "the server", .host = "slow.example", .port = 1}};
        EXPECT_EQ(fault_of(brief, 1ms), name + "no answer in time");
    }
    EXPECT_EQ(slow_search.ended, 0);
    slow_search.let_go = true;
    EXPECT_EQ(fault_of(connection, patience), name + "Host not found (authoritative)");
    EXPECT_TRUE(eventually([] { return slow_search.ended == 2; }));
}

}  // namespace
}  // namespace leasehold::testing

// Stands before the C library's for the whole program.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** found) {
    using Search = decltype(&getaddrinfo);
    static const auto real = reinterpret_cast<Search>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    if (node != nullptr && std::string_view{node} == "slow.example") {
        return leasehold::testing::search_slowly();
    }
    return real(node, service, hints, found);
}
