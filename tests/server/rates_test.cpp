#include "server/access/rates.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "server/token_fixture.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using server::Buckets;
using server::Rate;
using server::Role;

constexpr Buckets::Moment opened_at{};

TEST(Buckets, FillWithTheirRateUpToWhatMayComeAtOnce) {
    Buckets buckets{10};
    const Rate rate{.per_second = 2, .at_once = 3};
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(buckets.take("a", rate, 1, opened_at));
    EXPECT_DOUBLE_EQ(buckets.take("a", rate, 1, opened_at)->count(), 0.5);
    EXPECT_DOUBLE_EQ(buckets.take("a", rate, 1, opened_at + 250ms)->count(), 0.25);
    EXPECT_FALSE(buckets.take("a", rate, 1, opened_at + 500ms));
    EXPECT_TRUE(buckets.take("a", rate, 1, opened_at + 500ms));
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(buckets.take("a", rate, 1, opened_at + 1h));
    EXPECT_TRUE(buckets.take("a", rate, 1, opened_at + 1h));
    EXPECT_FALSE(buckets.take("b", rate, 1, opened_at));
}

TEST(Buckets, LetALargeAmountThroughAndCollectTheDebt) {
    Buckets buckets{10};
    const Rate rate{.per_second = 1, .at_once = 1};
    EXPECT_FALSE(buckets.take("a", rate, 10, opened_at));
    EXPECT_DOUBLE_EQ(buckets.take("a", rate, 1, opened_at)->count(), 10);
    EXPECT_TRUE(buckets.take("a", rate, 1, opened_at + 9s));
    EXPECT_FALSE(buckets.take("a", rate, 1, opened_at + 10s));
}

TEST(Buckets, AllowAsManyActionsAsTheyHold) {
    Buckets buckets{10};
    const Rate rate{.per_second = 2, .at_once = 3};
    const std::vector<double> five(5, 1.0);
    const Buckets::Taken taken = buckets.take_each("a", rate, five, opened_at);
    EXPECT_EQ(taken.allowed, (std::vector{true, true, true, false, false}));
    EXPECT_DOUBLE_EQ(taken.wait->count(), 0.5);
    // Nothing is owed: after a second there are two again.
    const Buckets::Taken later = buckets.take_each("a", rate, five, opened_at + 1s);
    EXPECT_EQ(later.allowed, (std::vector{true, true, false, false, false}));
    EXPECT_FALSE(buckets.take_each("a", rate, {}, opened_at).wait);
    // More than the bucket can ever hold needs a full one, and is owed.
    const std::vector<double> large{5, 1};
    EXPECT_EQ(buckets.take_each("b", rate, large, opened_at).allowed, (std::vector{true, false}));
    EXPECT_DOUBLE_EQ(buckets.take("b", rate, 1, opened_at)->count(), 1.5);
}

TEST(Buckets, TakeBoundedMemoryHoweverManyComeAndForgetTheOldFirst) {
    Buckets buckets{100};
    const Rate rate{.per_second = 1, .at_once = 2};
    for (int i = 0; i < 10'000; ++i) (void)buckets.take(std::to_string(i), rate, 1, opened_at);
    EXPECT_LE(buckets.size(), 101U);
    // Newcomers share what there is.
    EXPECT_TRUE(buckets.take("another", rate, 1, opened_at));
    EXPECT_FALSE(buckets.take("0", rate, 1, opened_at));
    // Clients that were not seen for a while make room.
    EXPECT_FALSE(buckets.take("another", rate, 1, opened_at + 1min));
    EXPECT_EQ(buckets.size(), 1U);
}

// So slow that nothing comes back while a test runs.
constexpr Rate three_in_all{.per_second = 1e-9, .at_once = 3};

TEST(RateLimits, ATokenThatAsksTooOftenLearnsWhenToAskAgain) {
    RunningServer server{memory::open(),
                         {.tokens = tokens({token("eager", {Role::see}), token("calm", {Role::see}),
                                            token("free", {Role::see}, "", Rate{})}),
                          .rate = three_in_all}};
    Client client = server.connect();
    const auto list = [&](const std::string& who) {
        return client.ask("GET", "/v1/locks", {}, shows(who));
    };
    for (int i = 0; i < 3; ++i) EXPECT_EQ(list("eager").status, 200U);
    Answer refused = list("eager");
    EXPECT_EQ(refused.status, 429U);
    EXPECT_EQ(refused.code(), "too_many_requests");
    EXPECT_EQ(refused.fields["retry-after"], "3600");
    EXPECT_EQ(list("calm").status, 200U);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(list("free").status, 200U);
    // Probes are never limited, nor do requests that are not allowed count.
    EXPECT_EQ(client.ask("GET", "/readyz", {}, shows("eager")).status, 200U);
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(client.ask("POST", "/v1/locks/A/1", "{}", shows("calm")).status, 403U);
    }
    EXPECT_EQ(list("calm").status, 200U);
    // Asking what one may do counts as everything else.
    EXPECT_EQ(client.ask("GET", "/v1/token", {}, shows("calm")).status, 200U);
    EXPECT_EQ(client.ask("GET", "/v1/token", {}, shows("calm")).status, 429U);
}

// As quotas do: a program does not get more while it changes its token.
TEST(RateLimits, AreOfAllTokensWithOneId) {
    server::Token old = token("shop", {Role::see});
    server::Token next = token("shop-2026", {Role::see});
    next.id = "shop";
    RunningServer server{memory::open(), {.tokens = tokens({old, next}), .rate = three_in_all}};
    Client client = server.connect();
    const auto list = [&](const std::string& who) {
        return client.ask("GET", "/v1/locks", {}, shows(who)).status;
    };
    EXPECT_EQ(list("shop"), 200U);
    EXPECT_EQ(list("shop-2026"), 200U);
    EXPECT_EQ(list("shop"), 200U);
    EXPECT_EQ(list("shop-2026"), 429U);
    EXPECT_EQ(list("shop"), 429U);
}

TEST(RateLimits, AFloodOfTriesNeverCostsALease) {
    RunningServer server{
        memory::open(),
        {.tokens = tokens({token("shop", {Role::use, Role::see})}), .rate = three_in_all}};
    Client client = server.connect();
    const auto take = [&] { return client.ask("POST", "/v1/locks/A/1", "{}", shows("shop")); };
    const std::string held = lock_token_of(take());
    while (take().status != 429) {
    }
    const auto renew = [&] {
        return client.ask("PATCH", "/v1/locks/A/1", R"({"ttl_ms":60000})", held + shows("shop"));
    };
    EXPECT_EQ(renew().status, 200U);
    EXPECT_EQ(client.ask("GET", "/v1/locks/A/1", {}, held + shows("shop")).status, 200U);
    EXPECT_EQ(client.ask("DELETE", "/v1/locks/A/1", {}, held + shows("shop")).status, 200U);
    EXPECT_EQ(renew().status, 429U);
}

class RateOfABatch : public ::testing::Test {
protected:
    Answer batch(const std::string& requests) {
        return client_.ask("POST", "/v1/batch", "{\"requests\":[" + requests + "]}", shows("shop"));
    }
    static std::string a_try(const std::string& id, const LockId& lock_id = LockId::random()) {
        return R"({"op":"try","type":"A","id":")" + id + R"(","lock_id":")" + lock_id.to_string() +
               "\"}";
    }

    RunningServer server_{memory::open(),
                          {.tokens = tokens({token("shop", {Role::use})}), .rate = three_in_all}};
    Client client_ = server_.connect();
};

TEST_F(RateOfABatch, LetsThroughAsManyTriesAsTheRateAllows) {
    std::string many = a_try("0");
    for (int i = 1; i < 10; ++i) many += "," + a_try(std::to_string(i));
    const Answer some = batch(many);
    ASSERT_EQ(some.status, 200U);
    const auto answers = some.json().at("answers").as_array();
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(answers.at(i).as_object().contains("lease"));
    for (std::size_t i = 3; i < 10; ++i) EXPECT_EQ(answers.at(i).at("fault").at("effect"), "none");
    EXPECT_EQ(server_.locks().list().size(), 3U);
    EXPECT_EQ(batch(many).status, 429U);
    EXPECT_EQ(server_.locks().list().size(), 3U);
}

TEST_F(RateOfABatch, CountsATryForSeveralKeysByItsKeys) {
    const auto all_of = [](int first, int keys) {
        std::string text = R"({"op":"try_all","keys":[)";
        for (int i = 0; i < keys; ++i) {
            text +=
                (i > 0 ? "," : "") + (R"({"type":"A","id":")" + std::to_string(first + i)) + "\"}";
        }
        return text + "]}";
    };
    EXPECT_EQ(batch(all_of(0, 2)).status, 200U);
    EXPECT_EQ(batch(all_of(2, 2)).status, 429U);
    EXPECT_EQ(batch(all_of(2, 1)).status, 200U);
    EXPECT_EQ(batch(all_of(3, 1)).status, 429U);
    EXPECT_EQ(server_.locks().list().size(), 3U);
}

TEST_F(RateOfABatch, CarriesOutTheRenewalsAlthoughThereWereTooManyTries) {
    const LockId mine = LockId::random();
    EXPECT_EQ(batch(a_try("0", mine) + "," + a_try("1") + "," + a_try("2")).status, 200U);
    const std::string renew = R"({"op":"renew","lock_id":")" + mine.to_string() + "\"}";
    const Answer mixed = batch(a_try("10") + "," + renew + "," + a_try("11"));
    ASSERT_EQ(mixed.status, 200U);
    const auto answers = mixed.json().at("answers").as_array();
    EXPECT_EQ(answers.at(0).at("fault").at("effect"), "none");
    EXPECT_TRUE(answers.at(1).as_object().contains("lease"));
    EXPECT_TRUE(answers.at(2).as_object().contains("fault"));
    EXPECT_EQ(server_.locks().list().size(), 3U);
    EXPECT_EQ(batch("").status, 200U);
}

// A holder of many leases renews them in one batch, and none of them is left out.
TEST_F(RateOfABatch, CarriesOutAllRenewalsOfABatchAndCountsThemAfterwards) {
    std::string renewals;
    for (int i = 0; i < 10; ++i) {
        const LockId mine = LockId::random();
        ASSERT_TRUE(server_.locks().try_lock({"A", std::to_string(i)}, {.lock_id = mine}));
        renewals +=
            (i > 0 ? "," : "") + (R"({"op":"renew","lock_id":")" + mine.to_string()) + "\"}";
    }
    const Answer renewed = batch(renewals);
    ASSERT_EQ(renewed.status, 200U);
    const auto answers = renewed.json().at("answers").as_array();
    for (const auto& answer : answers) {
        EXPECT_TRUE(answer.as_object().contains("lease"));
    }
    EXPECT_EQ(batch(renewals).status, 429U);
}

TEST(RateLimits, StrangersAreTurnedAwayAndNobodyElseIs) {
    // Per minute, so that the refill during the test does not matter.
    RunningServer server{memory::open(),
                         {.tokens = tokens({token("shop", {Role::see})}), .failed_tokens = 2}};
    const auto guess = [&] {
        Client client = server.connect();
        return client.ask("GET", "/v1/locks", {}, shows("nobody")).status;
    };
    EXPECT_EQ(guess(), 401U);
    EXPECT_EQ(guess(), 401U);
    Client good = server.connect();
    EXPECT_EQ(good.ask("GET", "/v1/locks", {}, shows("shop")).status, 200U);
    EXPECT_TRUE(eventually([&] { return guess() == 429; }));
    Client guessing = server.connect();
    Answer refused = guessing.ask("GET", "/v1/locks", {}, shows("nobody"));
    EXPECT_EQ(refused.status, 429U);
    EXPECT_TRUE(refused.fields.contains("retry-after"));
    EXPECT_EQ(refused.fields["connection"], "close");
    EXPECT_TRUE(guessing.closed());
    EXPECT_EQ(good.ask("GET", "/v1/locks", {}, shows("shop")).status, 200U);
}

}  // namespace
}  // namespace leasehold::testing
