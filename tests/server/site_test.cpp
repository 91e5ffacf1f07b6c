#include "server/http/site.hpp"

#include <leasehold/stores/http.hpp>

#include "server/token_fixture.hpp"

// What a web page can and cannot do with a server on its visitor's machine.
namespace leasehold::testing {
namespace {

using server::Role;

std::string request(const std::string& host, const std::string& fields = {},
                    const std::string& method = "GET", const std::string& target = "/v1/locks") {
    return method + " " + target + " HTTP/1.1\r\nHost: " + host + "\r\n" + fields + "\r\n";
}

unsigned status_of(RunningServer& server, const std::string& bytes) {
    Client client = server.connect();
    client.send(bytes);
    return client.receive().status;
}

TEST(Rebinding, ANameThatIsNotOursIsMisdirected) {
    RunningServer server{memory::open(), {.hosts = {"locks.example"}}};
    for (const std::string host :
         {"localhost", "LocalHost", "localhost:7470", "127.0.0.1", "127.0.0.1:80", "127.9.9.9",
          "[::1]", "[::1]:7470", "locks.example", "Locks.Example:443"}) {
        EXPECT_EQ(status_of(server, request(host)), 200U) << host;
    }
    for (const std::string host :
         {"evil.example", "evil.example:7470", "localhost.evil.example", "127.0.0.1.evil.example",
          "10.0.0.1", "0.0.0.0", "[::]", "[::1", "128.0.0.1", "127.1", "2130706433",
          "localhost@evil.example", "[::1]evil", "evil.example:localhost", "xlocalhost"}) {
        EXPECT_EQ(status_of(server, request(host)), 421U) << host;
        EXPECT_EQ(status_of(server, request(host, "", "POST", "/v1/locks/Order/1")), 421U) << host;
    }
    EXPECT_EQ(status_of(server, "GET /v1/locks HTTP/1.0\r\n\r\n"), 200U);
    EXPECT_TRUE(server.locks().list().empty());
}

TEST(Rebinding, TheHttpStoreNamesAnIPv6ServerByItsOwnName) {
    const RunningServer server{memory::open(), {.address = "::1"}};
    LockManager locks{http::open({.host = "::1", .port = server.port()})};
    EXPECT_TRUE(locks.try_lock({"Order", "1"}).has_value());
}

TEST(Rebinding, DoesNotMatterWhereTokensDo) {
    RunningServer server{memory::open(), {.tokens = tokens({token("shop", {Role::see})})}};
    EXPECT_EQ(status_of(server, request("locks.example")), 401U);
    EXPECT_EQ(status_of(server, request("locks.example", shows("shop"))), 200U);
}

TEST(CrossSite, APageOfAnotherSiteChangesNothing) {
    RunningServer server{memory::open()};
    const auto status = [&](const std::string& origin, const std::string& method) {
        return status_of(server, request("localhost:7470", "Origin: " + origin + "\r\n", method,
                                         "/v1/locks/Order/1"));
    };
    for (const std::string origin :
         {"https://evil.example", "null", "http://localhost", "http://localhost:7471",
          "http://127.0.0.1:7470", "file://localhost:7470", "localhost:7470", ""}) {
        for (const std::string method : {"POST", "PATCH", "DELETE", "OPTIONS", "PUT"}) {
            EXPECT_EQ(status(origin, method), 403U) << origin << method;
        }
        EXPECT_EQ(status(origin, "GET"), 200U) << origin;
    }
    EXPECT_TRUE(server.locks().list().empty());
    // The server's own pages may.
    EXPECT_EQ(status("http://localhost:7470", "POST"), 201U);
    EXPECT_EQ(status_of(server, request("localhost", "Origin: http://localhost\r\n", "POST",
                                        "/v1/locks/Order/2")),
              201U);
}

TEST(WithoutCors, NoPageIsPermittedAnything) {
    RunningServer server{memory::open()};
    Client client = server.connect();
    const Answer answer = client.ask("GET", "/v1/locks", {}, "Origin: https://shop.example\r\n");
    EXPECT_EQ(answer.status, 200U);
    EXPECT_FALSE(answer.fields.contains("access-control-allow-origin"));
    EXPECT_FALSE(answer.fields.contains("vary"));
    EXPECT_EQ(client
                  .ask("OPTIONS", "/v1/locks/Order/1", {},
                       "Origin: https://shop.example\r\nAccess-Control-Request-Method: POST\r\n")
                  .status,
              403U);
}

class Cors : public ::testing::Test {
protected:
    RunningServer server_{memory::open(),
                          {.tokens = tokens({token("shop", {Role::use, Role::see})}),
                           .cors_origins = {"https://shop.example", "http://localhost:3000"}}};
    Client client_ = server_.connect();
};

TEST_F(Cors, PreflightsAreAnsweredForExactlyTheOriginsThatAreSet) {
    const auto preflight = [&](const std::string& origin) {
        return client_.ask("OPTIONS", "/v1/locks/Order/1", {},
                           "Origin: " + origin +
                               "\r\nAccess-Control-Request-Method: POST\r\n"
                               "Access-Control-Request-Headers: authorization\r\n");
    };
    Answer yes = preflight("https://shop.example");
    EXPECT_EQ(yes.status, 204U);
    EXPECT_EQ(yes.fields["access-control-allow-origin"], "https://shop.example");
    EXPECT_EQ(yes.fields["access-control-allow-methods"], "GET, HEAD, POST, PATCH, DELETE");
    EXPECT_EQ(yes.fields["access-control-allow-headers"],
              "Authorization, Content-Type, Last-Event-ID, Lock-Token");
    EXPECT_EQ(yes.fields["vary"], "Origin");
    EXPECT_FALSE(yes.fields.contains("content-length"));
    EXPECT_FALSE(yes.fields.contains("access-control-allow-credentials"));
    for (const std::string origin :
         {"http://shop.example", "https://shop.example:443", "https://shop.example.evil.example",
          "https://xshop.example", "https://SHOP.example", "null", "*"}) {
        const Answer no = preflight(origin);
        EXPECT_EQ(no.status, 403U) << origin;
        EXPECT_FALSE(no.fields.contains("access-control-allow-origin")) << origin;
    }
}

TEST_F(Cors, AnswersAreReadableByThePagesThatMayAskEvenRefusals) {
    const std::string origin = "Origin: http://localhost:3000\r\n";
    Answer taken = client_.ask("POST", "/v1/locks/Order/1", "{}", origin + shows("shop"));
    EXPECT_EQ(taken.status, 201U);
    EXPECT_EQ(taken.fields["access-control-allow-origin"], "http://localhost:3000");
    EXPECT_EQ(taken.fields["access-control-expose-headers"], "Retry-After");
    EXPECT_EQ(taken.fields["vary"], "Origin");
    Answer refused = client_.ask("POST", "/v1/locks/Order/1", "{}", origin + shows("shop"));
    EXPECT_EQ(refused.status, 409U);
    EXPECT_EQ(refused.fields["access-control-allow-origin"], "http://localhost:3000");
    Answer stranger = client_.ask("GET", "/v1/locks", {}, origin);
    EXPECT_EQ(stranger.status, 401U);
    EXPECT_EQ(stranger.fields["access-control-allow-origin"], "http://localhost:3000");
    Answer program = client_.ask("GET", "/v1/locks", {}, shows("shop"));
    EXPECT_EQ(program.fields["vary"], "Origin");
    EXPECT_FALSE(program.fields.contains("access-control-allow-origin"));
}

}  // namespace
}  // namespace leasehold::testing
