#include <future>

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

class VanishingTest : public RoutesTest {
protected:
    VanishingTest()
        : RoutesTest{{.ttl = 300ms, .longest_wait = 60s, .place_kept = 0s, .sign_of_life = 20ms}} {}
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

TEST_F(VanishingTest, APlaceThatNobodyComesBackToIsGivenUp) {
    const auto kims = locks.try_lock(order, {.owner = "Kim"});
    EXPECT_EQ(lee.ask("POST", "Order/1", R"({"owner": "t", "wait_ms": 1})").status, 409);
    EXPECT_TRUE(waits(0));
    (void)locks.release(order, kims->lock_id);
    EXPECT_TRUE(is_free(order));
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

TEST_F(RoutesTest, StopWaitingAnswersEverybody) {
    (void)kim.ask("POST", "Order/1", try_body);
    auto first = waiting(lee);
    ASSERT_TRUE(waits(1));
    routes.stop_waiting();
    EXPECT_EQ(first.get().status, 409);
    EXPECT_EQ(lee.ask("POST", "Order/1", wait_body).status, 409);
}

TEST_F(RoutesTest, AnOwnerThatHoldsTheKeyDoesNotWaitForItself) {
    const std::string lock_id = kim.ask("POST", "Order/1", try_body).text("lock_id");
    const Answer again = kim.ask("POST", "Order/1", wait_body);
    EXPECT_EQ(again.status, 201);
    EXPECT_EQ(again.text("lock_id"), lock_id);
}

}  // namespace
}  // namespace leasehold::testing
