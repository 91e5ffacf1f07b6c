#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <leasehold/errors.hpp>

#include "server/event_client.hpp"
#include "server/events/event_log.hpp"
#include "server/token_fixture.hpp"
#include "server/v1/server_sent_events.hpp"

namespace leasehold::testing {
namespace {

using server::Role;

class Authorization : public ::testing::Test {
protected:
    Answer list(const std::string& fields) { return client_.ask("GET", "/v1/locks", {}, fields); }
    Answer take(const std::string& id, const std::string& owner, const std::string& who) {
        return client_.ask("POST", "/v1/locks/Order/" + id, "{\"owner\":\"" + owner + "\"}",
                           shows(who));
    }

    RunningServer server_{
        memory::open(),
        {.tokens = tokens({token("shop", {Role::use, Role::see}, "shop"),
                           token("admin", {Role::use, Role::see, Role::break_})})}};
    Client client_ = server_.connect();
};

TEST_F(Authorization, NeedsAWellFormedKnownToken) {
    const std::vector<std::string> refused{
        "",
        "Authorization:\r\n",
        "Authorization: Bearer\r\n",
        "Authorization: Bearer \r\n",
        "Authorization: secret-of-shop\r\n",
        "Authorization: Basic secret-of-shop\r\n",
        "Authorization: Bearer_secret-of-shop\r\n",
        "Authorization: Bearer secret-of-sho\r\n",
        "Authorization: Bearer secret-of-shopp\r\n",
        "Authorization: Bearer SECRET-OF-SHOP\r\n",
        "Authorization: Bearer secret-of-shop secret-of-shop\r\n",
        "Authorization: Bearer " + std::string(600, 'x') + "\r\n",
        "Authorization: Bearer " + std::string(10'000, 'x') + "\r\n",
        "X-Authorization: Bearer secret-of-shop\r\n",
    };
    for (const std::string& fields : refused) {
        Answer answer = list(fields);
        EXPECT_EQ(answer.status, 401U) << fields;
        EXPECT_EQ(answer.code(), "unauthorized");
        EXPECT_TRUE(answer.fields["www-authenticate"].starts_with("Bearer realm=\"leasehold\""));
        EXPECT_EQ(answer.body.find("secret"), std::string::npos);
    }
    for (const std::string scheme : {"Bearer", "bearer", "BEARER", "bEaReR", "Bearer  "}) {
        EXPECT_EQ(list("Authorization: " + scheme + " secret-of-shop\r\n").status, 200U) << scheme;
    }
    EXPECT_EQ(list("authorization: bearer secret-of-shop\r\n").status, 200U);
}

TEST_F(Authorization, GivenTwiceOrTooLargeIsNoRequest) {
    EXPECT_EQ(list(shows("shop") + shows("shop")).status, 400U);
    Client other = server_.connect();
    EXPECT_EQ(other
                  .ask("GET", "/v1/locks", {},
                       "Authorization: Bearer " + std::string(20'000, 'x') + "\r\n")
                  .status,
              431U);
}

TEST_F(Authorization, IsAskedForBeforeTheBodyIsLookedAt) {
    EXPECT_EQ(client_.ask("POST", "/v1/batch", "{nonsense").status, 401U);
    EXPECT_EQ(client_.ask("POST", "/v1/locks/Order/1", "{nonsense", shows("shop")).status, 400U);
}

TEST_F(Authorization, BelongsToOneRequestNotToTheConnection) {
    EXPECT_EQ(list(shows("shop")).status, 200U);
    EXPECT_EQ(list("").status, 401U);
    EXPECT_EQ(list(shows("admin")).status, 200U);
    // Pipelined.
    client_.send(message("GET", "/v1/locks", {}, shows("shop")) + message("GET", "/v1/locks") +
                 message("GET", "/v1/locks", {}, shows("shop")));
    EXPECT_EQ(client_.receive().status, 200U);
    EXPECT_EQ(client_.receive().status, 401U);
    EXPECT_EQ(client_.receive().status, 200U);
}

TEST_F(Authorization, WithAnOwnerSpeaksForThatPathOnly) {
    EXPECT_EQ(take("1", "shop", "shop").status, 201U);
    EXPECT_EQ(take("2", "shop/alice/tab-1", "shop").status, 201U);
    for (const std::string owner : {"", "sho", "shopping", "Shop", "alice", "shop2/x"}) {
        const Answer refused = take("3", owner, "shop");
        EXPECT_EQ(refused.status, 403U) << owner;
        EXPECT_EQ(refused.json().at("detail").as_string(),
                  "the token 'shop' speaks only for the owner 'shop' and owners below it, "
                  "'shop/...'");
    }
    EXPECT_EQ(client_.ask("POST", "/v1/locks/Order/3", {}, shows("shop")).status, 403U);
    EXPECT_EQ(
        client_.ask("POST", "/v1/locks/Order/3", R"({"owner":"bob","wait_ms":1000})", shows("shop"))
            .status,
        403U);
    EXPECT_EQ(take("3", "", "admin").status, 201U);
    const auto knock = [&](const std::string& by) {
        return client_
            .ask("POST", "/v1/locks/Order/3/knock", R"({"message":"m","owner":")" + by + "\"}",
                 shows("shop"))
            .status;
    };
    EXPECT_EQ(knock("bob"), 403U);
    EXPECT_EQ(knock("shop/alice"), 202U);
}

TEST_F(Authorization, WithAnOwnerEndsTheLeasesOfThatPathOnly) {
    EXPECT_EQ(take("1", "shop/alice", "shop").status, 201U);
    EXPECT_EQ(take("2", "store", "admin").status, 201U);
    const auto end = [&](const std::string& owner) {
        return client_
            .ask("DELETE", "/v1/owners/" + owner + "/locks?scope=below", {}, shows("shop"))
            .status;
    };
    EXPECT_EQ(end("store"), 403U);
    EXPECT_EQ(end("s"), 403U);
    EXPECT_EQ(server_.locks().list().size(), 2U);
    EXPECT_EQ(end("shop%2Falice"), 200U);
    EXPECT_EQ(end("shop"), 200U);
    EXPECT_EQ(server_.locks().list().size(), 1U);
}

TEST_F(Authorization, WithAnOwnerIsHeldToItInBatchesToo) {
    const auto batch = [&](const std::string& requests) {
        return client_.ask("POST", "/v1/batch", "{\"requests\":[" + requests + "]}", shows("shop"));
    };
    const std::string fine = R"({"op":"try","type":"A","id":"1","owner":"shop/a"})";
    EXPECT_EQ(batch(fine).status, 200U);
    for (const std::string bad :
         {R"({"op":"try","type":"A","id":"2"})",
          R"({"op":"try","type":"A","id":"2","owner":"bob"})",
          R"({"op":"try_all","keys":[{"type":"A","id":"2"}],"owner":"bob"})",
          R"({"op":"try_all","keys":[{"type":"A","id":"2"}]})",
          R"({"op":"release_all","owner":"bob"})"}) {
        const Answer refused = batch(R"({"op":"try","type":"A","id":"9","owner":"shop"},)" + bad);
        EXPECT_EQ(refused.status, 403U) << bad;
        EXPECT_EQ(refused.json().at("index"), 1);
        EXPECT_FALSE(refused.json().as_object().contains("role"));
    }
    EXPECT_EQ(server_.locks().list().size(), 1U);
}

TEST_F(Authorization, SignsABreakWhateverTheClientSays) {
    const auto broken_by = [&](const std::string& id, const std::string& by, bool in_batch) {
        const Answer taken = take(id, "shop", "shop");
        const std::string body = R"("fence":)" +
                                 std::to_string(taken.json().at("fence").as_int64()) +
                                 R"(,"reason":"r")" + by;
        const Answer answer =
            in_batch ? client_.ask("POST", "/v1/batch",
                                   R"({"requests":[{"op":"break","type":"Order","id":")" + id +
                                       "\"," + body + "}]}",
                                   shows("admin"))
                     : client_.ask("POST", "/v1/locks/Order/" + id + "/break", "{" + body + "}",
                                   shows("admin"));
        EXPECT_EQ(answer.status, 200U) << answer.body;
        const auto history = client_.ask("GET", "/v1/history?limit=1", {}, shows("admin")).json();
        return std::string{history.at("history").at(0).at("by").as_string()};
    };
    for (const bool in_batch : {false, true}) {
        EXPECT_EQ(broken_by("1", "", in_batch), "admin");
        EXPECT_EQ(broken_by("2", R"(,"by":"")", in_batch), "admin");
        EXPECT_EQ(broken_by("3", R"(,"by":"admin")", in_batch), "admin");
        EXPECT_EQ(broken_by("4", R"(,"by":"root@host")", in_batch), "admin (root@host)");
    }
}

TEST_F(Authorization, ChangesWithTheTokensOfTheServer) {
    EXPECT_EQ(list(shows("shop")).status, 200U);
    EXPECT_EQ(list(shows("later")).status, 401U);
    server_.use(tokens({token("later", {Role::see}), token("shop", {Role::use})}));
    EXPECT_EQ(list(shows("later")).status, 200U);
    EXPECT_EQ(list(shows("shop")).status, 403U);
    EXPECT_EQ(list(shows("admin")).status, 401U);
}

TEST_F(Authorization, ThatIsTakenAwayEndsAStreamOfEvents) {
    EventClient stays{server_.port(), {}, shows("shop")};
    EventClient goes{server_.port(), {}, shows("admin")};
    server_.use(tokens({token("shop", {Role::see}), token("admin", {Role::use})}));
    EXPECT_EQ(goes.block(), ": this token may no longer listen to events\n\n");
    EXPECT_EQ(goes.block(), std::nullopt);
    EXPECT_EQ(client_.ask("POST", "/v1/locks/Order/1", "{}", shows("admin")).status, 201U);
    EXPECT_EQ(stays.names(1), "granted");
}

TEST(AuthorizationOfASlowListener, ThatIsTakenAwayEndsTheStream) {
    const auto log = std::make_shared<server::EventLog>(10);
    bool still_allowed = true;
    const auto stream = log->open(
        {}, std::nullopt, [&] { return still_allowed; }, server::v1::server_sent_events(), 1);
    std::string told;
    EXPECT_EQ(stream->take(told), server::EventStream::State::open);
    still_allowed = false;
    log->end_revoked();
    log->append({.kind = server::Event::Kind::granted, .lease = {.key = {"Order", "1"}}});
    told.clear();
    EXPECT_EQ(stream->take(told), server::EventStream::State::ended);
    EXPECT_EQ(told, ": this token may no longer listen to events\n\n");
}

TEST_F(Authorization, IsAskedForBeforeTheBodyIsSent) {
    const std::string announces = "Content-Length: 500000\r\nContent-Type: application/json\r\n";
    const auto answer_to = [&](const std::string& line, const std::string& fields) {
        Client client = server_.connect();
        client.send(line + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n{");
        const Answer answer = client.receive();
        EXPECT_EQ(answer.fields.at("connection"), "close") << line;
        return answer;
    };
    EXPECT_EQ(answer_to("POST /v1/locks/Order/1", announces).status, 401U);
    EXPECT_EQ(answer_to("POST /v1/batch", announces + "Expect: 100-continue\r\n").status, 401U);
    EXPECT_EQ(answer_to("POST /v1/batch", announces + shows("stranger")).status, 401U);
    EXPECT_EQ(answer_to("POST /v1/locks/Order/1/break", announces + shows("shop")).status, 403U);
    EXPECT_EQ(answer_to("POST /v1/nowhere", announces + shows("shop")).status, 404U);
    EXPECT_EQ(answer_to("POST /v1/history", announces + shows("shop")).status, 405U);
    EXPECT_EQ(answer_to("POST /v1/locks/Order/1", "Content-Length: 5\r\n" + shows("shop")).status,
              415U);
    // A route that takes no body reads none, with and without a token, and also if the body comes
    // in chunks.
    const std::string in_chunks =
        "Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n";
    for (const std::string& who : {std::string{}, shows("shop")}) {
        EXPECT_EQ(answer_to("GET /healthz", announces + who).status, 400U);
        EXPECT_EQ(answer_to("GET /", announces + "Expect: 100-continue\r\n" + who).status, 400U);
        EXPECT_EQ(answer_to("GET /readyz", in_chunks + who + "\r\n7a120\r\n{").status, 400U);
    }
    // It is let in once, although it is looked at twice.
    Client client = server_.connect();
    const std::string whole =
        message("POST", "/v1/locks/Order/1", R"({"owner":"shop"})", shows("shop"));
    client.send(std::string_view{whole}.substr(0, whole.size() - 3));
    EXPECT_EQ(list(shows("shop")).status, 200U);
    client.send(std::string_view{whole}.substr(whole.size() - 3));
    EXPECT_EQ(client.receive().status, 201U);
}

TEST(Loopback, IsAllThatAServerWithoutTokensListensOn) {
    LockManager locks{memory::open()};
    for (const char* const address : {"0.0.0.0", "::", "192.0.2.1", "::ffff:0.0.0.0"}) {
        EXPECT_THROW((server::Server{locks, {.address = address, .port = 0}}), BadRequest)
            << address;
    }
    for (const char* const address : {"127.0.0.1", "127.1.2.3", "::1"}) {
        EXPECT_NO_THROW((server::Server{locks, {.address = address, .port = 0}})) << address;
    }
    const auto some = tokens({token("shop", {Role::use})});
    EXPECT_NO_THROW((server::Server{locks, {.address = "0.0.0.0", .port = 0, .tokens = some}}));
}

}  // namespace
}  // namespace leasehold::testing
