#include <fstream>

#include "server/certificates.hpp"
#include "server/event_client.hpp"
#include "server/token_fixture.hpp"
#include "server/transport/tls.hpp"
#include "support/process.hpp"

// The header fields that every answer has, whichever part of the server makes it.
namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using server::Role;

void expect_nosniff(const Answer& answer, const std::string& what) {
    ASSERT_NE(answer.status, 0U) << what;
    const auto field = answer.fields.find("x-content-type-options");
    ASSERT_NE(field, answer.fields.end()) << what;
    EXPECT_EQ(field->second, "nosniff") << what;
}

TEST(EveryAnswer, ForbidsBrowsersToGuessItsType) {
    RunningServer server{memory::open(),
                         {.header_deadline = 100ms,
                          .tokens = tokens({token("shop", {Role::use, Role::see}, "shop")}),
                          .cors_origins = {"https://shop.example"}}};
    Client client = server.connect();
    for (const std::string target : {"/", "/healthz", "/readyz", "/openapi.json", "/nowhere",
                                     "/console/nothing", "/v1/locks"}) {
        expect_nosniff(client.ask("GET", target), target);
    }
    expect_nosniff(client.ask("GET", "/", {}, "If-None-Match: *\r\n"), "304");
    expect_nosniff(client.ask("OPTIONS", "/v1/locks", {},
                              "Origin: https://shop.example\r\n"
                              "Access-Control-Request-Method: GET\r\n"),
                   "204");
    expect_nosniff(client.ask("PUT", "/v1/locks"), "405");
    expect_nosniff(client.ask("POST", "/v1/batch", "{nonsense", shows("shop")), "400");
    client.send(message("HEAD", "/healthz"));
    expect_nosniff(client.receive_head(), "HEAD");
    expect_nosniff(EventClient{server.port(), {}, shows("shop")}.answer(), "events");
    Client garbage = server.connect();
    garbage.send("nonsense\r\n\r\n");
    expect_nosniff(garbage.receive(), "malformed");
    Client slow = server.connect();
    slow.send("GET / HTTP/1.1\r\n");
    expect_nosniff(slow.receive(), "408");
}

TEST(EveryAnswer, AlsoOneThatTurnsAConnectionAwayForbidsBrowsersToGuessItsType) {
    RunningServer full{memory::open(), {.connections = 1}};
    Client first = full.connect();
    EXPECT_EQ(first.ask("GET", "/healthz").status, 200U);
    Client second = full.connect();
    expect_nosniff(second.receive(), "503");
}

class StrictTransport : public ::testing::Test {
protected:
    [[nodiscard]] server::ServerOptions options(std::chrono::milliseconds hsts) const {
        return {.identity = std::make_shared<const server::TlsIdentity>(certificate_.file,
                                                                        certificate_.key),
                .hsts = hsts};
    }

    TemporaryFolder folder_;
    Certificate certificate_{folder_.path(), "one", "DNS:localhost"};
};

TEST_F(StrictTransport, IsDemandedOfBrowsersThatHaveUsedTls) {
    RunningServer server{memory::open(), options(std::chrono::hours{1})};
    Client client = server.connect();
    ASSERT_TRUE(client.secure(certificate_.file));
    for (const std::string target : {"/", "/healthz", "/nowhere"}) {
        Answer answer = client.ask("GET", target);
        EXPECT_EQ(answer.fields["strict-transport-security"], "max-age=3600") << target;
    }
    // Without TLS the field means nothing, and anybody on the way could have written it.
    Client plain = server.connect();
    EXPECT_FALSE(plain.ask("GET", "/healthz").fields.contains("strict-transport-security"));
}

TEST_F(StrictTransport, CanBeSwitchedOff) {
    RunningServer server{memory::open(), options(0ms)};
    Client client = server.connect();
    ASSERT_TRUE(client.secure(certificate_.file));
    EXPECT_FALSE(client.ask("GET", "/healthz").fields.contains("strict-transport-security"));
}

TEST(Unauthorized, IsSaidInOneTextWhateverIsWrong) {
    RunningServer server{memory::open(),
                         {.tokens = tokens({token("shop", {Role::use}, "shop"),
                                            token("goes", {Role::use}, "goes")})}};
    const auto held = server.locks().try_lock(order, {.owner = "holder"});
    Client waiting = server.connect();
    waiting.send(
        message("POST", "/v1/locks/Order/1", R"({"wait_ms":60000,"owner":"goes"})", shows("goes")));
    ASSERT_TRUE(server.waits_for(1));
    server.use(tokens({token("shop", {Role::use}, "shop")}));
    const std::string revoked = waiting.receive().body;
    Client client = server.connect();
    for (const std::string fields :
         {"", "Authorization: Bearer\r\n", "Authorization: Basic x\r\n",
          "Authorization: Bearer unknown\r\n", "Authorization: Bearer secret-of-goes\r\n"}) {
        const Answer answer = client.ask("GET", "/v1/token", {}, fields);
        EXPECT_EQ(answer.status, 401U) << fields;
        EXPECT_EQ(answer.body, revoked) << fields;
    }
}

}  // namespace
}  // namespace leasehold::testing
