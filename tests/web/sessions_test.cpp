#include <leasehold/web/sessions.hpp>
#include <leasehold/web/tab_locks.hpp>

#include <atomic>
#include <future>

#include "unit/faulty_store.hpp"
#include "unit/gated_store.hpp"
#include "web/page.hpp"

namespace leasehold::testing {
namespace {

class SessionsTest : public ::testing::Test {
protected:
    [[nodiscard]] bool take(const web::SignedIn& session, const char* id) {
        return locks.try_lock({"Order", id}, {.owner = session.visitor.owner_in("t")}).has_value();
    }
    [[nodiscard]] bool is_free(const char* id) { return locks.holders({"Order", id}).empty(); }

    ManualClock clock;
    FaultyStore* store = new FaultyStore{memory_store_on(clock)};
    LockManager locks{std::unique_ptr<Store>{store}};
    std::atomic<Duration> passed{};
    web::SessionsOptions options{.timeout = 30min, .most = 2, .clock = [this] {
                                     return SteadyClock::now() + passed.load();
                                 }};
};

TEST_F(SessionsTest, SigningOutReleasesAllLocksOfTheSession) {
    web::Sessions sessions{locks, options};
    const auto kim = sessions.sign_in("Kim");
    const auto lee = sessions.sign_in("Lee");
    EXPECT_EQ(sessions.sign_in("Park"), nullptr);
    EXPECT_EQ(sessions.find(kim->token), kim);
    EXPECT_EQ(sessions.find("other"), nullptr);
    EXPECT_NE(kim->token, kim->form_token);
    EXPECT_TRUE(take(*kim, "1") && take(*kim, "2") && take(*lee, "3"));
    EXPECT_FALSE(kim->visitor.has_left());
    sessions.sign_out(*kim);
    EXPECT_TRUE(is_free("1") && is_free("2"));
    EXPECT_FALSE(is_free("3"));
    EXPECT_TRUE(kim->visitor.has_left());
    EXPECT_EQ(sessions.find(kim->token), nullptr);
    sessions.sign_out(*kim);
    EXPECT_THROW((void)sessions.sign_in("a/b"), BadRequest);
}

TEST_F(SessionsTest, ATimeoutReleasesThemToo) {
    web::Sessions sessions{locks, options};
    const auto kim = sessions.sign_in("Kim");
    EXPECT_TRUE(take(*kim, "1"));
    passed = 29min;
    sessions.touch(*kim);
    passed = 58min;
    const web::Headers cookie{{"Cookie", "session=" + kim->token}};
    EXPECT_EQ(sessions.visitor({.method = "POST", .headers = cookie})->user(), "Kim");
    EXPECT_FALSE(sessions.visitor({}));
    passed = 87min;
    const auto ask = [&](const char* method) {
        return sessions.visitor(
            {.method = method, .target = "/v1/locks/Order/1?x", .headers = cookie});
    };
    EXPECT_TRUE(ask("PATCH")) << "its user is at work";
    passed = 116min;
    // A page waits and checks without its user.
    EXPECT_TRUE(ask("POST"));
    EXPECT_TRUE(ask("GET"));
    EXPECT_TRUE(sessions.visitor({.method = "GET", .headers = cookie}));
    EXPECT_EQ(sessions.find(kim->token), kim);
    passed = 119min;
    EXPECT_FALSE(sessions.visitor({.headers = cookie}));
    EXPECT_EQ(sessions.find(kim->token), nullptr);
    sessions.sweep();
    EXPECT_TRUE(eventually([&] { return is_free("1"); }));
}

TEST_F(SessionsTest, OneUserCannotTakeThePlacesOfOthers) {
    options.most_per_user = 2;
    options.most = 4;
    web::Sessions sessions{locks, options};
    const auto lee = sessions.sign_in("Lee");
    const auto first = sessions.sign_in("Kim");
    const auto second = sessions.sign_in("Kim");
    EXPECT_TRUE(take(*first, "1") && take(*second, "2"));
    passed = 1min;
    sessions.touch(*first);
    // The one that has not been used for longest ends.
    const auto third = sessions.sign_in("Kim");
    ASSERT_NE(third, nullptr);
    EXPECT_EQ(sessions.find(second->token), nullptr);
    EXPECT_TRUE(second->visitor.has_left());
    EXPECT_TRUE(is_free("2"));
    for (int i = 0; i < 10; ++i) EXPECT_NE(sessions.sign_in("Kim"), nullptr);
    EXPECT_EQ(sessions.find(lee->token), lee);
    EXPECT_NE(sessions.sign_in("Park"), nullptr);
}

TEST_F(SessionsTest, SessionsThatHoldLocksAfterTheirEndCountForTheirUser) {
    options.most_per_user = 2;
    options.most = 100;
    web::Sessions sessions{locks, options};
    store->fail(0, Fails::before_effect, 1'000'000);
    std::size_t signed_in = 0;
    for (int i = 0; i < 20; ++i) {
        const auto kim = sessions.sign_in("Kim");
        if (kim) ++signed_in;
    }
    EXPECT_EQ(signed_in, 4U);
    EXPECT_NE(sessions.sign_in("Lee"), nullptr);
}

// Three ways in which a session ends while the store does not answer.
class HangingSessionsTest : public SessionsTest {
protected:
    // Lets the store hang in the end of Kim's session.
    void hang_in(const std::function<void()>& end) {
        gate->close();
        ending = std::async(std::launch::async, end);
        ASSERT_TRUE(gate->wait_until_held());
    }
    ~HangingSessionsTest() override { gate->open(); }

    GatedStore* gate = new GatedStore{memory_store_on(clock)};
    LockManager gated{std::unique_ptr<Store>{gate}};
    std::future<void> ending;
};

TEST_F(HangingSessionsTest, ASessionThatIsBeingEndedCounts) {
    web::Sessions sessions{gated, options};
    const auto kim = sessions.sign_in("Kim");
    hang_in([&] { sessions.sign_out(*kim); });
    EXPECT_NE(sessions.sign_in("Lee"), nullptr);
    EXPECT_EQ(sessions.sign_in("Park"), nullptr);
    gate->open();
    ending.get();
    EXPECT_NE(sessions.sign_in("Park"), nullptr);
}

TEST_F(HangingSessionsTest, ASessionThatASweepEndsCounts) {
    web::Sessions sessions{gated, options};
    EXPECT_NE(sessions.sign_in("Kim"), nullptr);
    hang_in([&] {
        passed = 31min;
        sessions.sweep();
    });
    EXPECT_NE(sessions.sign_in("Lee"), nullptr);
    EXPECT_EQ(sessions.sign_in("Park"), nullptr);
    gate->open();
    EXPECT_TRUE(eventually([&] { return sessions.sign_in("Park") != nullptr; }));
    ending.get();
}

TEST_F(HangingSessionsTest, ADisplacedSessionCountsForItsUser) {
    options.most_per_user = 1;
    options.most = 100;
    web::Sessions sessions{gated, options};
    EXPECT_NE(sessions.sign_in("Kim"), nullptr);
    hang_in([&] { EXPECT_NE(sessions.sign_in("Kim"), nullptr); });
    EXPECT_EQ(sessions.sign_in("Kim"), nullptr);
    EXPECT_NE(sessions.sign_in("Lee"), nullptr);
    gate->open();
    ending.get();
    EXPECT_NE(sessions.sign_in("Kim"), nullptr);
}

TEST_F(SessionsTest, AReleaseThatFailsIsTriedAgain) {
    web::Sessions sessions{locks, options};
    const auto kim = sessions.sign_in("Kim");
    EXPECT_TRUE(take(*kim, "1"));
    store->fail(0, Fails::before_effect);
    sessions.sign_out(*kim);
    sessions.sweep();
    EXPECT_TRUE(eventually([&] { return is_free("1"); }));
}

TEST_F(SessionsTest, SessionsThatHoldLocksAfterTheirEndCount) {
    web::Sessions sessions{locks, options};
    const auto kim = sessions.sign_in("Kim");
    EXPECT_TRUE(sessions.sign_in("Lee"));
    EXPECT_TRUE(take(*kim, "1"));
    store->fail(0, Fails::before_effect, 1'000'000);
    sessions.sign_out(*kim);
    EXPECT_EQ(sessions.find(kim->token), nullptr);
    EXPECT_EQ(sessions.sign_in("Park"), nullptr);
    store->heal();
    EXPECT_TRUE(eventually([&] { return sessions.sign_in("Park") != nullptr; }));
    EXPECT_TRUE(is_free("1"));
}

TEST_F(SessionsTest, AShutdownReleasesTheLocksOfSessionsThatHaveEnded) {
    {
        web::Sessions sessions{locks, options};
        const auto kim = sessions.sign_in("Kim");
        EXPECT_TRUE(take(*kim, "1"));
        store->fail(0, Fails::before_effect, 1'000'000);
        sessions.sign_out(*kim);
        store->heal();
    }
    EXPECT_TRUE(is_free("1"));
}

TEST_F(SessionsTest, AShutdownKeepsTheLocksUnlessAsked) {
    {
        web::Sessions sessions{locks, options};
        EXPECT_TRUE(take(*sessions.sign_in("Kim"), "1"));
    }
    EXPECT_FALSE(is_free("1"));
    web::Sessions sessions{locks, options};
    EXPECT_TRUE(take(*sessions.sign_in("Lee"), "2"));
    sessions.end_all();
    EXPECT_TRUE(is_free("2"));
}

TEST_F(SessionsTest, ASignedOutPersonIsNotLeftWithALock) {
    web::Sessions sessions{locks, options};
    web::LockRoutes routes{locks, [](const auto&...) { return true; }, patient};
    const auto kim = sessions.sign_in("Kim");
    const Page page{routes, kim->visitor};
    const auto held = locks.try_lock({"Order", "1"}, {.owner = "Lee"});
    auto waiting =
        std::async(std::launch::async, [&] { return page.ask("POST", "Order/1", wait_body); });
    ASSERT_TRUE(eventually([&] { return !routes.waiting_for({"Order", "1"}).empty(); }));
    // The page's request came before the sign-out, and is granted after it.
    sessions.sign_out(*kim);
    (void)locks.release({"Order", "1"}, held->lock_id);
    EXPECT_EQ(waiting.get().status, 401);
    EXPECT_TRUE(eventually([&] { return is_free("1"); }));
    EXPECT_EQ(page.ask("POST", "Order/2", try_body).status, 401);
    EXPECT_TRUE(eventually([&] { return is_free("2"); }));
    web::TabLocks tab{locks, kim->visitor, "t", 1min};
    EXPECT_FALSE(tab.take({"Order", "3"}, Mode::exclusive));
    EXPECT_TRUE(is_free("3"));
}

TEST_F(SessionsTest, ATabIsNotLeftWithALockWhoseGrantItNeverLearntOf) {
    const web::Visitor kim{"Kim", "s-1"};
    web::TabLocks tab{locks, kim, "t", 1min};
    store->fail(0, Fails::after_effect);
    EXPECT_THROW((void)tab.take({"Order", "1"}, Mode::exclusive), StoreFault);
    EXPECT_TRUE(eventually([&] { return is_free("1"); }));
}

TEST(RandomToken, IsRandomAndComparedInConstantTime) {
    EXPECT_EQ(web::random_token(8).size(), 16U);
    EXPECT_NE(web::random_token(8), web::random_token(8));
    EXPECT_TRUE(web::is_same_secret("abc", "abc"));
    EXPECT_FALSE(web::is_same_secret("abc", "abd"));
    EXPECT_FALSE(web::is_same_secret("abc", "ab"));
}

}  // namespace
}  // namespace leasehold::testing
