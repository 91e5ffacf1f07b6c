#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <pthread.h>

#include <leasehold/errors.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "net/http_connection.hpp"
#include "net/lookup.hpp"
#include "unit/waiting.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

// The system's lookup of "slow.example", which finds nothing once the test releases it.
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

std::string fault_of(net::HttpConnection& connection, std::chrono::milliseconds within) {
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
    slow_search.begun = slow_search.ended = 0;
    slow_search.let_go = false;
    net::HttpConnection connection{{.what = "the server", .host = "slow.example", .port = 1}};
    for (int i = 0; i < 2; ++i) EXPECT_EQ(fault_of(connection, 1ms), name + "no answer in time");
    EXPECT_TRUE(eventually([] { return slow_search.begun == 1; }));
    {
        net::HttpConnection brief{{.what = "the server", .host = "slow.example", .port = 1}};
        EXPECT_EQ(fault_of(brief, 1ms), name + "no answer in time");
    }
    EXPECT_EQ(slow_search.ended, 0);
    slow_search.let_go = true;
    EXPECT_EQ(fault_of(connection, patience), name + "Host not found (authoritative)");
    EXPECT_TRUE(eventually([] { return slow_search.ended == 2; }));
}

TEST(ANameThatIsFoundSlowly, IsSearchedForAgainWhenWhatWasFoundIsOld) {
    for (const auto kept_for : {0ms, 3'600'000ms}) {
        net::Lookup lookup{"slow.example", 1, kept_for};
        const int before = slow_search.ended;
        slow_search.let_go = false;
        EXPECT_FALSE(lookup.find(std::chrono::steady_clock::now() + 1ms));
        slow_search.let_go = true;
        ASSERT_TRUE(eventually([&] { return slow_search.ended > before; }));
        EXPECT_TRUE(lookup.find(std::chrono::steady_clock::now() + patience)->error);
        EXPECT_EQ(slow_search.ended - before, kept_for == 0ms ? 2 : 1);
    }
}

// As where the system has no room for another thread: each wants a stack that fits nowhere.
class NoMoreThreads {
public:
    NoMoreThreads() {
        pthread_attr_t attributes;
        pthread_getattr_default_np(&attributes);
        pthread_attr_getstacksize(&attributes, &usual_);
        pthread_attr_destroy(&attributes);
        want(std::size_t{1} << 52U);
    }
    NoMoreThreads(const NoMoreThreads&) = delete;
    NoMoreThreads& operator=(const NoMoreThreads&) = delete;
    ~NoMoreThreads() { want(usual_); }

private:
    static void want(std::size_t stack_bytes) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, stack_bytes);
        EXPECT_EQ(pthread_setattr_default_np(&attributes), 0);
        pthread_attr_destroy(&attributes);
    }

    std::size_t usual_ = 0;
};

TEST(ANameThatCannotBeSearchedFor, IsSearchedForTheNextTime) {
    const std::string name = "the server at none.example:1: cannot be found: ";
    net::HttpConnection connection{{.what = "the server", .host = "none.example", .port = 1}};
    {
        const NoMoreThreads no_more;
        EXPECT_EQ(fault_of(connection, patience), name + "Resource temporarily unavailable");
    }
    EXPECT_EQ(fault_of(connection, patience), name + "Host not found (authoritative)");
}

}  // namespace
}  // namespace leasehold::testing

// Stands before the C library's for the whole program.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** found) {
    using Search = decltype(&getaddrinfo);
    static const auto real = reinterpret_cast<Search>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    const std::string_view name = node != nullptr ? node : "";
    if (name == "slow.example") return leasehold::testing::search_slowly();
    if (name == "none.example") return EAI_NONAME;
    return real(node, service, hints, found);
}
