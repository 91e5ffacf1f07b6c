#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <map>
#include <set>

#include "core/request_traits.hpp"
#include "server/event_client.hpp"
#include "server/installed_documentation.hpp"
#include "server/monitoring/metrics.hpp"
#include "server/store_fixture.hpp"
#include "server/token_fixture.hpp"
#include "server/v1/native.hpp"

// A token that is limited to some keys: on every route, in every request of a batch, and in
// everything that lists.
namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using server::Role;

KeySet keys(const std::vector<std::string>& texts) {
    std::vector<KeyPattern> patterns;
    for (const std::string& text : texts) patterns.push_back(KeyPattern::parse(text).value());
    return KeySet{std::move(patterns)};
}

server::Token limited(server::Token token, const std::vector<std::string>& texts) {
    for (const auto& [role, name] : server::role_names) token.keys.limit(role, keys(texts));
    return token;
}

server::Token limited(server::Token token, Role role, const std::vector<std::string>& texts) {
    token.keys.limit(role, keys(texts));
    return token;
}

const server::Roles every_role{Role::use, Role::see, Role::break_};

class KeyRules : public OnAnyStore {
protected:
    Answer ask(const std::string& method, const std::string& target, const std::string& body = {},
               const std::string& token = "game", const std::string& fields = {}) {
        Client client = server_.connect();
        client.send(message(method, target, body, shows(token) + fields));
        return method == "HEAD" ? client.receive_head() : client.receive();
    }
    Answer batch(const std::string& requests, const std::string& token = "game") {
        return ask("POST", "/v1/batch", "{\"requests\":[" + requests + "]}", token);
    }
    Lease take(const LockKey& key, const std::string& owner = "bob") {
        return server_.locks().try_lock(key, {.owner = owner}).value();
    }
    void hold_and_release(const LockKey& key) {
        EXPECT_TRUE(server_.locks().release(key, take(key).lock_id));
    }

    server::Metrics metrics_{"1.2.3"};
    const InstalledDocumentation documentation_;
    RunningServer server_{
        store(),
        {.tokens = tokens({limited(token("game", every_role), {"lfs:game/*", "Order/eu-*"}),
                           limited(token("reader", every_role), Role::use, {"Order/eu-1"}),
                           limited(token("watcher", every_role), Role::see, {"Order/*"}),
                           token("all", every_role)}),
         .documentation = documentation_.folder(),
         .metrics = &metrics_}};
};
LEASEHOLD_ON_ANY_STORE(KeyRules);

// What a route does for a token that may not touch the key.
enum class Does : std::uint8_t {
    refuse,     // it names the key: 403
    leave_out,  // it lists: 200, without that key
    no_keys,    // it is about no key
};

struct KeyRoute {
    std::string method;
    std::string path;  // as the table of routes has it
    Does does;
    std::string target;
    std::string body{};
    bool with_lock_token = false;
};

const std::vector<KeyRoute> key_routes{
    {"GET", "/v1/locks/{type}/{id}", Does::refuse, "/v1/locks/Secret/1", "", true},
    {"GET", "/v1/locks/{type}/{id}", Does::refuse, "/v1/locks/Secret/1"},
    {"HEAD", "/v1/locks/{type}/{id}", Does::refuse, "/v1/locks/Secret/1"},
    {"POST", "/v1/locks/{type}/{id}", Does::refuse, "/v1/locks/Secret/1", R"({"owner":"mallory"})"},
    {"POST", "/v1/locks/{type}/{id}", Does::refuse, "/v1/locks/Secret/1",
     R"({"owner":"mallory","wait_ms":1000})"},
    {"PATCH", "/v1/locks/{type}/{id}", Does::refuse, "/v1/locks/Secret/1", R"({"ttl_ms":1000})",
     true},
    {"PATCH", "/v1/locks/{type}/{id}", Does::refuse, "/v1/locks/Secret/1", R"({"extend_ms":1000})",
     true},
    {"DELETE", "/v1/locks/{type}/{id}", Does::refuse, "/v1/locks/Secret/1", "", true},
    {"DELETE", "/v1/locks/{type}/{id}", Does::refuse, "/v1/locks/Secret/1?after_ms=10", "", true},
    {"POST", "/v1/batch", Does::refuse, "/v1/batch",
     R"({"requests":[{"op":"holders","type":"Secret","id":"1"}]})"},
    {"GET", "/v1/locks", Does::leave_out, "/v1/locks"},
    {"GET", "/v1/locks", Does::leave_out, "/v1/locks?type=Secret"},
    {"GET", "/v1/locks", Does::leave_out, "/v1/locks?owner=bob&scope=below&limit=1"},
    {"GET", "/v1/locks", Does::leave_out, "/v1/locks?contains=Secret"},
    {"POST", "/v1/locks/{type}/{id}/break", Does::refuse, "/v1/locks/Secret/1/break",
     R"({"fence":1})"},
    {"POST", "/v1/locks/{type}/{id}/knock", Does::refuse, "/v1/locks/Secret/1/knock",
     R"({"message":"m"})"},
    {"DELETE", "/v1/owners/{owner}/locks", Does::leave_out, "/v1/owners/bob/locks"},
    {"GET", "/v1/history", Does::leave_out, "/v1/history"},
    {"GET", "/v1/history", Does::refuse, "/v1/history?type=Secret&id=1"},
    {"GET", "/v1/events", Does::leave_out, "/v1/events?type=Secret"},
    {"GET", "/v1/statistics", Does::leave_out, "/v1/statistics"},
    {"GET", "/v1/refused", Does::leave_out, "/v1/refused"},
    {"GET", "/v1/refused", Does::refuse, "/v1/refused?type=Secret&id=1"},
    {"GET", "/v1/token", Does::no_keys, "/v1/token"},
    {"GET", "/v1/server", Does::refuse, "/v1/server"},
    {"GET", "/healthz", Does::no_keys, "/healthz"},
    {"GET", "/readyz", Does::no_keys, "/readyz"},
    // It names no key, and counts the leases of all.
    {"GET", "/metrics", Does::refuse, "/metrics"},
    {"GET", "/openapi.json", Does::no_keys, "/openapi.json"},
    {"GET", "/", Does::no_keys, "/"},
    {"GET", "/console/{file}", Does::no_keys, "/console/console.js"},
    {"GET", "/client/{file}", Does::no_keys, "/client/leasehold.js"},
    {"GET", "/docs/{file...}", Does::no_keys, "/docs/"},
};

TEST_P(KeyRules, EveryRouteHasOne) {
    std::set<std::string> known;
    for (const KeyRoute& route : key_routes) known.insert(route.method + " " + route.path);
    for (const server::Route& route : server::v1::Native::table()) {
        EXPECT_TRUE(
            known.contains(std::string{route.method} + " " + std::string{route.path.text()}))
            << "what does it do for a token that is limited to other keys? " << route.method << " "
            << route.path.text();
    }
}

TEST_P(KeyRules, HoldOnEveryRoute) {
    const LockKey secret{"Secret", "1"};
    // Whether the key is held, was held, or is being tried and waited for.
    const Lease lease = take(secret);
    hold_and_release({"Secret", "2"});
    EXPECT_EQ(ask("POST", "/v1/locks/Secret/1", R"({"owner":"mallory"})", "all").status, 409U);
    Client waits = server_.connect();
    waits.send(message("POST", "/v1/locks/Secret/1", R"({"owner":"carol","wait_ms":60000})",
                       shows("all")));
    ASSERT_TRUE(server_.waits_for(1));
    const std::string lock_token = "Lock-Token: " + lease.lock_id.to_string() + "\r\n";
    for (const KeyRoute& route : key_routes) {
        SCOPED_TRACE(route.method + " " + route.target + " " + route.body);
        const std::string fields = route.with_lock_token ? lock_token : "";
        if (route.path == "/v1/events") continue;  // the next test
        const Answer answer = ask(route.method, route.target, route.body, "game", fields);
        EXPECT_EQ(answer.status, route.does == Does::refuse ? 403U : 200U);
        if (route.method == "HEAD" || route.does == Does::no_keys) continue;
        EXPECT_FALSE(answer.body.contains("bob") || answer.body.contains("carol") ||
                     answer.body.contains("mallory") ||
                     answer.body.contains(lease.lock_id.to_string()))
            << answer.body;
        if (route.does == Does::leave_out) {
            EXPECT_FALSE(answer.body.contains("Secret")) << answer.body;
            continue;
        }
        EXPECT_EQ(answer.code(), "forbidden");
        EXPECT_FALSE(answer.json().as_object().contains("role"));
        // The answer is the same for a key that nobody has ever locked.
        const auto of_free_key = [](std::string text) {
            for (auto at = text.find("Secret"); at != std::string::npos;) {
                text.replace(at, 6, "Unused");
                at = text.find("Secret");
            }
            return text;
        };
        const Answer free =
            ask(route.method, of_free_key(route.target), of_free_key(route.body), "game", fields);
        EXPECT_EQ(of_free_key(answer.body), free.body);
    }
    EXPECT_TRUE(server_.locks().check(secret, lease.lock_id).has_value());
    const auto statistics = ask("GET", "/v1/statistics").json();
    EXPECT_EQ(statistics.at("waiting"), 0);
    EXPECT_TRUE(statistics.at("hot_keys").as_array().empty());
    EXPECT_TRUE(statistics.at("series").at("grants").as_array().empty());
    EXPECT_TRUE(statistics.at("series").at("held").as_array().empty());
}

TEST_P(KeyRules, LetTheTokenDoEverythingWithItsOwnKeys) {
    const Answer taken = ask("POST", "/v1/locks/Order/eu-1", R"({"owner":"alice"})");
    ASSERT_EQ(taken.status, 201U);
    const std::string fields =
        "Lock-Token: " + std::string{taken.json().at("lock_id").as_string()} + "\r\n";
    EXPECT_EQ(ask("GET", "/v1/locks/Order/eu-1").status, 200U);
    EXPECT_EQ(ask("GET", "/v1/locks/Order/eu-1", {}, "game", fields).status, 200U);
    EXPECT_EQ(ask("PATCH", "/v1/locks/Order/eu-1", R"({"ttl_ms":60000})", "game", fields).status,
              200U);
    EXPECT_EQ(ask("POST", "/v1/locks/Order/eu-1", R"({"owner":"mallory"})").status, 409U);
    EXPECT_EQ(
        ask("POST", "/v1/locks/Order/eu-1/knock", R"({"message":"m","owner":"mallory"})").status,
        202U);
    EXPECT_EQ(ask("GET", "/v1/history?type=Order&id=eu-1").status, 200U);
    EXPECT_EQ(ask("GET", "/v1/refused?type=Order&id=eu-1").json().at("refused").at(0).at("owner"),
              "mallory");
    EXPECT_EQ(ask("GET", "/v1/statistics").json().at("hot_keys").at(0).at("id"), "eu-1");
    EXPECT_EQ(ask("DELETE", "/v1/locks/Order/eu-1", {}, "game", fields).status, 200U);
    EXPECT_EQ(ask("GET", "/v1/history").json().at("history").at(0).at("id"), "eu-1");
    const Lease broken = take({"lfs:game", "a/b"});
    EXPECT_EQ(ask("POST", "/v1/locks/lfs:game/a%2Fb/break",
                  "{\"fence\":" + std::to_string(broken.fence) + "}")
                  .status,
              200U);
    for (const char* const other :
         {"/v1/locks/Order/eu", "/v1/locks/Order/us-1", "/v1/locks/Orders/eu-1",
          "/v1/locks/order/eu-1", "/v1/locks/lfs:games/1", "/v1/locks/lfs/game%2F1"}) {
        EXPECT_EQ(ask("POST", other, R"({"owner":"alice"})").status, 403U) << other;
    }
}

TEST_P(KeyRules, AreByRole) {
    take({"Order", "eu-1"});
    // Takes one key, sees all.
    EXPECT_EQ(ask("POST", "/v1/locks/Order/2", "{}", "reader").status, 403U);
    EXPECT_EQ(ask("GET", "/v1/locks/Order/2", {}, "reader").status, 200U);
    EXPECT_EQ(ask("GET", "/v1/locks", {}, "reader").json().at("locks").as_array().size(), 1U);
    EXPECT_EQ(ask("GET", "/metrics", {}, "reader").status, 200U);
    // Takes all keys, sees some.
    EXPECT_EQ(ask("POST", "/v1/locks/Secret/1", R"({"owner":"mallory"})", "watcher").status, 201U);
    EXPECT_EQ(ask("GET", "/v1/locks/Secret/1", {}, "watcher").status, 403U);
    EXPECT_EQ(ask("GET", "/v1/locks", {}, "watcher").json().at("locks").as_array().size(), 1U);
    EXPECT_EQ(ask("GET", "/metrics", {}, "watcher").status, 403U);
    // A check needs one of two roles.
    const std::string none = "Lock-Token: " + LockId::random().to_string() + "\r\n";
    EXPECT_EQ(ask("GET", "/v1/locks/Order/2", {}, "reader", none).status, 410U);
    EXPECT_EQ(ask("GET", "/v1/locks/Secret/1", {}, "watcher", none).status, 410U);
    EXPECT_EQ(ask("GET", "/v1/locks/Secret/1", {}, "game", none).status, 403U);
}

TEST_P(KeyRules, HoldForEveryRequestOfABatch) {
    const Lease lease = take({"Secret", "1"});
    const std::string id = R"("lock_id":")" + lease.lock_id.to_string() + "\"";
    const std::string key = R"("type":"Secret","id":"1")";
    const std::map<std::string, std::vector<std::string>> refused{
        {"try", {key}},
        {"try_all", {R"("keys":[{"type":"Order","id":"eu-1"},{"type":"Secret","id":"1"}])"}},
        {"check", {id, id + "," + key}},
        {"extend", {id + R"(,"extend_ms":1000)", id + R"(,"extend_ms":1000,)" + key}},
        {"renew", {id, id + "," + key}},
        {"release", {id, id + "," + key}},
        {"release_all", {R"("owner":"bob",)" + key}},
        {"break", {key + R"(,"fence":)" + std::to_string(lease.fence)}},
        {"holders", {key}},
        {"list", {}},
        {"history", {key}},
        {"purge", {R"("limit":1)"}},
    };
    for (const auto& [kind, traits] : request_traits) {
        ASSERT_TRUE(refused.contains(std::string{traits.name})) << traits.name;
        for (const std::string& rest : refused.at(std::string{traits.name})) {
            const std::string request =
                R"({"op":")" + std::string{traits.name} + "\"," + rest + "}";
            const Answer answer = batch(R"({"op":"try","type":"Order","id":"eu-9"},)" + request);
            EXPECT_EQ(answer.status, 403U) << request;
            EXPECT_EQ(answer.json().at("refused"), (boost::json::array{1})) << answer.body;
            EXPECT_FALSE(answer.body.contains("bob")) << answer.body;
        }
    }
    EXPECT_EQ(server_.locks().list().size(), 1U);
    const Answer answer = batch(
        R"({"op":"list","limit":5},{"op":"history"},{"op":"release_all","owner":"bob"},)"
        R"({"op":"list","type":"Secret"},{"op":"try","type":"Order","id":"eu-1","owner":"bob"})");
    EXPECT_EQ(answer.status, 200U);
    EXPECT_FALSE(answer.body.contains("Secret")) << answer.body;
    EXPECT_EQ(answer.json().at("answers").as_array().size(), 5U);
    EXPECT_TRUE(server_.locks().check(lease.key, lease.lock_id).has_value());
}

TEST_P(KeyRules, LimitWhatEndsWithAnOwner) {
    for (const LockKey& key : {LockKey{"Order", "eu-1"}, LockKey{"Order", "us-1"},
                               LockKey{"lfs:game", "a"}, LockKey{"lfs:other", "a"}}) {
        take(key);
    }
    const auto ended = ask("DELETE", "/v1/owners/bob/locks").json();
    EXPECT_EQ(ended.at("leases").as_array().size(), 2U);
    // The client may limit it further, and no less.
    take({"Order", "eu-1"});
    take({"lfs:game", "a"});
    EXPECT_EQ(batch(R"({"op":"release_all","owner":"bob","only_keys":["*"]})").status, 200U);
    EXPECT_EQ(server_.locks().list().size(), 2U);
    take({"Order", "eu-1"});
    take({"lfs:game", "a"});
    (void)batch(R"({"op":"release_all","owner":"bob","only_keys":["lfs:*"]})");
    EXPECT_EQ(server_.locks().list().size(), 3U);
    (void)batch(R"({"op":"release_all","owner":"bob","only_keys":["Secret/*"]})");
    EXPECT_EQ(server_.locks().list().size(), 3U);
}

TEST_P(KeyRules, FillThePagesOfAList) {
    std::vector<std::string> expected;
    for (int i = 0; i < 60; ++i) {
        const std::string number = std::to_string(100 + i);
        take({"Order", "a" + number});
        take({"Order", "eu-" + number});
        take({"Order", "us-" + number});
        take({"Zone", number});
        take({"lfs:game", number});
    }
    for (int i = 0; i < 60; ++i) expected.push_back("Order/eu-" + std::to_string(100 + i));
    for (int i = 0; i < 60; ++i) expected.push_back("lfs:game/" + std::to_string(100 + i));
    for (const int limit : {1, 7, 60, 100, 120, 121, 1000}) {
        std::vector<std::string> found;
        std::string after;
        for (;;) {
            const auto page = ask("GET", "/v1/locks?limit=" + std::to_string(limit) + after).json();
            const auto& rows = page.at("locks").as_array();
            for (const auto& row : rows) {
                found.push_back(std::string{row.at("type").as_string()} + "/" +
                                std::string{row.at("id").as_string()});
            }
            if (page.at("next").is_null()) break;
            EXPECT_EQ(rows.size(), static_cast<std::size_t>(limit));
            after = "&after=" + std::string{page.at("next").as_string()};
            // The cursor names a key that the token may see.
            EXPECT_TRUE(after.contains("eu-") || after.contains("game")) << after;
        }
        EXPECT_EQ(found, expected) << limit;
    }
    EXPECT_EQ(ask("GET", "/v1/locks?contains=101").json().at("locks").as_array().size(), 2U);
    EXPECT_EQ(ask("GET", "/v1/locks?type=Zone").json().at("locks").as_array().size(), 0U);
    EXPECT_EQ(ask("GET", "/v1/locks?type=lfs:game&limit=100").json().at("locks").as_array().size(),
              60U);
    // Some holders of one key on one page, the others on the next.
    for (const char* const owner : {"x", "y", "z"}) {
        (void)server_.locks().try_lock({"Order", "eu-0"}, {.owner = owner, .mode = Mode::shared});
    }
    const auto first = ask("GET", "/v1/locks?limit=2").json();
    const auto second =
        ask("GET", "/v1/locks?limit=2&after=" + std::string{first.at("next").as_string()}).json();
    EXPECT_EQ(second.at("locks").at(0).at("id"), "eu-0");
    EXPECT_EQ(second.at("locks").at(1).at("id"), "eu-100");
}

TEST_P(KeyRules, FillThePagesOfTheHistory) {
    for (int i = 0; i < 30; ++i) {
        const std::string number = std::to_string(100 + i);
        hold_and_release({"Order", "eu-" + number});
        for (int j = 0; j < 3; ++j) hold_and_release({"Secret", number});
    }
    for (const int limit : {1, 7, 30, 31}) {
        int found = 0;
        std::string before;
        for (;;) {
            const auto page =
                ask("GET", "/v1/history?limit=" + std::to_string(limit) + before).json();
            for (const auto& row : page.at("history").as_array()) {
                const std::string id = "eu-" + std::to_string(129 - found++);
                EXPECT_EQ(row.at("id").as_string(), std::string_view{id});
            }
            if (page.at("next").is_null()) break;
            before = "&before=" + std::to_string(page.at("next").as_int64());
        }
        EXPECT_EQ(found, 30) << limit;
    }
    const auto answers = batch(R"({"op":"history","limit":9},{"op":"history","limit":99})").json();
    EXPECT_EQ(answers.at("answers").at(0).at("history").as_array().size(), 9U);
    EXPECT_EQ(answers.at("answers").at(1).at("history").as_array().size(), 30U);
}

TEST_P(KeyRules, FilterTheEvents) {
    EventClient events{server_.port(), {}, shows("game")};
    EventClient all{server_.port(), {}, shows("all")};
    ASSERT_EQ(ask("POST", "/v1/locks/Secret/1", R"({"owner":"bob"})", "all").status, 201U);
    ASSERT_EQ(ask("POST", "/v1/locks/Secret/1/knock", R"({"message":"m"})", "all").status, 202U);
    ASSERT_EQ(ask("POST", "/v1/locks/Order/eu-1", R"({"owner":"alice"})", "all").status, 201U);
    EXPECT_EQ(all.names(3), "granted knocked granted");
    EXPECT_EQ(events.next().text("owner"), "alice");
    EXPECT_FALSE(events.bytes().contains("Secret"));
}

TEST_P(KeyRules, EndTheStreamAndTheWaitOfATokenWhoseKeysChange) {
    EventClient events{server_.port(), {}, shows("game")};
    EventClient stays{server_.port(), {}, shows("all")};
    take({"Order", "eu-1"});
    Client waits = server_.connect();
    waits.send(message("POST", "/v1/locks/Order/eu-1", R"({"owner":"mallory","wait_ms":60000})",
                       shows("game")));
    ASSERT_TRUE(server_.waits_for(1));
    server_.use(
        tokens({limited(token("game", every_role), {"lfs:game/*"}), token("all", every_role)}));
    EXPECT_EQ(waits.receive().status, 403U);
    std::optional<std::string> block = events.block();
    while (block && !block->starts_with(": this token")) block = events.block();
    EXPECT_TRUE(block.has_value());
    EXPECT_EQ(events.block(), std::nullopt);
    ASSERT_EQ(ask("POST", "/v1/locks/Order/2", "{}", "all").status, 201U);
    SentEvent next = stays.next();
    while (next.text("id") == "eu-1") next = stays.next();
    EXPECT_EQ(next.text("id"), "2");
}

TEST_P(KeyRules, AreToldToTheToken) {
    EXPECT_EQ(boost::json::serialize(ask("GET", "/v1/token").json().at("keys")),
              R"({"use":["Order/eu-*","lfs:game/*"],"see":["Order/eu-*","lfs:game/*"],)"
              R"("break":["Order/eu-*","lfs:game/*"]})");
    EXPECT_EQ(boost::json::serialize(ask("GET", "/v1/token", {}, "reader").json().at("keys")),
              R"({"use":["Order/eu-1"]})");
    EXPECT_FALSE(ask("GET", "/v1/token", {}, "all").json().as_object().contains("keys"));
    EXPECT_EQ(ask("GET", "/v1/locks/Secret/1").json().at("detail"),
              "the keys of the token 'game' do not include Secret/1");
}

}  // namespace
}  // namespace leasehold::testing
