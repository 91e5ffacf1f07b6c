#include <leasehold/stores/http.hpp>

#include <boost/json/serialize.hpp>

#include <string>

#include "server/server_fixture.hpp"
#include "server/store/readiness.hpp"
#include "server/token_fixture.hpp"
#include "unit/faulty_store.hpp"
#include "unit/gated_store.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

class ProbesAndBatch : public ServerTest {};

TEST_F(ProbesAndBatch, SaysThatItLives) {
    const Answer answer = server_.connect().ask("GET", "/healthz");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, R"({"status":"ok"})");
    EXPECT_EQ(answer.fields.at("content-type"), "application/json");
    EXPECT_EQ(answer.fields.at("cache-control"), "no-store");
}

TEST_F(ProbesAndBatch, TellsTheTruthAboutTheStore) {
    const Answer answer = server_.connect().ask("GET", "/readyz");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body,
              R"({"status":"ready","store":{"name":"memory","durability":"none","warnings":)"
              R"(["leases live in this process and end with it"]}})");
}

TEST(Readiness, TellsOnlyClientsWithATokenAboutTheStore) {
    RunningServer server{
        memory::open(),
        {.tokens = tokens({token("shop", {server::Role::use})}), .failed_tokens = 2}};
    Client client = server.connect();
    const std::string to_strangers = R"({"status":"ready"})";
    EXPECT_EQ(client.ask("GET", "/readyz").body, to_strangers);
    const Answer known = client.ask("GET", "/readyz", {}, shows("shop"));
    EXPECT_EQ(known.status, 200U);
    EXPECT_EQ(known.json().at("store").at("name"), "memory");
    LockManager locks{http::open({.port = server.port(), .token = "secret-of-shop"})};
    EXPECT_EQ(locks.status().name, "http, memory");
    // A probe is never refused; but tokens that are tried here count like those tried elsewhere.
    for (int i = 0; i < 4; ++i) {
        const Answer unknown = client.ask("GET", "/readyz", {}, shows("nobody"));
        EXPECT_EQ(unknown.status, 200U);
        EXPECT_EQ(unknown.body, to_strangers);
    }
    EXPECT_EQ(client.ask("GET", "/v1/locks", {}, shows("nobody")).status, 429U);
}

// It opens, so that the faults of its requests say what is wrong; but it promises nothing.
TEST(Readiness, OfAServerThatDoesNotAcceptTheTokenTellsTheHttpStoreNothing) {
    RunningServer server{memory::open(), {.tokens = tokens({token("shop", {server::Role::use})})}};
    for (const char* const unknown : {"", "secret-of-nobody"}) {
        const http::ServerAddress target{.port = server.port(), .token = unknown};
        LockManager locks{http::open(target)};
        const StoreStatus status = locks.status();
        EXPECT_EQ(status.name, "http");
        EXPECT_EQ(status.durability, Durability::none);
        ASSERT_EQ(status.warnings.size(), 1U);
        EXPECT_TRUE(status.warnings.front().contains("does not accept the token"));
        try {
            (void)locks.try_lock({"Order", "1"}, {.owner = "shop"});
            ADD_FAILURE() << "a lease without a token";
        } catch (const StoreFault& fault) {
            EXPECT_EQ(fault.cause(), StoreFault::Cause::not_allowed);
        }
        EXPECT_THROW(
            (void)http::open(target, {.require = StoreOptions::Require::strict_durability}),
            StoreFault);
    }
}

TEST(Readiness, IsRefusedWhileTheStoreCannotAnswer) {
    auto faulty = std::make_unique<FaultyStore>(memory::open());
    FaultyStore& store = *faulty;
    RunningServer server{std::move(faulty)};
    Client client = server.connect();
    store.fail(0, Fails::before_effect);
    const Answer refused = client.ask("GET", "/readyz");
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.code(), "fault");
    EXPECT_EQ(refused.fields.at("content-type"), "application/problem+json");
    EXPECT_EQ(refused.fields.at("retry-after"), "1");
    EXPECT_EQ(refused.json().at("cause").as_string(), "unavailable");
    EXPECT_EQ(refused.json().at("detail").as_string(),
              "the store does not answer; the server's log says why");
    EXPECT_EQ(client.ask("GET", "/healthz").status, 200);
    EXPECT_TRUE(eventually([&] { return client.ask("GET", "/readyz").status == 200; }));
}

TEST(Readiness, IsAskedOfTheStoreOnceForAllWhoAskAtOnceAndSoonAfter) {
    auto gated = std::make_unique<GatedStore>(memory::open());
    GatedStore& store = *gated;
    RunningServer server{std::move(gated), {.threads = 2}};
    store.close();
    std::vector<Client> clients;
    for (int i = 0; i < 10; ++i) {
        clients.push_back(server.connect());
        clients.back().send(message("GET", "/readyz"));
    }
    ASSERT_TRUE(store.wait_until_held());
    for (int i = 0; i < 2; ++i) EXPECT_EQ(server.connect().ask("GET", "/healthz").status, 200);
    store.open();
    for (Client& client : clients) EXPECT_EQ(client.receive().status, 200);
    EXPECT_EQ(store.batches().size(), 1U);
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < 100; ++i) EXPECT_EQ(clients.front().ask("GET", "/readyz").status, 200);
    const auto took = std::chrono::steady_clock::now() - begun;
    EXPECT_LE(store.batches().size(),
              2U + static_cast<std::size_t>(took / server::Readiness::believed_for));
}

TEST_F(ProbesAndBatch, AnswersABatchInItsOrder) {
    const Answer answer = server_.connect().ask("POST", "/v1/batch", R"({"requests":[
        {"op":"try","type":"Order","id":"1","owner":"alice"},
        {"op":"try","type":"Order","id":"1","owner":"bob"},
        {"op":"holders","type":"Order","id":"1"}]})");
    ASSERT_EQ(answer.status, 200) << answer.body;
    const auto json = answer.json();
    const auto& answers = json.at("answers").as_array();
    ASSERT_EQ(answers.size(), 3U);
    EXPECT_EQ(answers[0].at("lease").at("owner").as_string(), "alice");
    EXPECT_EQ(answers[1].at("refused").at("code").as_string(), "held");
    EXPECT_EQ(answers[2].at("holders").as_array().size(), 1U);
}

TEST_F(ProbesAndBatch, AnswersAnEmptyBatch) {
    EXPECT_EQ(server_.connect().ask("POST", "/v1/batch", R"({"requests":[]})").body,
              R"({"answers":[]})");
}

TEST_F(ProbesAndBatch, DoesNothingOfABatchWithABadRequest) {
    Client client = server_.connect();
    const Answer refused = client.ask("POST", "/v1/batch", R"({"requests":[
        {"op":"try","type":"Order","id":"1"},
        {"op":"try","type":"Order","id":"2","ttl_ms":1}]})");
    EXPECT_EQ(refused.status, 400);
    EXPECT_EQ(refused.code(), "bad_request");
    EXPECT_EQ(refused.json().at("index").as_int64(), 1);
    EXPECT_EQ(refused.json().at("detail").as_string(),
              "requests[1]: the ttl is 1ms; at least 100ms is needed");
    EXPECT_TRUE(server_.locks().list().empty());
}

TEST_F(ProbesAndBatch, WhatTheServerDoesNotTakeStopsNoOtherOfAnHttpStore) {
    const auto store = http::open({.port = server_.port()});
    const LockId mine = LockId::random();
    const std::vector<Request> requests{
        TryLock{.key = {"Order", "1"}, .lock_id = mine, .ttl = 1min},
        TryLock{.key = {"Order", "2"}, .lock_id = LockId::random(), .ttl = std::chrono::days{400}},
        Renew{.lock_id = mine, .ttl = 2min}};
    std::vector<Outcome> outcomes(requests.size());
    store->apply(requests, outcomes);
    EXPECT_TRUE(std::holds_alternative<Lease>(outcomes[0]));
    const auto* const fault = std::get_if<StoreFault>(&outcomes[1]);
    ASSERT_NE(fault, nullptr);
    EXPECT_EQ(fault->effect(), StoreFault::Effect::none);
    EXPECT_TRUE(std::string_view{fault->what()}.contains(" says 400: the ttl is "))
        << fault->what();
    EXPECT_TRUE(std::holds_alternative<Lease>(outcomes[2]));
}

TEST_F(ProbesAndBatch, AsksForABoundedNumberOfRows) {
    const auto lists = [](int count) {
        std::string requests;
        for (int i = 0; i < count; ++i) {
            requests +=
                std::string{i == 0 ? "" : ","} +
                (i % 2 == 0 ? R"({"op":"list","limit":1000})" : R"({"op":"history","limit":1000})");
        }
        return R"({"requests":[)" + requests + "]}";
    };
    Client client = server_.connect();
    EXPECT_EQ(client.ask("POST", "/v1/batch", lists(16)).status, 200U);
    const Answer refused = client.ask("POST", "/v1/batch", lists(17));
    EXPECT_EQ(refused.status, 400U);
    EXPECT_EQ(refused.json().at("index").as_int64(), 16);
    EXPECT_TRUE(refused.body.contains("at most 16000 rows")) << refused.body;
}

TEST_F(ProbesAndBatch, AQueryHasFewParameters) {
    std::string query = "?p0=";
    for (int i = 1; i < 17; ++i) query += "&p" + std::to_string(i) + "=";
    const Answer refused = server_.connect().ask("GET", "/v1/locks" + query);
    EXPECT_EQ(refused.status, 400U);
    EXPECT_TRUE(refused.body.contains("too many parameters")) << refused.body;
}

TEST_F(ProbesAndBatch, PassesAFaultOnWithItsEffect) {
    auto faulty = std::make_unique<FaultyStore>(memory::open());
    FaultyStore& store = *faulty;
    RunningServer server{std::move(faulty)};
    store.fail(0, Fails::after_effect);
    const Answer answer = server.connect().ask(
        "POST", "/v1/batch", R"({"requests":[{"op":"try","type":"Order","id":"1"}]})");
    ASSERT_EQ(answer.status, 200);
    EXPECT_EQ(answer.json().at("answers").at(0).at("fault").at("effect").as_string(), "unknown");
}

TEST_F(ProbesAndBatch, KeepsAConnectionAndAnswersPipelinedRequestsInOrder) {
    Client client = server_.connect();
    client.send(message("GET", "/healthz") + message("GET", "/nowhere") +
                message("POST", "/v1/batch", R"({"requests":[]})") + message("GET", "/healthz"));
    EXPECT_EQ(client.receive().status, 200);
    EXPECT_EQ(client.receive().status, 404);
    EXPECT_EQ(client.receive().body, R"({"answers":[]})");
    EXPECT_EQ(client.receive().status, 200);
}

TEST_F(ProbesAndBatch, ClosesWhenAskedTo) {
    Client client = server_.connect();
    const Answer last = client.ask("GET", "/healthz", "", "Connection: close\r\n");
    EXPECT_EQ(last.fields.at("connection"), "close");
    EXPECT_TRUE(client.closed());
}

TEST_F(ProbesAndBatch, SaysWhatAUrlIsFor) {
    Client client = server_.connect();
    const Answer wrong = client.ask("DELETE", "/v1/batch");
    EXPECT_EQ(wrong.status, 405);
    EXPECT_EQ(wrong.fields.at("allow"), "POST");
    EXPECT_EQ(client.ask("GET", "/v1").status, 404);
    EXPECT_EQ(client.ask("GET", "/v1").code(), "not_found");
}

TEST(Stopping, AnswersRequestsUnderWayAndEndsIdleConnections) {
    auto gated = std::make_unique<GatedStore>(memory::open());
    GatedStore& store = *gated;
    RunningServer server{std::move(gated)};
    Client idle = server.connect();
    EXPECT_EQ(idle.ask("GET", "/healthz").status, 200);
    store.close();
    Client busy = server.connect();
    busy.send(
        message("POST", "/v1/batch", R"({"requests":[{"op":"try","type":"Order","id":"1"}]})"));
    ASSERT_TRUE(store.wait_until_held());
    server.begin_stop();
    EXPECT_TRUE(idle.closed());
    store.open();
    const Answer answer = busy.receive();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.fields.at("connection"), "close");
    EXPECT_TRUE(busy.closed());
    server.stop();
    EXPECT_THROW((void)server.connect(), std::runtime_error);
}

}  // namespace
}  // namespace leasehold::testing
