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

TEST(Buckets, TakeBoundedMemoryHoweverManyComeAndForgetTheOldFirst) {
    Buckets buckets{100};
    const Rate rate{.per_second = 1, .at_once = 2};
    for (int i = 0; i < 10'000; ++i) (void)buckets.take(std::to_string(i), rate, 1, opened_at);
    EXPECT_LE(buckets.size(), 101U);
    // Newcomers share what there is.
    EXPECT_TRUE(buckets.take("another", rate, 1, opened_at));
    EXPECT_FALSE(buckets.take("0", rate, 1, opened_at));
    // Those that were not seen for a while make room.
    EXPECT_FALSE(buckets.take("another", rate, 1, opened_at + 1min));
    EXPECT_EQ(buckets.size(), 1U);
}

// So slow that nothing comes back while a test runs.
constexpr Rate three_in_all{.per_second = 1e-9, .at_once = 3};

TEST(RateLimits, ATokenThatAsksTooOftenIsToldWhenToComeAgain) {
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

TEST(RateLimits, OfABatchOnlyTheTriesWaitWhenThereWereTooMany) {
    RunningServer server{memory::open(),
                         {.tokens = tokens({token("shop", {Role::use})}), .rate = three_in_all}};
    Client client = server.connect();
    const auto batch = [&](const std::string& requests) {
        return client.ask("POST", "/v1/batch", "{\"requests\":[" + requests + "]}", shows("shop"));
    };
    const auto a_try = [](const std::string& id, const LockId& lock_id) {
        return R"({"op":"try","type":"A","id":")" + id + R"(","lock_id":")" + lock_id.to_string() +
               "\"}";
    };
    const LockId mine = LockId::random();
    std::string many = a_try("0", mine);
    for (int i = 1; i < 10; ++i) many += "," + a_try(std::to_string(i), LockId::random());
    // As many at once as a batch holds; afterwards they are owed.
    EXPECT_EQ(batch(many).status, 200U);
    EXPECT_EQ(server.locks().list().size(), 10U);
    EXPECT_EQ(batch(many).status, 429U);

    const std::string renew = R"({"op":"renew","lock_id":")" + mine.to_string() + "\"}";
    const Answer mixed =
        batch(a_try("10", LockId::random()) + "," + renew + "," + a_try("11", LockId::random()));
    ASSERT_EQ(mixed.status, 200U);
    const auto answers = mixed.json().at("answers").as_array();
    EXPECT_EQ(answers.at(0).at("fault").at("effect"), "none");
    EXPECT_TRUE(answers.at(1).as_object().contains("lease"));
    EXPECT_TRUE(answers.at(2).as_object().contains("fault"));
    EXPECT_EQ(server.locks().list().size(), 10U);
    EXPECT_EQ(batch("").status, 200U);
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
