#include <string>
#include <vector>

#include "core/knocks.hpp"
#include "server/event_client.hpp"
#include "server/server_fixture.hpp"
#include "unit/faulty_store.hpp"
#include "unit/gated_store.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

class Knocking : public ServerTest {
protected:
    Answer knock(std::string_view body = R"({"owner":"bob","message":"May I?"})") {
        return server_.connect().ask("POST", "/v1/locks/Order/1/knock", body);
    }
};

TEST_F(Knocking, TellsTheHolderAndSaysWhoThatIs) {
    const auto held = server_.locks().try_lock(order, {.owner = "alice", .note = "editing"});
    EventClient events{server_.port(), "?owner=alice"};
    EventClient knocker{server_.port(), "?owner=bob"};
    const Answer answer = knock(R"({"owner":"bob","message":"May I?\nIt is urgent."})");
    EXPECT_EQ(answer.status, 202U);
    const auto holders = answer.json().at("holders").as_array();
    ASSERT_EQ(holders.size(), 1U);
    EXPECT_EQ(holders[0].at("owner").as_string(), "alice");
    EXPECT_EQ(holders[0].at("fence").as_int64(), held->fence);
    EXPECT_FALSE(holders[0].as_object().contains("lock_id"));

    const SentEvent knocked = events.next();
    EXPECT_EQ(knocked.name, "knocked");
    EXPECT_EQ(knocked.text("type") + knocked.text("id"), "Order1");
    EXPECT_EQ(knocked.text("owner"), "alice");
    EXPECT_EQ(knocked.fence(), held->fence);
    EXPECT_EQ(knocked.text("by"), "bob");
    EXPECT_EQ(knocked.text("message"), "May I?\nIt is urgent.");
    EXPECT_GE(knocked.text("store_now"), knocked.text("granted_at"));
    EXPECT_EQ(events.bytes().find(held->lock_id.to_string()), std::string::npos);
    EXPECT_EQ(knocker.bytes().find("knocked"), std::string::npos);
}

TEST_F(Knocking, TellsEveryHolderOfASharedKey) {
    for (const char* owner : {"a", "b", "c"}) {
        (void)server_.locks().try_lock(order, {.owner = owner, .mode = Mode::shared});
    }
    EventClient events{server_.port()};
    EXPECT_EQ(knock().json().at("holders").as_array().size(), 3U);
    std::string owners;
    for (int i = 0; i < 3; ++i) owners += events.next().text("owner");
    EXPECT_EQ(owners, "abc");
}

TEST_F(Knocking, IsHeardByAHolderThatOnlyAsksForItsLease) {
    const auto held = server_.locks().try_lock(order, {.owner = "alice"});
    Client client = server_.connect();
    const std::string target = "/v1/locks/Order/1";
    const std::string mine = lock_token(held->lock_id.to_string());
    EXPECT_FALSE(client.ask("GET", target, {}, mine).json().as_object().contains("knocks"));
    EXPECT_EQ(knock().status, 202U);
    EXPECT_EQ(knock(R"({"message":"Me too"})").status, 202U);

    const auto heard = [](const Answer& answer) {
        EXPECT_EQ(answer.status, 200U) << answer.body;
        std::string all;
        const auto lease = answer.json();
        for (const auto& one : lease.at("knocks").as_array()) {
            all.append(std::string_view{one.at("by").as_string()}).append(": ");
            all.append(std::string_view{one.at("message").as_string()}).append(". ");
            EXPECT_EQ(one.at("at").as_string().size(), lease.at("store_now").as_string().size());
        }
        return all;
    };
    const std::string both = "bob: May I?. : Me too. ";
    EXPECT_EQ(heard(client.ask("GET", target, {}, mine)), both);
    EXPECT_EQ(heard(client.ask("PATCH", target, R"({"ttl_ms":600000})", mine)), both);
    EXPECT_EQ(heard(client.ask("PATCH", target, R"({"extend_ms":1000})", mine)), both);

    const std::string id = R"(","lock_id":")" + held->lock_id.to_string() + "\"";
    const auto answers =
        client
            .ask("POST", "/v1/batch",
                 R"({"requests":[{"op":"renew","type":"Order","id":"1)" + id +
                     R"(,"ttl_ms":600000},{"op":"check","type":"Order","id":"1)" + id + "}]}")
            .json();
    for (const auto& answer : answers.at("answers").as_array()) {
        EXPECT_EQ(answer.at("lease").at("knocks").as_array().size(), 2U);
    }
    // A client without the secret, and the next holder, do not see it.
    EXPECT_EQ(client.ask("GET", target).body.find("knocks"), std::string::npos);
    EXPECT_TRUE(server_.locks().release(order, held->lock_id));
    const auto next = server_.locks().try_lock(order, {.owner = "bob"});
    const Answer fresh = client.ask("GET", target, {}, lock_token(next->lock_id.to_string()));
    EXPECT_EQ(fresh.body.find("knocks"), std::string::npos);
}

TEST_F(Knocking, NeedsSomebodyInside) {
    const Answer answer = knock();
    EXPECT_EQ(answer.status, 404U);
    EXPECT_EQ(answer.code(), "not_held");
    const auto held = server_.locks().try_lock(order);
    EXPECT_EQ(knock().status, 202U);
    EXPECT_TRUE(server_.locks().release(order, held->lock_id));
    EXPECT_EQ(knock().code(), "not_held");
}

TEST_F(Knocking, IsNoHammering) {
    (void)server_.locks().try_lock(order);
    EXPECT_EQ(knock().status, 202U);
    const Answer again = knock(R"({"owner":"bob","message":"Now?"})");
    EXPECT_EQ(again.status, 429U);
    EXPECT_EQ(again.code(), "too_many_requests");
    EXPECT_NE(again.fields.at("retry-after"), "");
    EXPECT_EQ(knock(R"({"owner":"carol","message":"And I?"})").status, 202U);
    (void)server_.locks().try_lock({"Order", "2"});
    EXPECT_EQ(
        server_.connect()
            .ask("POST", "/v1/locks/Order/2/knock", R"({"owner":"bob","message":"And this?"})")
            .status,
        202U);
}

TEST_F(Knocking, NamesTheMistake) {
    (void)server_.locks().try_lock(order);
    const std::string long_text(1025, 'x');
    for (const std::string& body :
         {std::string{}, std::string{"{}"}, std::string{R"({"message":5})"},
          std::string{R"({"message":""})"}, std::string{R"({"message":"a","loud":true})"},
          std::string{R"({"message":"\u0007"})"}, R"({"message":")" + long_text + "\"}",
          R"({"message":"a","owner":")" + long_text + "\"}",
          std::string{R"({"message":"a","owner":"b\n"})"}}) {
        EXPECT_EQ(knock(body).status, 400U) << body;
    }
    Client client = server_.connect();
    EXPECT_EQ(client.ask("GET", "/v1/locks/Order/1/knock").status, 405U);
    EXPECT_EQ(client
                  .ask("POST", "/v1/locks/Order/1/knock", R"({"message":"a"})",
                       lock_token(LockId::random().to_string()))
                  .status,
              400U);
    EXPECT_EQ(knock(R"({"message":")" + std::string(1024, 'x') + "\"}").status, 202U);
}

TEST(KnockingOnAFaultyStore, IsAFault) {
    auto faulty = std::make_unique<FaultyStore>(memory::open());
    faulty->fail(0, Fails::before_effect, 100);
    RunningServer server{std::move(faulty)};
    EXPECT_EQ(
        server.connect().ask("POST", "/v1/locks/Order/1/knock", R"({"message":"Hello?"})").code(),
        "fault");
}

// The store is not asked, which would not answer.
TEST(KnockingTooEarly, DoesNotReachTheStoreAgainAndAgain) {
    auto gated = std::make_unique<GatedStore>(memory::open());
    GatedStore& store = *gated;
    RunningServer server{std::move(gated)};
    (void)server.locks().try_lock(order);
    Client client = server.connect();
    const auto knock = [&] {
        return client.ask("POST", "/v1/locks/Order/1/knock", R"({"message":"Hello?"})").status;
    };
    EXPECT_EQ(knock(), 202U);
    // Each of these asks whether the key is still held.
    for (int i = 0; i < Knocks::most_early; ++i) EXPECT_EQ(knock(), 429U);
    store.close();
    EXPECT_EQ(knock(), 429U);
    store.open();
}

TEST(KnockingOnASharedKey, NamesFewHoldersAndReachesAll) {
    constexpr std::size_t readers = 40;
    RunningServer server{memory::open()};
    std::vector<Lease> leases;
    for (std::size_t i = 0; i < readers; ++i) {
        const auto lease = server.locks().try_lock(
            order, {.owner = "reader-" + std::to_string(i), .mode = Mode::shared});
        ASSERT_TRUE(lease);
        leases.push_back(*lease);
    }
    EventClient events{server.port(), ""};
    Client client = server.connect();
    const Answer answer = client.ask("POST", "/v1/locks/Order/1/knock", R"({"message":"Hello?"})");
    ASSERT_EQ(answer.status, 202U);
    const auto body = answer.json();
    EXPECT_EQ(body.at("holders").as_array().size(), Limits::named_holders);
    EXPECT_TRUE(body.at("cut").as_bool());
    ASSERT_EQ(client.ask("POST", "/v1/locks/Order/2", "{}").status, 201U);
    std::size_t told = 0;
    while (events.next().name == "knocked") ++told;
    EXPECT_EQ(told, Limits::named_holders);
    for (const Lease& lease : leases) {
        const Answer checked =
            client.ask("GET", "/v1/locks/Order/1", {}, lock_token(lease.lock_id.to_string()));
        EXPECT_EQ(checked.json().at("knocks").as_array().size(), 1U) << lease.owner;
    }
}

class KnocksTest : public ::testing::Test {
protected:
    static std::vector<Holder> holders(Fence fence) {
        return {{.key = order, .owner = "alice", .fence = fence}};
    }
    bool knock(const std::string& by, Knocks::Clock::time_point now, const LockKey& key = order) {
        return !knocks_.add(key, holders(5), {.by = by, .message = "m"}, now);
    }
    bool knock_with(const std::string& token, const std::string& by, const LockKey& key,
                    std::chrono::milliseconds later = 0ms) {
        return !knocks_.add(key, holders(5), {.by = by, .message = "m", .client = token},
                            start_ + later);
    }

    Knocks knocks_;
    const Knocks::Clock::time_point start_ = Knocks::Clock::now();
};

TEST_F(KnocksTest, ConcernTheLeasesThatThereWere) {
    EXPECT_TRUE(knock("bob", start_));
    EXPECT_EQ(knocks_.on(order, 5, start_).size(), 1U);
    EXPECT_TRUE(knocks_.on(order, 6, start_).empty());
    EXPECT_TRUE(knocks_.on({"Order", "2"}, 5, start_).empty());
    EXPECT_TRUE(knocks_.on(order, 5, start_ + Knocks::kept_for).empty());
}

TEST_F(KnocksTest, TakeABreath) {
    EXPECT_TRUE(knock("bob", start_));
    EXPECT_EQ(knocks_.add(order, holders(5), {.by = "bob"}, start_ + 1s), Knocks::breather - 1s);
    EXPECT_TRUE(knock("bob", start_ + Knocks::breather));
}

TEST_F(KnocksTest, AreNotTooManyOnOneKey) {
    for (std::size_t i = 0; i < Knocks::most_per_key; ++i) {
        EXPECT_TRUE(knock("b" + std::to_string(i), start_));
    }
    EXPECT_FALSE(knock("one more", start_ + 1s));
    EXPECT_TRUE(knock("later", start_ + Knocks::breather));
    const auto kept = knocks_.on(order, 5, start_ + Knocks::breather);
    ASSERT_EQ(kept.size(), Knocks::most_per_key);
    EXPECT_EQ(kept.front().by, "b1");
    EXPECT_EQ(kept.back().by, "later");
}

TEST_F(KnocksTest, OfOneTokenReplaceNoOthers) {
    EXPECT_TRUE(knock_with("modest", "bob", order));
    const LockKey both{"Greedy", "1"};
    for (std::size_t i = 0; i < 2 * Knocks::most_keys; ++i) {
        const auto later = std::chrono::milliseconds{i};
        EXPECT_TRUE(knock_with("greedy", "eve", {"Greedy", std::to_string(i)}, later));
        if (i == 1) {
            EXPECT_TRUE(knock_with("modest", "bob", both, later));
        }
    }
    EXPECT_EQ(knocks_.on(order, 5, start_).size(), 1U);
    // The token's own knock on a key goes, that of the other stays.
    const auto kept = knocks_.on(both, 5, start_);
    ASSERT_EQ(kept.size(), 1U);
    EXPECT_EQ(kept.front().by, "bob");
}

TEST_F(KnocksTest, OfOneTokenOnAKeyLeaveRoomForOthers) {
    for (std::size_t i = 0; i < Knocks::most_per_key; ++i) {
        EXPECT_TRUE(knock_with("greedy", "e" + std::to_string(i), order));
    }
    EXPECT_FALSE(knock_with("greedy", "one more", order));
    EXPECT_TRUE(knock_with("modest", "bob", order));
    EXPECT_FALSE(knock_with("greedy", "another", order));
    const auto kept = knocks_.on(order, 5, start_);
    ASSERT_EQ(kept.size(), Knocks::most_per_key);
    EXPECT_EQ(kept.front().by, "e1");
    EXPECT_EQ(kept.back().by, "bob");
}

TEST_F(KnocksTest, AreNotRememberedOnTooManyKeys) {
    for (std::size_t i = 0; i <= Knocks::most_keys; ++i) {
        const auto now = start_ + std::chrono::milliseconds{i};
        EXPECT_TRUE(knock("bob", now, {"Order", std::to_string(i)}));
    }
    EXPECT_TRUE(knocks_.on({"Order", "0"}, 5, start_).empty());
    EXPECT_EQ(knocks_.on({"Order", "1"}, 5, start_).size(), 1U);
    // One more knock on a known key needs no room.
    EXPECT_TRUE(knock("carol", start_ + 2s, {"Order", "2"}));
    EXPECT_EQ(knocks_.on({"Order", "1"}, 5, start_).size(), 1U);
    EXPECT_EQ(knocks_.on({"Order", "2"}, 5, start_).size(), 2U);
}

}  // namespace
}  // namespace leasehold::testing
