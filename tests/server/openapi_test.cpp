#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include "core/text.hpp"
#include "server/event_client.hpp"
#include "server/installed_documentation.hpp"
#include "server/monitoring/metrics.hpp"
#include "server/openapi_schema.hpp"
#include "server/server_fixture.hpp"
#include "unit/faulty_store.hpp"

namespace leasehold::testing {
namespace {

namespace json = boost::json;

// Asks a real server for every answer that the description has. The client compares them.
class Description : public ::testing::Test {
protected:
    Answer ask(std::string_view method, std::string_view path, std::string_view target,
               std::string_view body, std::string_view fields, unsigned status) {
        Answer answer = client_.ask(method, target, body, fields);
        EXPECT_EQ(answer.status, status) << method << " " << target << " " << answer.body;
        EXPECT_EQ(api_.path_of(target), path);
        answered_.insert(lower(method) + " " + std::string{path} + " " + std::to_string(status));
        return answer;
    }
    Answer lock(std::string_view method, unsigned status, std::string_view body = {},
                std::string_view fields = {}) {
        return ask(method, "/v1/locks/{type}/{id}", "/v1/locks/Order/1", body, fields, status);
    }
    Answer batch(const std::string& requests, unsigned status = 200) {
        return ask("POST", "/v1/batch", "/v1/batch", "{\"requests\":[" + requests + "]}", {},
                   status);
    }
    void hear(EventClient& events, std::string_view name) {
        const SentEvent event = events.next();
        EXPECT_EQ(event.name, name);
        answered_.insert("get /v1/events 200");
    }
    std::unique_ptr<FaultyStore> faulty_ = std::make_unique<FaultyStore>(memory::open());
    FaultyStore& store_ = *faulty_;
    const server::Metrics metrics_{"1"};
    const InstalledDocumentation documentation_;
    RunningServer server_{std::move(faulty_),
                          {.documentation = documentation_.folder(), .metrics = &metrics_}};
    Client client_ = server_.connect();
    const OpenApi api_{server_.connect().ask("GET", "/openapi.json").json()};
    std::set<std::string> answered_;
};

TEST_F(Description, IsTrueOfEveryRoute) {
    const std::string locks = "/v1/locks";
    ask("GET", "/openapi.json", "/openapi.json", {}, {}, 200);
    ask("GET", "/healthz", "/healthz", {}, {}, 200);
    ask("GET", "/healthz", "/healthz?x=1", {}, {}, 400);
    ask("GET", "/readyz", "/readyz", {}, {}, 200);
    ask("GET", "/metrics", "/metrics", {}, {}, 200);
    ask("GET", "/", "/", {}, {}, 200);
    ask("GET", "/console/{file}", "/console/console.js", {}, {}, 200);
    ask("GET", "/console/{file}", "/console/nothing.js", {}, {}, 404);
    ask("GET", "/client/{file}", "/client/leasehold.js", {}, {}, 200);
    ask("GET", "/docs/{file...}", "/docs/", {}, {}, 200);
    ask("GET", "/docs/{file...}", "/docs/assets/deep/page.js", {}, {}, 200);
    ask("GET", "/docs/{file...}", "/docs/nothing.html", {}, {}, 404);
    ask("GET", "/metrics", "/metrics?x=1", {}, {}, 400);

    const Answer granted = lock(
        "POST", 201,
        R"({"owner":"alice","mode":"exclusive","ttl_ms":60000.5,"note":"n","max_hold_ms":99000})");
    const std::string token = lock_token_of(granted);
    const std::string fence = json::serialize(granted.json().at("fence"));
    lock("POST", 409, R"({"owner":"bob","wait_ms":1})");
    lock("POST", 400, R"({"ttl_ms":1})");
    lock("GET", 200);
    lock("GET", 200, {}, token);
    lock("PATCH", 200, R"({"extend_ms":1000})", token);
    lock("PATCH", 200, R"({"ttl_ms":61000})", token);
    lock("PATCH", 400, "{}", token);
    ask("GET", locks, locks, {}, {}, 200);
    ask("GET", locks, locks + "?limit=1&owner=alice&scope=below&type=Order", {}, {}, 200);
    ask("GET", locks, locks + "?limit=0", {}, {}, 400);
    ask("DELETE", "/v1/locks/{type}/{id}", "/v1/locks/Order/1?after_ms=60000", {}, token, 202);
    lock("DELETE", 200, {}, token);
    lock("DELETE", 200, {}, token);
    lock("DELETE", 400);
    lock("GET", 410, {}, token);
    lock("POST", 410, {}, token);
    lock("PATCH", 410, R"({"ttl_ms":61000})", token);

    const std::string breaking = "/v1/locks/{type}/{id}/break";
    const Answer next = lock("POST", 201);
    const std::string next_fence = json::serialize(next.json().at("fence"));
    ask("POST", breaking, "/v1/locks/Order/1/break", R"({"by":"admin","fence":)" + fence + "}", {},
        410);
    ask("POST", breaking, "/v1/locks/Order/1/break",
        R"({"by":"admin","reason":"r","fence":)" + next_fence + "}", {}, 200);
    ask("POST", breaking, "/v1/locks/Order/1/break", "{}", {}, 400);

    lock("POST", 201, R"({"owner":"alice/tab"})");
    const std::string owners = "/v1/owners/{owner}/locks";
    ask("DELETE", owners, "/v1/owners/alice/locks?scope=below", {}, {}, 200);
    ask("DELETE", owners, "/v1/owners/alice/locks?scope=x", {}, {}, 400);
    ask("GET", "/v1/history", "/v1/history", {}, {}, 200);
    ask("GET", "/v1/history", "/v1/history?type=Order&id=1&limit=2", {}, {}, 200);
    ask("GET", "/v1/history", "/v1/history?id=1", {}, {}, 400);

    ask("GET", "/v1/token", "/v1/token", {}, {}, 200);
    ask("GET", "/v1/server", "/v1/server", {}, {}, 200);
    const std::string statistics = "/v1/statistics";
    ask("GET", statistics, statistics, {}, {}, 200);
    ask("GET", statistics, statistics + "?over=day", {}, {}, 200);
    ask("GET", statistics, statistics + "?over=year", {}, {}, 400);
    ask("GET", "/v1/refused", "/v1/refused?limit=5", {}, {}, 200);
    ask("GET", "/v1/refused", "/v1/refused?type=Order&id=1", {}, {}, 200);
    ask("GET", "/v1/refused", "/v1/refused?type=Order", {}, {}, 400);

    ask("GET", "/v1/events", "/v1/events?x=1", {}, {}, 400);
    ask("GET", "/v1/events", "/v1/events", {}, "Accept: text/html\r\n", 406);
    EventClient events{server_.port(), {}, "Last-Event-ID: unknown\r\n"};
    hear(events, "reset");
    const std::string last = lock_token_of(lock("POST", 201, R"({"ttl_ms":60000})"));
    hear(events, "granted");
    lock("PATCH", 200, R"({"extend_ms":1000})", last);
    hear(events, "extended");
    const std::string knocking = "/v1/locks/{type}/{id}/knock";
    const std::string door = "/v1/locks/Order/1/knock";
    ask("POST", knocking, door, R"({"owner":"bob","message":"May I?"})", {}, 202);
    hear(events, "knocked");
    ask("POST", knocking, door, R"({"owner":"bob","message":"Now?"})", {}, 429);
    ask("POST", knocking, door, "{}", {}, 400);
    lock("GET", 200, {}, last);
    lock("PATCH", 200, R"({"extend_ms":1000})", last);
    hear(events, "extended");
    lock("DELETE", 200, {}, last);
    hear(events, "released");
    ask("POST", knocking, door, R"({"message":"Hello?"})", {}, 404);

    // Every operation in the description has been asked for.
    for (const auto& path : api_.document().at("paths").as_object()) {
        for (const auto& operation : path.value().as_object()) {
            if (operation.key() == "parameters" || path.key() == "/v1/batch") continue;
            const std::string name =
                std::string{operation.key()} + " " + std::string{path.key()} + " ";
            EXPECT_TRUE(std::ranges::any_of(answered_, [&](const std::string& seen) {
                return seen.starts_with(name + "2");
            })) << name;
        }
    }
}

TEST_F(Description, IsTrueOfEveryRequestInABatch) {
    const std::string a = LockId::random().to_string();
    const std::string b = LockId::random().to_string();
    batch(R"({"op":"try","type":"Order","id":"1","lock_id":")" + a +
          R"(","owner":"alice","mode":"shared","ttl_ms":5000,"note":"n"},
        {"op":"try","type":"Order","id":"1","since":5},
        {"op":"try_all","keys":[{"type":"A","id":"1","lock_id":")" +
          b + R"("},{"type":"A","id":"2"}],"owner":"alice/tab","max_hold_ms":5000},
        {"op":"check","type":"Order","id":"1","lock_id":")" +
          a + R"("},
        {"op":"extend","lock_id":")" +
          a + R"(","extend_ms":1.5},
        {"op":"renew","lock_id":")" +
          b + R"("},
        {"op":"holders","type":"Order","id":"1"},
        {"op":"list","type":"Order","owner":"alice","scope":"below","limit":5,
         "after":{"type":"A","id":"1","fence":1}},
        {"op":"release","lock_id":")" +
          a + R"("},
        {"op":"release","lock_id":")" +
          a + R"("},
        {"op":"break","type":"A","id":"1","fence":1,"by":"admin","reason":"r"},
        {"op":"release_all","owner":"alice","scope":"below"},
        {"op":"history","type":"Order","id":"1","limit":5},
        {"op":"purge","limit":5})");
    batch(R"({"op":"fly"})", 400);
    store_.fail(0, Fails::before_effect);
    batch(R"({"op":"purge"})");
}

TEST_F(Description, IsTrueOfFaultsAndOfMissingThings) {
    store_.fail(0, Fails::after_effect, 1000);
    lock("POST", 503);
    lock("GET", 503);
    lock("DELETE", 503, {}, "Lock-Token: " + LockId::random().to_string() + "\r\n");
    ask("GET", "/v1/locks", "/v1/locks", {}, {}, 503);
    ask("GET", "/readyz", "/readyz", {}, {}, 503);
    ask("GET", "/v1/history", "/v1/history", {}, {}, 503);
    store_.heal();
    EXPECT_EQ(client_.ask("GET", "/v1/nothing").status, 404U);
    client_.send("POST /v1/batch HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(client_.receive().status, 415U);
    client_.send("nonsense\r\n\r\n");
    EXPECT_EQ(client_.receive().status, 400U);
}

}  // namespace
}  // namespace leasehold::testing
