#include "web/page.hpp"

#include <algorithm>
#include <mutex>

#include <leasehold/request.hpp>

#include "core/knocks.hpp"
#include "unit/faulty_store.hpp"

namespace leasehold::testing {
namespace {

TEST_F(RoutesTest, APageTakesChecksRenewsAndReleases) {
    const std::string drawn = LockId::random().to_string();
    const Answer taken = kim.ask("POST", "Order/1", R"({"owner": "x/y/tab-1", "ttl_ms": 60000,
        "note": "prices", "max_hold_ms": 3600000})",
                                 drawn);
    EXPECT_EQ(taken.status, 201);
    EXPECT_EQ(taken.text("lock_id"), drawn);
    EXPECT_EQ(taken.text("owner"), "Kim/s-1/tab-1");
    EXPECT_EQ(taken.text("note"), "prices");
    EXPECT_EQ(taken.body.at("remaining_ms").to_number<int>(), 60'000);

    clock.advance(30s);
    const Answer renewed = kim.ask("PATCH", "Order/1", R"({"ttl_ms": 60000})", drawn);
    EXPECT_EQ(renewed.status, 200);
    EXPECT_EQ(renewed.body.at("remaining_ms").to_number<int>(), 60'000);
    EXPECT_EQ(kim.ask("GET", "Order/1", "", drawn).status, 200);
    EXPECT_EQ(kim.ask("DELETE", "Order/1", "", drawn).body.count("lease"), 1U);
    EXPECT_TRUE(is_free(order));
    EXPECT_EQ(kim.ask("DELETE", "Order/1", "", drawn).body.count("refused"), 1U);
    const Answer gone = kim.ask("GET", "Order/1", "", drawn);
    EXPECT_EQ(gone.status, 410);
    EXPECT_EQ(gone.text("reason"), "released");
}

TEST_F(RoutesTest, ARefusedPageLearnsWhoHoldsTheLock) {
    const std::string lock_id = kim.ask("POST", "Order/1", try_body).text("lock_id");
    const web::Response response = lee.send("POST", "Order/1", try_body);
    EXPECT_EQ(response.status, 409);
    EXPECT_EQ(response.content_type, "application/problem+json");
    EXPECT_TRUE(response.body.contains("Kim/s-1/t"));
    EXPECT_FALSE(response.body.contains(lock_id));
    const web::Response seen = lee.send("GET", "Order/1");
    EXPECT_EQ(seen.status, 200);
    EXPECT_TRUE(seen.body.contains("Kim/s-1/t"));
    EXPECT_FALSE(seen.body.contains(lock_id));
}

TEST_F(RoutesTest, AReloadedPageFindsItsLockAgain) {
    const std::string lock_id = kim.ask("POST", "Order/1", try_body).text("lock_id");
    EXPECT_EQ(kim.ask("DELETE", "Order/1?after_ms=60000", "", lock_id).status, 202);
    EXPECT_EQ(kim.ask("POST", "Order/1", try_body).text("lock_id"), lock_id);
    // A second tab is another owner.
    EXPECT_EQ(kim.ask("POST", "Order/1", R"({"owner": "other"})").status, 409);
}

TEST_F(RoutesTest, AClosedPageLosesItsLockSoon) {
    const std::string lock_id = kim.ask("POST", "Order/1", try_body).text("lock_id");
    EXPECT_EQ(kim.ask("DELETE", "Order/1?after_ms=20", "", lock_id).status, 202);
    EXPECT_TRUE(eventually([&] { return is_free(order); }));
    EXPECT_EQ(kim.ask("DELETE", "Order/1?after_ms=-1", "", lock_id).status, 400);
    EXPECT_EQ(kim.ask("DELETE", "Order/1?after_ms=soon", "", lock_id).status, 400);
}

TEST_F(RoutesTest, ThePageCannotExceedTheOptions) {
    const Answer taken =
        kim.ask("POST", "Order/1", R"({"owner": "t", "ttl_ms": 86400000, "max_hold_ms": 1e14})");
    EXPECT_EQ(taken.body.at("remaining_ms").to_number<int>(), 300'000);
    const std::string lock_id = taken.text("lock_id");
    for (int i = 0; i < 8 * 60; ++i) {
        clock.advance(1min);
        if (kim.ask("PATCH", "Order/1", R"({"ttl_ms": 86400000})", lock_id).status != 200) break;
    }
    EXPECT_TRUE(is_free(order));
}

TEST_F(RoutesTest, AnotherSessionsLockIdIsOfNoUse) {
    const std::string lock_id = kim.ask("POST", "Order/1", try_body).text("lock_id");
    const Answer checked = lee.ask("GET", "Order/1", "", lock_id);
    EXPECT_EQ(checked.status, 410);
    EXPECT_EQ(checked.text("reason"), "unknown");
    EXPECT_EQ(lee.ask("PATCH", "Order/1", R"({"ttl_ms": 1000})", lock_id).status, 410);
    EXPECT_EQ(lee.ask("DELETE", "Order/1", "", lock_id).status, 200);
    EXPECT_EQ(lee.ask("DELETE", "Order/1?after_ms=1", "", lock_id).status, 200);
    const Answer tried = lee.ask("POST", "Order/1", try_body, lock_id);
    EXPECT_EQ(tried.status, 410);
    EXPECT_EQ(tried.text("reason"), "unknown");
    EXPECT_FALSE(is_free(order));
    EXPECT_EQ(kim.ask("GET", "Order/2", "", lock_id).status, 410);
}

TEST_F(RoutesTest, AKeyOrAModeThatTheVisitorMayNotLockIsForbidden) {
    const std::string shared = R"({"owner": "t", "mode": "shared"})";
    for (const auto& answer : {kim.ask("POST", "Payroll/1", try_body), kim.ask("GET", "Payroll/1"),
                               kim.ask("POST", "Order/1", shared)}) {
        EXPECT_EQ(answer.status, 403);
        EXPECT_EQ(answer.text("code"), "forbidden");
    }
    EXPECT_EQ(kim.ask("POST", "PriceList/1", shared).status, 201);
}

TEST_F(RoutesTest, BadRequestsAreSaidSo) {
    EXPECT_EQ(kim.ask("POST", "Order", try_body).status, 404);
    EXPECT_EQ(kim.ask("POST", "Order/1/2/3", try_body).status, 404);
    EXPECT_EQ(kim.ask("POST", "Order/%zz", try_body).status, 400);
    EXPECT_EQ(kim.ask("POST", "Order/", try_body).status, 400);
    EXPECT_EQ(kim.ask("PUT", "Order/1").status, 405);
    EXPECT_EQ(kim.ask("GET", "Order/1/knock").status, 405);
    const auto any = kim.ask("POST", "Order/1", R"({"owner": "t", "mode": "any"})");
    EXPECT_EQ(any.status, 400);
    EXPECT_EQ(any.text("detail"), "the mode is \"any\"; expected \"exclusive\" or \"shared\"");
    EXPECT_EQ(kim.ask("POST", "Order/1", R"({"owner": "t", "colour": "red"})").status, 400);
    EXPECT_EQ(kim.ask("POST", "Order/1", R"({})").status, 400);
    EXPECT_EQ(kim.ask("POST", "Order/1", R"({"owner": "a b"})").status, 400);
    EXPECT_EQ(kim.ask("POST", "Order/1", "{").status, 400);
    EXPECT_EQ(kim.ask("POST", "Order/1", "").status, 400);
    EXPECT_EQ(kim.ask("POST", "Order/1", std::string(20'000, ' ')).status, 400);
    EXPECT_EQ(kim.ask("GET", "Order/1", "", "no-lock-id").status, 400);
    EXPECT_EQ(kim.ask("DELETE", "Order/1").status, 400);
    EXPECT_TRUE(is_free(order));
}

TEST_F(RoutesTest, KeysAreDecodedOnce) {
    EXPECT_EQ(kim.ask("POST", "Order/a%2Fb%2520", try_body).status, 201);
    EXPECT_FALSE(is_free({"Order", "a/b%20"}));
}

TEST_F(RoutesTest, StrangersGetTheFilesOnly) {
    EXPECT_EQ(routes.answer("GET", "/v1/locks/Order/1", {}, "", {}).status, 401);
    EXPECT_EQ(routes.answer("GET", "/client/leasehold.js", {}, "", {}).status, 200);
    EXPECT_EQ(routes.answer("POST", "/client/leasehold.js", {}, "", {}).status, 404);
    EXPECT_EQ(routes.answer("GET", "/other", {}, "", {}).status, 404);
    EXPECT_TRUE(web::LockRoutes::serves("/v1/locks/Order/1"));
    EXPECT_FALSE(web::LockRoutes::serves("/orders/1"));
}

TEST_F(RoutesTest, AKnockReachesTheHolder) {
    EXPECT_EQ(lee.ask("POST", "Order/1/knock", try_body).status, 404);
    const std::string lock_id = kim.ask("POST", "Order/1", try_body).text("lock_id");
    EXPECT_EQ(lee.ask("POST", "Order/1/knock", R"({"owner": "t", "message": "soon?"})").status,
              202);
    const auto heard = kim.ask("GET", "Order/1", "", lock_id).body.at("knocks").as_array();
    ASSERT_EQ(heard.size(), 1U);
    EXPECT_EQ(heard[0].at("by").as_string(), "Lee/s-2/t");
    EXPECT_EQ(heard[0].at("message").as_string(), "soon?");
    // The holder is not asked again at once.
    const web::Response early = lee.send("POST", "Order/1/knock", try_body);
    EXPECT_EQ(early.status, 429);
    EXPECT_NE(std::ranges::find(early.headers, "Retry-After", &web::Headers::value_type::first),
              early.headers.end());
    EXPECT_EQ(routes.knock(order, "Lee/s-2/t", "Hello?"), 1U);
    // A long message is cut between two letters.
    std::string long_message;
    for (int i = 0; i < 300; ++i) long_message += "가";
    const Page park{routes, {"Park", "s-3"}};
    park.ask("POST", "Order/1/knock", R"({"owner": "t", "message": ")" + long_message + "\"}");
    const auto again = kim.ask("PATCH", "Order/1", R"({"ttl_ms": 1000})", lock_id);
    ASSERT_EQ(again.body.at("knocks").as_array().size(), 2U);
    EXPECT_EQ(again.body.at("knocks").as_array()[1].at("message").as_string(),
              long_message.substr(0, 600));
    // The next holder was not asked.
    kim.ask("DELETE", "Order/1", "", lock_id);
    const std::string next = kim.ask("POST", "Order/1", try_body).text("lock_id");
    EXPECT_TRUE(kim.ask("GET", "Order/1", "", next).body.at("knocks").as_array().empty());
}

TEST_F(RoutesTest, OneUserReplacesNoKnocksOfOthers) {
    const std::string lock_id = kim.ask("POST", "Order/1", try_body).text("lock_id");
    EXPECT_EQ(lee.ask("POST", "Order/1/knock", try_body).status, 202);
    // Tabs and sessions as it likes.
    std::size_t heard = 0;
    for (std::size_t i = 0; i < 3 * Knocks::most_per_key; ++i) {
        const std::string number = std::to_string(i);
        const Page greedy{routes, {"Greedy", "s-" + number}};
        const Answer answer =
            greedy.ask("POST", "Order/1/knock", R"({"owner": "t)" + number + "\"}");
        if (answer.status == 202) ++heard;
    }
    EXPECT_LT(heard, Knocks::most_per_key);
    EXPECT_EQ(Page(routes, {"Park", "s-3"}).ask("POST", "Order/1/knock", try_body).status, 202);
    const auto knocks = kim.ask("GET", "Order/1", "", lock_id).body.at("knocks").as_array();
    EXPECT_EQ(knocks.front().at("by").as_string(), "Lee/s-2/t");
    EXPECT_EQ(knocks.back().at("by").as_string(), "Park/s-3/t");
}

TEST_F(RoutesTest, AKnockReachesEachOfSeveralHolders) {
    const std::string shared = R"({"owner": "t", "mode": "shared"})";
    const std::string kims = kim.ask("POST", "PriceList/1", shared).text("lock_id");
    EXPECT_EQ(Page(routes, {"Park", "s-3"}).ask("POST", "PriceList/1/knock", try_body).status, 202);
    // This holder came later, and was not asked.
    const std::string lees = lee.ask("POST", "PriceList/1", shared).text("lock_id");
    EXPECT_TRUE(lee.ask("GET", "PriceList/1", "", lees).body.at("knocks").as_array().empty());
    EXPECT_EQ(kim.ask("GET", "PriceList/1", "", kims).body.at("knocks").as_array().size(), 1U);
}

class BrokenStoreTest : public ::testing::Test {
protected:
    [[nodiscard]] bool is_free(const LockKey& key) {
        const Request ask = Holders{key};
        Outcome outcome;
        store->inner().apply({&ask, 1}, {&outcome, 1});
        return std::get<HolderPage>(outcome).empty();
    }

    ManualClock clock;
    FaultyStore* store = new FaultyStore{memory_store_on(clock)};
    LockManager locks{std::unique_ptr<Store>{store}};
    std::mutex mutex;
    std::string log;  // guarded by mutex
    web::LockRoutes routes{locks,
                           [](const auto&...) { return true; },
                           {.longest_wait = 60s,
                            .place_kept = 1h,
                            .sign_of_life = 1h,
                            .on_fault = [this](const StoreFault& fault) {
                                const std::lock_guard lock{mutex};
                                log += fault.what();
                            }}};
    const LockKey order{"Order", "1"};
    const Page kim{routes, {"Kim", "s-1"}};
};

TEST_F(BrokenStoreTest, AFaultIsInTheLogAndNotInThePage) {
    store->fail(0, Fails::before_effect);
    const web::Response failed = kim.send("POST", "Order/1", try_body);
    EXPECT_EQ(failed.status, 503);
    EXPECT_FALSE(failed.body.contains("the connection was lost")) << failed.body;
    EXPECT_TRUE(failed.body.contains(R"("effect":"none")")) << failed.body;
    const std::lock_guard lock{mutex};
    EXPECT_EQ(log, "the connection was lost");
    EXPECT_EQ(kim.ask("POST", "Order/1", try_body).status, 201);
}

TEST_F(BrokenStoreTest, ALockIdThatThePageDoesNotKnowIsReleasedAfterAFault) {
    store->fail(0, Fails::after_effect);
    EXPECT_EQ(kim.ask("POST", "Order/1", try_body).status, 503);
    EXPECT_TRUE(eventually([&] { return is_free(order); }));
    // A page that knows the lock id asks again with it.
    const std::string drawn = LockId::random().to_string();
    store->fail(1, Fails::after_effect);
    EXPECT_EQ(kim.ask("POST", "Order/1", try_body, drawn).status, 503);
    EXPECT_FALSE(is_free(order));
    EXPECT_EQ(kim.ask("POST", "Order/1", try_body, drawn).text("lock_id"), drawn);
}

TEST_F(BrokenStoreTest, APageThatWithdrawsAfterAFaultIsNotLeftWithTheLock) {
    const LockId held = LockId::random();
    const Request take = TryLock{.key = order, .lock_id = held, .owner = "Lee", .ttl = 1h};
    const Request release = leasehold::Release{.key = order, .lock_id = held};
    Outcome outcome;
    store->inner().apply({&take, 1}, {&outcome, 1});
    const std::string drawn = LockId::random().to_string();
    EXPECT_EQ(kim.ask("POST", "Order/1", R"({"owner": "t", "wait_ms": 1})", drawn).status, 409);
    // The page's place is granted the lock, and the answers of the store are lost.
    store->fail(0, Fails::after_effect, 1'000'000);
    store->inner().apply({&release, 1}, {&outcome, 1});
    ASSERT_TRUE(eventually([&] { return !is_free(order); }));
    EXPECT_EQ(kim.ask("DELETE", "Order/1", "", drawn).status, 503);
    EXPECT_TRUE(eventually([&] { return is_free(order); }));
}

}  // namespace
}  // namespace leasehold::testing
