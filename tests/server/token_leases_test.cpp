#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <leasehold/stores/http.hpp>

#include "server/event_client.hpp"
#include "server/store_fixture.hpp"
#include "server/token_fixture.hpp"
#include "unit/gated_store.hpp"

// A lease belongs to the token that took it: no other token gets it back in its owner's name, or
// ends it with all leases of its owner; and the history says which token ended it.
namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using server::Role;

server::Token with_id(server::Token token, std::string id) {
    token.id = std::move(id);
    return token;
}

class TokenLeases : public OnAnyStore {
protected:
    Answer take(const std::string& id, const std::string& token,
                const std::string& owner = "shop/alice", const std::string& more = {}) {
        return client_.ask("POST", "/v1/locks/Order/" + id,
                           "{\"owner\":\"" + owner + "\"" + more + "}", shows(token));
    }
    Answer batch(const std::string& request, const std::string& token) {
        return client_.ask("POST", "/v1/batch", "{\"requests\":[" + request + "]}", shows(token));
    }
    Answer release(const Answer& taken, const std::string& id, const std::string& token,
                   const std::string& query = {}) {
        return client_.ask("DELETE", "/v1/locks/Order/" + id + query, {},
                           shows(token) + "Lock-Token: " + lock_id(taken) + "\r\n");
    }
    Answer release_all(const std::string& owner, const std::string& token) {
        return client_.ask("DELETE", "/v1/owners/" + owner + "/locks?scope=below", {},
                           shows(token));
    }
    static std::string lock_id(const Answer& answer) {
        return std::string{answer.json().at("lock_id").as_string()};
    }
    // How the latest lease of the key ended, and by whom.
    std::string ending_of(const std::string& id) {
        const auto past = server_.locks().history({.key = LockKey{"Order", id}, .limit = 1});
        if (past.empty()) return "none";
        return std::string{to_string(past.front().how)} + " by " + past.front().by;
    }

    const std::shared_ptr<const server::Tokens> tokens_ =
        tokens({token("shop", {Role::use, Role::see}, "shop"),
                with_id(token("shop-2026", {Role::use, Role::see}, "shop"), "shop"),
                token("office", {Role::use, Role::see}, "shop"), token("any", {Role::use}),
                token("admin", {Role::use, Role::see, Role::break_})});
    RunningServer server_{store(), {.tokens = tokens_}};
    Client client_ = server_.connect();
};
LEASEHOLD_ON_ANY_STORE(TokenLeases);

TEST_P(TokenLeases, AreGivenBackOnlyToTheTokenThatTookThem) {
    const Answer taken = take("1", "shop");
    ASSERT_EQ(taken.status, 201U);
    EXPECT_EQ(lock_id(take("1", "shop")), lock_id(taken));
    for (const std::string token : {"office", "any", "admin"}) {
        for (const std::string more : {"", R"(,"mode":"shared")", R"(,"wait_ms":20)"}) {
            const Answer refused = take("1", token, "shop/alice", more);
            EXPECT_EQ(refused.status, 409U) << token << more;
            EXPECT_EQ(refused.json().at("holders").at(0).at("owner"), "shop/alice");
            EXPECT_FALSE(refused.body.contains(lock_id(taken)));
            EXPECT_FALSE(refused.body.contains("token")) << refused.body;
        }
        for (const std::string request :
             {R"({"op":"try","type":"Order","id":"1","owner":"shop/alice"})",
              R"({"op":"try","type":"Order","id":"1","owner":"shop/alice","token_id":"shop"})",
              R"({"op":"try_all","keys":[{"type":"Order","id":"1"}],"owner":"shop/alice"})"}) {
            const Answer refused = batch(request, token);
            EXPECT_TRUE(refused.body.starts_with(R"({"answers":[{"refused":{"code":"held")"))
                << refused.body;
            EXPECT_FALSE(refused.body.contains(lock_id(taken)));
        }
    }
    EXPECT_EQ(server_.locks().holders(order).size(), 1U);
}

TEST_P(TokenLeases, GoOnWithTheNextTokenOfTheSameId) {
    const Answer taken = take("1", "shop");
    EXPECT_EQ(lock_id(take("1", "shop-2026")), lock_id(taken));
    EXPECT_EQ(release_all("shop", "shop-2026").status, 200U);
    EXPECT_EQ(ending_of("1"), "released by shop-2026");
}

TEST_P(TokenLeases, AreSharedByOneOwnerWithTwoTokensAsByTwoOwners) {
    const Answer one = take("1", "shop", "shop/alice", R"(,"mode":"shared")");
    const Answer two = take("1", "office", "shop/alice", R"(,"mode":"shared")");
    EXPECT_EQ(two.status, 201U);
    EXPECT_NE(lock_id(one), lock_id(two));
    EXPECT_EQ(lock_id(take("1", "office", "shop/alice", R"(,"mode":"shared")")), lock_id(two));
    EXPECT_EQ(take("1", "office").status, 409U);
}

TEST_P(TokenLeases, AreKeptAndEndedByWhoKnowsTheLockIdWithAnyToken) {
    const Answer taken = take("1", "shop");
    EXPECT_EQ(client_
                  .ask("PATCH", "/v1/locks/Order/1", R"({"ttl_ms":60000})",
                       shows("any") + "Lock-Token: " + lock_id(taken) + "\r\n")
                  .status,
              200U);
    EXPECT_EQ(release(taken, "1", "any").status, 200U);
    EXPECT_EQ(ending_of("1"), "released by any");
}

TEST_P(TokenLeases, OfAnOwnerAreEndedTogetherOnlyByTheirToken) {
    ASSERT_EQ(take("1", "shop").status, 201U);
    ASSERT_EQ(take("2", "office").status, 201U);
    ASSERT_TRUE(server_.locks().try_lock({"Order", "3"}, {.owner = "shop/alice"}));
    const Answer ended = release_all("shop", "office");
    EXPECT_EQ(ended.json().at("leases").as_array().size(), 1U);
    EXPECT_EQ(ending_of("1"), "none");
    EXPECT_EQ(ending_of("2"), "released by office");
    EXPECT_TRUE(batch(R"({"op":"release_all","owner":"shop/alice","token_id":"shop"})", "any")
                    .body.contains(R"("leases":[])"));
    // A token that may break leases ends the leases of every token.
    EXPECT_EQ(release_all("shop", "admin").json().at("leases").as_array().size(), 2U);
    EXPECT_EQ(ending_of("1"), "released by admin");
    EXPECT_EQ(ending_of("3"), "released by admin");
}

TEST_P(TokenLeases, EndWithTheNameOfTheTokenInTheHistory) {
    EXPECT_EQ(release(take("1", "shop"), "1", "shop").status, 200U);
    EXPECT_EQ(ending_of("1"), "released by shop");

    const Answer taken = take("2", "shop");
    (void)batch(R"({"op":"release","lock_id":")" + lock_id(taken) + R"(","by":"office"})", "shop");
    EXPECT_EQ(ending_of("2"), "released by shop (office)");

    EXPECT_EQ(release(take("3", "shop"), "3", "shop", "?after_ms=1").status, 202U);
    EXPECT_TRUE(eventually([&] { return ending_of("3") == "released by shop"; }));

    ASSERT_EQ(take("4", "shop").status, 201U);
    (void)batch(R"({"op":"release_all","owner":"shop/alice"})", "shop");
    EXPECT_EQ(ending_of("4"), "released by shop");

    const Answer broken = take("5", "shop");
    (void)client_.ask("POST", "/v1/locks/Order/5/break",
                      "{\"fence\":" + std::to_string(broken.json().at("fence").as_int64()) + "}",
                      shows("admin"));
    EXPECT_EQ(ending_of("5"), "broken by admin");
}

// The id of a token is not for the eyes of others.
TEST(TokenLeasesOfAClientThatHasLeft, EndWithTheNameOfTheTokenInTheHistory) {
    auto store = std::make_unique<GatedStore>(memory::open());
    GatedStore& gate = *store;
    RunningServer server{std::move(store),
                         {.tokens = tokens({with_id(token("shop", {Role::use}, "shop"), "id-1"),
                                            token("next", {Role::use}, "next")})}};
    const auto wait_as = [&](const std::string& who) {
        Client client = server.connect();
        client.send(message("POST", "/v1/locks/Order/1",
                            "{\"owner\":\"" + who + "\",\"wait_ms\":60000}", shows(who)));
        return client;
    };
    gate.close();
    Client gone = wait_as("shop");
    ASSERT_TRUE(gate.wait_until_held());
    gone.close();
    Client next = wait_as("next");
    ASSERT_TRUE(server.waits_for(2));
    gate.open();
    EXPECT_EQ(next.receive().status, 201U);
    const auto past = server.locks().history();
    ASSERT_EQ(past.size(), 1U);
    EXPECT_EQ(past.front().lease.owner, "shop");
    EXPECT_EQ(past.front().by, "shop");
}

TEST_P(TokenLeases, EndWithTheNameOfTheTokenInTheEvents) {
    EventClient events{server_.port(), {}, shows("shop")};
    const Answer taken = take("1", "shop");
    EXPECT_EQ(release(taken, "1", "any").status, 200U);
    EXPECT_EQ(events.names(1), "granted");
    const SentEvent ended = events.next();
    EXPECT_EQ(ended.name, "released");
    EXPECT_EQ(ended.text("by"), "any");
}

TEST_P(TokenLeases, HeldInTheOwnersNameWithAnotherTokenDoNotOpenTheLine) {
    const Answer taken = take("1", "shop");
    Client first = server_.connect();
    first.send(
        message("POST", "/v1/locks/Order/1", R"({"owner":"bob","wait_ms":60000})", shows("any")));
    ASSERT_TRUE(server_.waits_for(1));
    Client namesake = server_.connect();
    namesake.send(message("POST", "/v1/locks/Order/1", R"({"owner":"shop/alice","wait_ms":60000})",
                          shows("office")));
    ASSERT_TRUE(server_.waits_for(2));
    // Its try is refused, and it waits behind the first.
    const auto line = [&] {
        return client_.ask("GET", "/v1/locks/Order/1", {}, shows("shop")).json().at("waiting");
    };
    ASSERT_TRUE(eventually([&] { return line() == boost::json::array{"bob", "shop/alice"}; }));
    EXPECT_EQ(release(taken, "1", "shop").status, 200U);
    const Answer granted = first.receive();
    EXPECT_EQ(granted.status, 201U);
    EXPECT_EQ(client_
                  .ask("DELETE", "/v1/locks/Order/1", {},
                       shows("any") + "Lock-Token: " + lock_id(granted) + "\r\n")
                  .status,
              200U);
    EXPECT_EQ(namesake.receive().status, 201U);
}

TEST_P(TokenLeases, OfAServerInFrontOfAnotherStayApart) {
    // The server in front knows the tokens of its clients; the one behind knows its token.
    RunningServer front{http::open({.port = server_.port(), .token = "secret-of-any"}),
                        {.tokens = tokens_}};
    Client client = front.connect();
    const auto take_there = [&](const std::string& token) {
        return client.ask("POST", "/v1/locks/Order/1", R"({"owner":"shop/alice"})", shows(token));
    };
    const Answer taken = take_there("shop");
    ASSERT_EQ(taken.status, 201U) << taken.body;
    EXPECT_EQ(lock_id(take_there("shop-2026")), lock_id(taken));
    EXPECT_EQ(take_there("office").status, 409U);
    EXPECT_EQ(take("1", "any").status, 409U);
    EXPECT_EQ(take("1", "shop").status, 409U);
    EXPECT_EQ(client.ask("DELETE", "/v1/owners/shop%2Falice/locks", {}, shows("office"))
                  .json()
                  .at("leases"),
              boost::json::array{});
    EXPECT_EQ(client.ask("DELETE", "/v1/owners/shop%2Falice/locks", {}, shows("shop")).status,
              200U);
    EXPECT_EQ(ending_of("1"), "released by any (shop)");
}

}  // namespace
}  // namespace leasehold::testing
