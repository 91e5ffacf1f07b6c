#include <boost/json/serialize.hpp>

#include <leasehold/lock_id.hpp>

#include <string>

#include "server/server_fixture.hpp"
#include "unit/manual_clock.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

std::string text_at(const Answer& answer, std::string_view field) {
    const auto json = answer.json();
    return std::string{std::string_view{json.at(field).as_string()}};
}

class LockRoutes : public ::testing::Test {
protected:
    Answer ask(std::string_view method, std::string_view target, std::string_view body = {},
               std::string_view fields = {}) {
        return client_.ask(method, target, body, fields);
    }
    // Its lock id.
    std::string grant(std::string_view target, std::string_view body = {}) {
        const Answer answer = ask("POST", target, body);
        EXPECT_EQ(answer.status, 201U) << answer.body;
        return text_at(answer, "lock_id");
    }

    ManualClock clock_;
    RunningServer server_{memory_store_on(clock_)};
    Client client_ = server_.connect();
};

TEST_F(LockRoutes, GrantsALeaseAndRefusesTheNextWithItsHolder) {
    const Answer granted =
        ask("POST", "/v1/locks/Order/1", R"({"owner":"alice","ttl_ms":90000,"note":"editing"})");
    ASSERT_EQ(granted.status, 201U);
    EXPECT_EQ(text_at(granted, "type"), "Order");
    EXPECT_EQ(text_at(granted, "id"), "1");
    EXPECT_EQ(text_at(granted, "owner"), "alice");
    EXPECT_EQ(granted.json().at("remaining_ms").as_int64(), 90'000);

    const Answer refused = ask("POST", "/v1/locks/Order/1", R"({"owner":"bob"})");
    EXPECT_EQ(refused.status, 409U);
    EXPECT_EQ(refused.code(), "held");
    EXPECT_EQ(text_at(refused, "type"), "urn:leasehold:held");
    EXPECT_EQ(refused.fields.at("retry-after"), "60");
    const auto json = refused.json();
    const auto& holder = json.at("holders").at(0);
    EXPECT_EQ(holder.at("owner").as_string(), "alice");
    EXPECT_EQ(holder.at("note").as_string(), "editing");
    EXPECT_EQ(refused.body.find(text_at(granted, "lock_id")), std::string::npos);
}

TEST_F(LockRoutes, GrantsWithoutABodyForTheServersDefaultTime) {
    RunningServer server{memory::open(), {}, {.default_ttl = 7s}};
    Client client = server.connect();
    EXPECT_EQ(client.ask("POST", "/v1/locks/Order/1").json().at("remaining_ms").as_int64(), 7000);
    const Answer batch =
        client.ask("POST", "/v1/batch", R"({"requests":[{"op":"try","type":"Order","id":"2"}]})");
    EXPECT_EQ(batch.json().at("answers").at(0).at("lease").at("remaining_ms").as_int64(), 7000);
}

TEST_F(LockRoutes, TakesTheLockIdOfWhoAsksSoThatAskingAgainIsSafe) {
    const std::string mine = LockId::random().to_string();
    const Answer first = ask("POST", "/v1/locks/Order/1", {}, lock_token(mine));
    const Answer again = ask("POST", "/v1/locks/Order/1", {}, lock_token(mine));
    EXPECT_EQ(text_at(first, "lock_id"), mine);
    EXPECT_EQ(again.status, 201U);
    EXPECT_EQ(first.json().at("fence"), again.json().at("fence"));
}

TEST_F(LockRoutes, NamesAreBytesBehindPercentSigns) {
    const Answer granted = ask("POST", "/v1/locks/a%2Fb/%C3%BC%20%3F+");
    ASSERT_EQ(granted.status, 201U) << granted.body;
    EXPECT_EQ(text_at(granted, "type"), "a/b");
    EXPECT_EQ(text_at(granted, "id"), "ü ?+");
    EXPECT_EQ(server_.locks().holders({"a/b", "ü ?+"}).size(), 1U);
}

TEST_F(LockRoutes, ShowsWhoHoldsAKeyWithoutSecrets) {
    const Answer empty = ask("GET", "/v1/locks/Order/1");
    EXPECT_TRUE(empty.body.starts_with(R"({"holders":[],"store_now":"2)")) << empty.body;
    EXPECT_TRUE(empty.body.ends_with(R"(Z","waiting":[]})")) << empty.body;
    const std::string lock_id = grant("/v1/locks/Order/1", R"({"owner":"alice"})");
    const Answer seen = ask("GET", "/v1/locks/Order/1");
    EXPECT_EQ(seen.status, 200U);
    EXPECT_EQ(seen.json().at("holders").at(0).at("owner").as_string(), "alice");
    EXPECT_EQ(seen.body.find(lock_id), std::string::npos);
}

TEST_F(LockRoutes, ChecksALeaseByItsToken) {
    const std::string lock_id = grant("/v1/locks/Order/1", R"({"ttl_ms":1000})");
    const Answer alive = ask("GET", "/v1/locks/Order/1", {}, lock_token(lock_id));
    EXPECT_EQ(alive.status, 200U);
    EXPECT_EQ(text_at(alive, "lock_id"), lock_id);
    EXPECT_EQ(ask("GET", "/v1/locks/Order/2", {}, lock_token(lock_id)).status, 410U);
    clock_.advance(2s);
    const Answer gone = ask("GET", "/v1/locks/Order/1", {}, lock_token(lock_id));
    EXPECT_EQ(gone.status, 410U);
    EXPECT_EQ(gone.code(), "gone");
    EXPECT_EQ(text_at(gone, "reason"), "expired");
}

TEST_F(LockRoutes, ExtendsAndRenews) {
    const std::string lock_id = grant("/v1/locks/Order/1", R"({"ttl_ms":10000})");
    const Answer extended =
        ask("PATCH", "/v1/locks/Order/1", R"({"extend_ms":5000})", lock_token(lock_id));
    EXPECT_EQ(extended.status, 200U);
    EXPECT_EQ(extended.json().at("remaining_ms").as_int64(), 15'000);
    const Answer renewed =
        ask("PATCH", "/v1/locks/Order/1", R"({"ttl_ms":60000})", lock_token(lock_id));
    EXPECT_EQ(renewed.json().at("remaining_ms").as_int64(), 60'000);
    clock_.advance(2min);
    EXPECT_EQ(ask("PATCH", "/v1/locks/Order/1", R"({"ttl_ms":60000})", lock_token(lock_id)).status,
              410U);
}

TEST_F(LockRoutes, ReleasingTwiceIsHarmless) {
    const std::string lock_id = grant("/v1/locks/Order/1");
    const Answer first = ask("DELETE", "/v1/locks/Order/1", {}, lock_token(lock_id));
    EXPECT_EQ(first.status, 200U);
    EXPECT_EQ(first.json().at("lease").at("lock_id").as_string(), lock_id);
    const Answer second = ask("DELETE", "/v1/locks/Order/1", {}, lock_token(lock_id));
    EXPECT_EQ(second.status, 200U);
    EXPECT_EQ(second.json().at("refused").at("reason").as_string(), "released");
}

TEST_F(LockRoutes, ListsByPage) {
    for (const char* id : {"1", "2", "%2F3"}) {
        grant(std::string{"/v1/locks/Order/"} + id, R"({"owner":"alice/tab-1"})");
    }
    grant("/v1/locks/Customer/1", R"({"owner":"bob"})");
    EXPECT_EQ(ask("GET", "/v1/locks").json().at("locks").as_array().size(), 4U);
    EXPECT_TRUE(ask("GET", "/v1/locks").json().at("next").is_null());
    EXPECT_EQ(ask("GET", "/v1/locks?owner=alice").json().at("locks").as_array().size(), 0U);
    EXPECT_EQ(ask("GET", "/v1/locks?owner=alice&scope=below&type=Order")
                  .json()
                  .at("locks")
                  .as_array()
                  .size(),
              3U);
    std::string ids;
    std::string target = "/v1/locks?type=Order&limit=1";
    for (int page = 0; page < 10; ++page) {
        const auto json = ask("GET", target).json();
        for (const auto& lock : json.at("locks").as_array()) {
            ids.append(std::string_view{lock.at("id").as_string()}).append(" ");
        }
        if (json.at("next").is_null()) break;
        std::string next{std::string_view{json.at("next").as_string()}};
        for (std::size_t at = next.find('%'); at != next.npos; at = next.find('%', at + 1)) {
            next.insert(at + 1, "25");
        }
        target = "/v1/locks?type=Order&limit=1&after=" + next;
    }
    EXPECT_EQ(ids, "/3 1 2 ");
}

TEST_F(LockRoutes, ReleasesAllOfAnOwnerAndNamesThemWithoutTheirSecrets) {
    const std::string lock_id = grant("/v1/locks/Order/1", R"({"owner":"alice/tab-1"})");
    grant("/v1/locks/Order/2", R"({"owner":"alice"})");
    const Answer exact = ask("DELETE", "/v1/owners/alice/locks");
    EXPECT_EQ(exact.status, 200U);
    EXPECT_EQ(exact.json().at("leases").as_array().size(), 1U);
    EXPECT_EQ(exact.json().at("leases").at(0).at("remaining_ms").as_int64(), 0);
    const Answer below = ask("DELETE", "/v1/owners/alice/locks?scope=below");
    EXPECT_EQ(below.json().at("leases").at(0).at("id").as_string(), "1");
    EXPECT_EQ(below.body.find(lock_id), std::string::npos);
    grant("/v1/locks/Order/1", R"({"owner":"alice/tab-1"})");
    EXPECT_EQ(ask("DELETE", "/v1/owners/alice%2Ftab-1/locks").json().at("leases").as_array().size(),
              1U);
}

TEST_F(LockRoutes, BreaksExactlyTheLeaseThatWasSeen) {
    const Answer granted = ask("POST", "/v1/locks/Order/1", R"({"owner":"alice"})");
    const auto fence = granted.json().at("fence").as_int64();
    const auto body = [](std::int64_t number) {
        return R"({"by":"admin","reason":"gone home","fence":)" + std::to_string(number) + "}";
    };
    EXPECT_EQ(ask("POST", "/v1/locks/Order/1/break", body(fence - 1)).status, 410U);
    const Answer broken = ask("POST", "/v1/locks/Order/1/break", body(fence));
    EXPECT_EQ(broken.status, 200U) << broken.body;
    EXPECT_EQ(text_at(broken, "owner"), "alice");
    EXPECT_EQ(broken.json().at("remaining_ms").as_int64(), 0);
    EXPECT_FALSE(broken.json().as_object().contains("lock_id"));
    const Answer lost =
        ask("GET", "/v1/locks/Order/1", {}, lock_token(text_at(granted, "lock_id")));
    EXPECT_EQ(text_at(lost, "reason"), "broken");
    EXPECT_EQ(text_at(lost, "by"), "admin");
    EXPECT_EQ(text_at(lost, "why"), "gone home");
}

TEST_F(LockRoutes, TellsWhatHappened) {
    for (int i = 0; i < 3; ++i) {
        const std::string lock_id = grant("/v1/locks/Order/1", R"({"owner":"alice"})");
        ask("DELETE", "/v1/locks/Order/1", {}, lock_token(lock_id));
    }
    EXPECT_EQ(ask("GET", "/v1/history").json().at("history").as_array().size(), 3U);
    for (const auto* path : {"/v1/history", "/v1/history?type=Order&id=none", "/v1/locks"}) {
        EXPECT_TRUE(ask("GET", path).json().as_object().contains("store_now")) << path;
    }
    EXPECT_EQ(ask("GET", "/v1/history?type=Order&id=2").json().at("history").as_array().size(), 0U);
    const auto first = ask("GET", "/v1/history?type=Order&id=1&limit=2").json();
    EXPECT_EQ(first.at("history").as_array().size(), 2U);
    const auto rest =
        ask("GET", "/v1/history?limit=2&before=" + boost::json::serialize(first.at("next"))).json();
    EXPECT_EQ(rest.at("history").as_array().size(), 1U);
    EXPECT_EQ(rest.at("history").at(0).at("how").as_string(), "released");
    EXPECT_TRUE(rest.at("next").is_null());
}

TEST_F(LockRoutes, AKeyCanHavePlaces) {
    const auto take = [&](const std::string& owner, const std::string& more) {
        return ask("POST", "/v1/locks/Job/1", R"({"owner":")" + owner + "\"," + more + "}");
    };
    EXPECT_EQ(take("alice", R"("places":2)").json().at("mode").as_string(), "shared");
    EXPECT_EQ(take("bob", R"("places":2,"mode":"exclusive")").status, 201U);
    const Answer full = take("carol", R"("places":2)");
    EXPECT_EQ(full.status, 409U);
    EXPECT_EQ(full.json().at("holders_in_all").as_int64(), 2);
    EXPECT_EQ(take("carol", R"("places":3)").status, 201U);
    for (const std::string wrong : {"0", "-1", "1001", "1.5", "\"two\"", "null"}) {
        EXPECT_EQ(take("dave", "\"places\":" + wrong).status, 400U) << wrong;
    }
}

TEST_F(LockRoutes, TheNextPageOfHistoryIsOneThatJavaScriptCanAskFor) {
    constexpr std::int64_t exact_in_javascript = (std::int64_t{1} << 53) - 1;
    grant("/v1/locks/Order/1", R"({"owner":"alice","mode":"shared","ttl_ms":60000})");
    grant("/v1/locks/Order/1", R"({"owner":"bob","mode":"shared","ttl_ms":60000})");
    clock_.advance(2min);
    std::string before;
    for (const char* const owner : {"bob", "alice"}) {
        const Answer page = ask("GET", "/v1/history?type=Order&id=1&limit=1" + before);
        ASSERT_EQ(page.json().at("history").as_array().size(), 1U) << page.body;
        const auto past = page.json().at("history").at(0);
        EXPECT_EQ(past.at("owner").as_string(), owner);
        EXPECT_EQ(past.at("how").as_string(), "expired");
        const std::int64_t next = page.json().at("next").as_int64();
        EXPECT_LE(next, exact_in_javascript);
        before = "&before=" + std::to_string(next);
    }
    const auto last = ask("GET", "/v1/history?type=Order&id=1&limit=1" + before).json();
    EXPECT_TRUE(last.at("history").as_array().empty());
    EXPECT_TRUE(last.at("next").is_null());
}

TEST_F(LockRoutes, AnswersHeadWithoutABody) {
    client_.send(message("HEAD", "/v1/locks/Order/1") + message("GET", "/v1/locks/Order/1"));
    const Answer head = client_.receive_head();
    EXPECT_EQ(head.status, 200U);
    // The next bytes are the answer to the GET. The length in the first answer is that of its body.
    const Answer got = client_.receive();
    EXPECT_EQ(got.status, 200U);
    EXPECT_EQ(head.fields.at("content-length"), std::to_string(got.body.size()));
}

struct Bad {
    std::string_view method, target, body, fields;
    unsigned status;
    std::string_view detail;
};

TEST_F(LockRoutes, NamesTheMistake) {
    const std::string uuid = lock_token(LockId::random().to_string());
    const Bad bad[]{
        {"POST", "/v1/locks/Order/1", R"({"ttl":5})", "", 400, "\"ttl\" is not known here"},
        {"POST", "/v1/locks/Order/1", R"({"owner":"a","owner":"b"})", "", 400, "given twice"},
        {"POST", "/v1/locks/Order/1", R"({"type":"Customer"})", "", 400, "\"type\" is not known"},
        {"POST", "/v1/locks/Order/1", R"({"lock_id":"x"})", "", 400, "\"lock_id\" is not known"},
        {"POST", "/v1/locks/Order/1", R"({"op":"try"})", "", 400, "\"op\" is not known"},
        {"POST", "/v1/locks/Order/1", R"([])", "", 400, "must be a JSON object"},
        {"POST", "/v1/locks/Order/1", "{\"owner\":\"\xff\"}", "", 400, "not valid JSON"},
        {"POST", "/v1/locks/Order/1", R"({"owner":7})", "", 400, "must be a string"},
        {"POST", "/v1/locks/Order/1", R"({"ttl_ms":1e99})", "", 400, "out of range"},
        {"POST", "/v1/locks/Order/1", R"({"ttl_ms":1})", "", 400, "at least 100ms"},
        {"POST", "/v1/locks/Order/1", R"({"ttl_ms":null})", "", 400, "here: allow_endless is off"},
        {"POST", "/v1/locks/Order/1", R"({"ttl_ms":null})", "", 400, "without an expiry"},
        {"POST", "/v1/locks/Order/1", R"({"mode":"both"})", "", 400, "must be one of"},
        {"POST", "/v1/locks/Order/1", R"({"mode":null})", "", 400, "must be a string, not null"},
        {"POST", "/v1/locks/Order/1", R"({"owner":null})", "", 400, "must be a string, not null"},
        {"POST", "/v1/locks/Order/1", R"({"note":null})", "", 400, "must be a string, not null"},
        {"POST", "/v1/locks/Order/1", R"({"since":null})", "", 400, "of 64 bits, not null"},
        {"POST", "/v1/locks/Order/1", R"({"wait_ms":null})", "", 400,
         "\"wait_ms\" must be a number of milliseconds, not null"},
        {"POST", "/v1/locks/Order/1?wait=1", "{}", "", 400, "takes no query"},
        {"POST", "/v1/locks/Order/1", "{}", "Lock-Token: secret\r\n", 400, "Lock-Token: a lock id"},
        {"POST", "/v1/locks/Order/%FF", "{}", "", 400, "UTF-8"},
        {"POST", "/v1/locks/Order/%00", "{}", "", 400, "control"},
        {"POST", "/v1/locks/Order/%zz", "{}", "", 400, "not a path"},
        {"POST", "/v1/locks/Order/<1>", "{}", "", 400, "not a path"},
        {"POST", "/v1/locks/Order/1#2", "{}", "", 400, "not a path"},
        {"POST", "/v1/locks/Order/", "{}", "", 400, "empty"},
        {"POST", "/v1/locks//1", "{}", "", 400, "empty"},
        {"POST", "/v1/locks/Order/1/2", "{}", "", 404, "nothing"},
        {"POST", "http://test/v1/locks/Order/1", "{}", "", 421, "answers only to localhost"},
        {"PUT", "/v1/locks/Order/1", "{}", "", 405, "GET, HEAD, POST, PATCH, DELETE"},
        {"PUT", "/v1/locks/Order/1", "", "", 405, "GET, HEAD, POST, PATCH, DELETE"},
        {"GET", "/v1/locks/Order/1", "{}", "", 400, "no body"},
        {"PATCH", "/v1/locks/Order/1", R"({"ttl_ms":1000})", "", 400,
         "Lock-Token field is missing"},
        {"PATCH", "/v1/locks/Order/1", "{}", uuid, 400, "exactly one"},
        {"PATCH", "/v1/locks/Order/1", R"({"ttl_ms":1000,"extend_ms":1})", uuid, 400,
         "exactly one"},
        {"PATCH", "/v1/locks/Order/1", R"({"ttl_ms":1000,"id":"2"})", uuid, 400, "is not known"},
        {"PATCH", "/v1/locks/Order/1", R"({"extend_ms":null})", uuid, 400,
         "\"extend_ms\" must be a number of milliseconds, not null"},
        {"PATCH", "/v1/locks/Order/1", R"({"ttl_ms":1000})", uuid, 410, "no such lease"},
        {"DELETE", "/v1/locks/Order/1", "", "", 400, "Lock-Token field is missing"},
        {"GET", "/v1/locks?tpye=Order", "", "", 400, "known are type, owner, scope, contains, "},
        {"GET", "/v1/locks?%FF=1", "", "", 400, "known are"},
        {"GET", "/v1/locks?type=A&type=B", "", "", 400, "given twice"},
        {"GET", "/v1/locks?type=%4", "", "", 400, "not a path"},
        {"GET", "/v1/locks?limit=0", "", "", 400, "at least 1"},
        {"GET", "/v1/locks?limit=1x", "", "", 400, "must be an integer"},
        {"GET", "/v1/locks?limit=99999", "", "", 400, "at most 1000"},
        {"GET", "/v1/locks?scope=all", "", "", 400, "must be one of"},
        {"GET", "/v1/locks?after=1", "", "", 400, "the page before"},
        {"GET", "/v1/locks?after=1%2F%25%2F1", "", "", 400, "the page before"},
        {"GET", "/v1/locks?owner=%FF", "", "", 400, "UTF-8"},
        {"GET", "/v1/history?type=Order", "", "", 400, "only together"},
        {"GET", "/v1/history?before=x", "", "", 400, "must be an integer"},
        {"POST", "/v1/locks/Order/1/break", R"({"by":"admin"})", "", 400, "\"fence\" is missing"},
        {"POST", "/v1/locks/Order/1/break", R"({"fence":1,"op":"x"})", "", 400, "is not known"},
        {"POST", "/v1/locks/Order/1/break", R"({"fence":1})", "", 400, "must be named"},
        {"POST", "/v1/batch", R"({"requests":[{"op":"fly"}]})", "", 400, "\"op\""},
        {"POST", "/v1/batch", R"({"requests":[{"op":"list"},{"op":"fly"}]})", "", 400,
         "requests[1]: a request: \"op\""},
        {"POST", "/v1/batch", R"({"requests":{}})", "", 400, "must be an array"},
        {"POST", "/v1/batch", R"({"requests":[],"more":1})", "", 400, "not known here"},
        {"POST", "/v1/batch", "", "", 415, "Content-Type: application/json"},
    };
    for (const Bad& one : bad) {
        const Answer answer = ask(one.method, one.target, one.body, one.fields);
        EXPECT_EQ(answer.status, one.status) << one.target << " " << one.body << answer.body;
        EXPECT_NE(answer.body.find(boost::json::serialize(one.detail)
                                       .substr(1, boost::json::serialize(one.detail).size() - 2)),
                  std::string::npos)
            << one.target << " " << one.body << " " << answer.body;
        EXPECT_EQ(answer.fields.at("content-type"), "application/problem+json");
    }
    EXPECT_TRUE(server_.locks().list().empty());
}

TEST_F(LockRoutes, TakesJsonOnly) {
    for (const std::string_view type :
         {"", "Content-Type: text/plain\r\n", "Content-Type: application/x-www-form-urlencoded\r\n",
          "Content-Type: application/jsonp\r\n"}) {
        client_.send("POST /v1/locks/Order/1 HTTP/1.1\r\nHost: localhost\r\n" + std::string{type} +
                     "Content-Length: 2\r\n\r\n{}");
        EXPECT_EQ(client_.receive().status, 415U) << type;
    }
    client_.send(
        "POST /v1/locks/Order/1 HTTP/1.1\r\nHost: localhost\r\n"
        "Content-Type: Application/JSON ; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}");
    EXPECT_EQ(client_.receive().status, 201U);
}

TEST_F(LockRoutes, ALockIdOfAnotherKeyIsAConflict) {
    const std::string drawn = "Lock-Token: " + LockId::random().to_string() + "\r\n";
    Client client = server_.connect();
    EXPECT_EQ(client.ask("POST", "/v1/locks/Order/1", "{}", drawn).status, 201U);
    const Answer answer = client.ask("POST", "/v1/locks/Order/2", "{}", drawn);
    EXPECT_EQ(answer.status, 409U);
    EXPECT_EQ(answer.code(), "lock_id_in_use");
    EXPECT_FALSE(answer.fields.contains("retry-after"));
    EXPECT_TRUE(answer.body.contains("another key"));
}

}  // namespace
}  // namespace leasehold::testing
