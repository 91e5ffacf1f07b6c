#include <algorithm>
#include <future>
#include <utility>
#include <variant>
#include <vector>

#include <leasehold/request.hpp>

#include "unit/gated_store.hpp"
#include "web/page.hpp"

namespace leasehold::testing {
namespace {

std::future<Answer> waiting(const Page& page, std::string lock_id = {},
                            std::stop_token client_gone = {}) {
    return std::async(std::launch::async,
                      [&page, id = std::move(lock_id), gone = std::move(client_gone)] {
                          return page.ask("POST", "Order/1", wait_body, id, gone);
                      });
}

TEST_F(RoutesTest, WaitersAreServedInTheirOrder) {
    const std::string kims = kim.ask("POST", "Order/1", try_body).text("lock_id");
    const Page park{routes, {"Park", "s-3"}};
    auto second = waiting(lee);
    ASSERT_TRUE(waits(1));
    auto third = waiting(park);
    ASSERT_TRUE(waits(2));
    EXPECT_EQ(routes.waiting_for(order), (std::vector<std::string>{"Lee/s-2/t", "Park/s-3/t"}));
    EXPECT_EQ(kim.ask("GET", "Order/1").body.at("waiting").as_array().size(), 2U);
    kim.ask("DELETE", "Order/1", "", kims);
    const Answer lees = second.get();
    EXPECT_EQ(lees.status, 201);
    EXPECT_EQ(routes.waiting_for(order), std::vector<std::string>{"Park/s-3/t"});
    lee.ask("DELETE", "Order/1", "", lees.text("lock_id"));
    EXPECT_EQ(third.get().status, 201);
}

class KeptPlaceTest : public RoutesTest {
protected:
    KeptPlaceTest() : RoutesTest{{.longest_wait = 60s, .place_kept = 1h, .sign_of_life = 1h}} {}
};

TEST_F(KeptPlaceTest, ThePlaceOutlivesTheRequest) {
    const std::string kims = kim.ask("POST", "Order/1", try_body).text("lock_id");
    const std::string drawn = LockId::random().to_string();
    const Answer late = lee.ask("POST", "Order/1", R"({"owner": "t", "wait_ms": 1})", drawn);
    EXPECT_EQ(late.status, 409);
    EXPECT_EQ(late.text("code"), "held");
    EXPECT_EQ(late.body.at("holders").as_array().size(), 1U);
    const Page park{routes, {"Park", "s-3"}};
    auto other = waiting(park);
    ASSERT_TRUE(waits(2));
    kim.ask("DELETE", "Order/1", "", kims);
    // Lee was first: the lock is kept for it until it asks again.
    const Answer lees = lee.ask("POST", "Order/1", wait_body, drawn);
    EXPECT_EQ(lees.status, 201);
    EXPECT_EQ(lees.text("lock_id"), drawn);
    lee.ask("DELETE", "Order/1", "", drawn);
    EXPECT_EQ(other.get().status, 201);
}

TEST_F(RoutesTest, APageThatWithdrawsLeavesTheLine) {
    const std::string kims = kim.ask("POST", "Order/1", try_body).text("lock_id");
    const std::string drawn = LockId::random().to_string();
    auto left = waiting(lee, drawn);
    ASSERT_TRUE(waits(1));
    EXPECT_EQ(lee.ask("DELETE", "Order/1", "", drawn).status, 200);
    EXPECT_EQ(left.get().status, 409);
    EXPECT_TRUE(routes.waiting_for(order).empty());
    kim.ask("DELETE", "Order/1", "", kims);
    EXPECT_TRUE(is_free(order));
}

TEST_F(RoutesTest, AClientThatVanishesLeavesTheLine) {
    const std::string kims = kim.ask("POST", "Order/1", try_body).text("lock_id");
    std::stop_source gone;
    auto left = waiting(lee, LockId::random().to_string(), gone.get_token());
    ASSERT_TRUE(waits(1));
    gone.request_stop();
    EXPECT_EQ(left.get().status, 409);
    EXPECT_TRUE(routes.waiting_for(order).empty());
    kim.ask("DELETE", "Order/1", "", kims);
    EXPECT_TRUE(is_free(order));
    // Gone before it waited.
    EXPECT_EQ(kim.ask("POST", "Order/1", try_body).status, 201);
    EXPECT_EQ(lee.ask("POST", "Order/1", wait_body, "", gone.get_token()).status, 409);
}

TEST_F(RoutesTest, AGrantThatCouldNotBeSentIsReleased) {
    const std::string kims = kim.ask("POST", "Order/1", try_body).text("lock_id");
    auto response =
        std::async(std::launch::async, [&] { return lee.send("POST", "Order/1", wait_body); });
    ASSERT_TRUE(waits(1));
    kim.ask("DELETE", "Order/1", "", kims);
    const web::Response granted = response.get();
    EXPECT_EQ(granted.status, 201);
    EXPECT_FALSE(is_free(order));
    ASSERT_TRUE(granted.if_unsent);
    granted.if_unsent();
    EXPECT_TRUE(eventually([&] { return is_free(order); }));
}

TEST_F(RoutesTest, ALeaseThatThePageHadBeforeIsNotReleasedIfTheResponseWasNotSent) {
    ASSERT_EQ(kim.ask("POST", "Order/1", try_body).status, 201);
    const web::Response again = kim.send("POST", "Order/1", wait_body);
    EXPECT_EQ(again.status, 201);
    EXPECT_FALSE(again.if_unsent);
}

TEST_F(RoutesTest, TheNextRequestOfAPageTakesOverItsPlace) {
    const std::string kims = kim.ask("POST", "Order/1", try_body).text("lock_id");
    const std::string drawn = LockId::random().to_string();
    auto first = waiting(lee, drawn);
    ASSERT_TRUE(waits(1));
    auto second = waiting(lee, drawn);
    EXPECT_EQ(first.get().status, 409);
    EXPECT_EQ(routes.waiting_for(order).size(), 1U);
    kim.ask("DELETE", "Order/1", "", kims);
    EXPECT_EQ(second.get().status, 201);
}

TEST_F(RoutesTest, APageWaitsInEachModeByItself) {
    const std::string kims = kim.ask("POST", "PriceList/1", try_body).text("lock_id");
    const auto wait_in = [&](const char* mode) {
        return std::async(std::launch::async, [&, mode] {
            return lee.ask(
                "POST", "PriceList/1",
                R"({"owner": "t", "wait_ms": 60000, "mode": ")" + std::string{mode} + "\"}");
        });
    };
    const LockKey list{"PriceList", "1"};
    auto reads = wait_in("shared");
    ASSERT_TRUE(eventually([&] { return routes.waiting_for(list).size() == 1; }));
    auto writes = wait_in("exclusive");
    EXPECT_TRUE(eventually([&] { return routes.waiting_for(list).size() == 2; }));
    kim.ask("DELETE", "PriceList/1", "", kims);
    EXPECT_EQ(reads.get().text("mode"), "shared");
    EXPECT_EQ(writes.get().text("mode"), "exclusive");
}

class VanishingTest : public RoutesTest {
protected:
    VanishingTest()
        : RoutesTest{{.ttl = 300ms, .longest_wait = 60s, .place_kept = 0s, .sign_of_life = 20ms}} {}

    static constexpr auto due = 170ms;
};

TEST_F(VanishingTest, AGrantWithoutASignOfThePageIsReleased) {
    // The store's clock stands still, so the lease does not expire.
    const auto kims = locks.try_lock(order, {.owner = "Kim"});
    auto granted = waiting(lee);
    ASSERT_TRUE(waits(1));
    (void)locks.release(order, kims->lock_id);
    const Answer lees = granted.get();
    EXPECT_EQ(lees.status, 201);
    EXPECT_TRUE(eventually([&] { return is_free(order); }));
}

TEST_F(VanishingTest, ACheckIsASignOfThePage) {
    for (bool in_time = false; !in_time;) {
        const auto kims = locks.try_lock(order, {.owner = "Kim"});
        auto granted = waiting(lee);
        ASSERT_TRUE(waits(1));
        const auto asked_at = SteadyClock::now();
        (void)locks.release(order, kims->lock_id);
        const std::string lees = granted.get().text("lock_id");
        const int status = lee.ask("GET", "Order/1", "", lees).status;
        in_time = SteadyClock::now() - asked_at < due;
        if (in_time) {
            EXPECT_EQ(status, 200);
            // Releases come in the order in which they are due.
            const LockKey other{"Order", "2"};
            locks.release_after(*locks.try_lock(other), due);
            EXPECT_TRUE(eventually([&] { return is_free(other); }));
            EXPECT_FALSE(is_free(order));
        }
        (void)lee.ask("DELETE", "Order/1", "", lees);
    }
}

// <leasehold-guard> renews then at the latest.
TEST(AGrantAfterAWait, LeavesThePageHalfOfTheTtlForASign) {
    ManualClock clock;
    auto* const store = new GatedStore{memory_store_on(clock)};
    LockManager locks{std::unique_ptr<Store>{store}};
    web::LockRoutes routes{locks,
                           [](const auto&...) { return true; },
                           {.ttl = 600ms, .longest_wait = 60s, .sign_of_life = 0s}};
    const Page lee{routes, {"Lee", "s-2"}};
    const LockKey order{"Order", "1"};
    const LockKey other{"Order", "2"};
    const auto kims = locks.try_lock(order, {.owner = "Kim"});
    auto granted = waiting(lee);
    ASSERT_TRUE(eventually([&] { return !routes.waiting_for(order).empty(); }));
    locks.release_after(*locks.try_lock(other), 290ms);
    (void)locks.release(order, kims->lock_id);
    EXPECT_EQ(granted.get().status, 201);
    const auto released = [&] {
        std::vector<LockKey> keys;
        for (const auto& batch : store->batches()) {
            for (const Request& request : batch) {
                const auto* release = std::get_if<leasehold::Release>(&request);
                if (release != nullptr) keys.push_back(*release->key);
            }
        }
        return keys;
    };
    ASSERT_TRUE(eventually([&] { return released().size() == 3; }));
    EXPECT_EQ(released(), (std::vector{order, other, order}));
}

TEST_F(VanishingTest, APlaceThatNobodyComesBackToIsGivenUp) {
    const auto kims = locks.try_lock(order, {.owner = "Kim"});
    EXPECT_EQ(lee.ask("POST", "Order/1", R"({"owner": "t", "wait_ms": 1})").status, 409);
    EXPECT_TRUE(waits(0));
    (void)locks.release(order, kims->lock_id);
    // A try that was under way when the place was given up may be granted and released.
    EXPECT_TRUE(eventually([&] { return is_free(order); }));
}

class FewWaitersTest : public RoutesTest {
protected:
    FewWaitersTest() : RoutesTest{{.longest_wait = 60s, .waiting = 1, .sign_of_life = 1h}} {}
};

TEST_F(FewWaitersTest, TooManyAreSentAway) {
    const std::string kims = kim.ask("POST", "Order/1", try_body).text("lock_id");
    auto first = waiting(lee);
    ASSERT_TRUE(waits(1));
    EXPECT_EQ(Page(routes, {"Park", "s-3"}).ask("POST", "Order/1", wait_body).status, 429);
    kim.ask("DELETE", "Order/1", "", kims);
    EXPECT_EQ(first.get().status, 201);
}

class FewPlacesTest : public RoutesTest {
protected:
    FewPlacesTest()
        : RoutesTest{{.longest_wait = 60s, .waiting_per_user = 1, .sign_of_life = 1h}} {}
};

TEST_F(FewPlacesTest, OneUserCannotFillTheLines) {
    (void)kim.ask("POST", "Order/1", try_body);
    (void)kim.ask("POST", "PriceList/1", try_body);
    auto first = waiting(lee);
    ASSERT_TRUE(waits(1));
    EXPECT_EQ(lee.ask("POST", "PriceList/1", wait_body).status, 429);
    const Page lees_other{routes, {"Lee", "s-9"}};
    EXPECT_EQ(lees_other.ask("POST", "PriceList/1", wait_body).status, 429);
    EXPECT_TRUE(routes.waiting_for({"PriceList", "1"}).empty());
    const Page park{routes, {"Park", "s-3"}};
    auto other = waiting(park);
    EXPECT_TRUE(waits(2));
    routes.stop_waiting();
}

class FewThreadsTest : public RoutesTest {
protected:
    FewThreadsTest() : FewThreadsTest{1, 1} {}
    FewThreadsTest(std::size_t in_all, std::size_t per_user)
        : RoutesTest{{.longest_wait = 60s,
                      .waiting_threads = in_all,
                      .waiting_threads_per_user = per_user,
                      .place_kept = 1h,
                      .sign_of_life = 1h}} {}

    const Page park{routes, {"Park", "s-3"}};
};

TEST_F(FewThreadsTest, APageWithoutAThreadKeepsItsPlaceAndAsksAgain) {
    const std::string kims = kim.ask("POST", "Order/1", try_body).text("lock_id");
    auto first = waiting(lee);
    ASSERT_TRUE(waits(1));
    for (int i = 0; i < 2; ++i) {
        const web::Response response = park.send("POST", "Order/1", wait_body);
        EXPECT_EQ(response.status, 429);
        EXPECT_NE(std::ranges::find(response.headers,
                                    std::pair<std::string, std::string>{"Retry-After", "3"}),
                  response.headers.end());
        EXPECT_EQ(routes.waiting_for(order), (std::vector<std::string>{"Lee/s-2/t", "Park/s-3/t"}));
    }
    kim.ask("DELETE", "Order/1", "", kims);
    const Answer lees = first.get();
    EXPECT_EQ(lees.status, 201);
    // Another page has the thread when the lock is granted.
    (void)kim.ask("POST", "PriceList/1", try_body);
    auto other =
        std::async(std::launch::async, [&] { return lee.ask("POST", "PriceList/1", wait_body); });
    EXPECT_TRUE(eventually([&] { return !routes.waiting_for({"PriceList", "1"}).empty(); }));
    lee.ask("DELETE", "Order/1", "", lees.text("lock_id"));
    ASSERT_TRUE(waits(0));
    EXPECT_EQ(park.ask("POST", "Order/1", wait_body).status, 201);
    routes.stop_waiting();
}

TEST_F(FewThreadsTest, ARequestThatKeepsNoThreadWaits) {
    const std::string kims = kim.ask("POST", "Order/1", try_body).text("lock_id");
    auto first = waiting(lee);
    ASSERT_TRUE(waits(1));
    std::promise<web::Response> answered;
    routes.answer({.method = "POST",
                   .target = "/v1/locks/Order/1",
                   .headers = {{"Content-Type", "application/json"}},
                   .body = wait_body},
                  web::Visitor{"Park", "s-3"},
                  [&](web::Response response) { answered.set_value(std::move(response)); });
    EXPECT_TRUE(waits(2));
    kim.ask("DELETE", "Order/1", "", kims);
    lee.ask("DELETE", "Order/1", "", first.get().text("lock_id"));
    EXPECT_EQ(answered.get_future().get().status, 201);
}

class FewThreadsForOneTest : public FewThreadsTest {
protected:
    FewThreadsForOneTest() : FewThreadsTest{2, 1} {}
};

TEST_F(FewThreadsForOneTest, OneUserCannotTakeAllThreads) {
    (void)kim.ask("POST", "Order/1", try_body);
    auto first = waiting(lee);
    ASSERT_TRUE(waits(1));
    EXPECT_EQ(lee.ask("POST", "Order/1", R"({"owner": "u", "wait_ms": 60000})").status, 429);
    const Page lees_other{routes, {"Lee", "s-9"}};
    EXPECT_EQ(lees_other.ask("POST", "Order/1", wait_body).status, 429);
    auto other = waiting(park);
    ASSERT_TRUE(waits(4));
    routes.stop_waiting();
    EXPECT_EQ(other.get().status, 409);
}

TEST_F(RoutesTest, StopWaitingAnswersEverybody) {
    (void)kim.ask("POST", "Order/1", try_body);
    auto first = waiting(lee);
    ASSERT_TRUE(waits(1));
    routes.stop_waiting();
    EXPECT_EQ(first.get().status, 409);
    EXPECT_EQ(lee.ask("POST", "Order/1", wait_body).status, 409);
    EXPECT_TRUE(routes.waiting_for(order).empty());
}

TEST_F(RoutesTest, AnOwnerThatHoldsTheKeyDoesNotWaitForItself) {
    const std::string lock_id = kim.ask("POST", "Order/1", try_body).text("lock_id");
    const Answer again = kim.ask("POST", "Order/1", wait_body);
    EXPECT_EQ(again.status, 201);
    EXPECT_EQ(again.text("lock_id"), lock_id);
}

}  // namespace
}  // namespace leasehold::testing
