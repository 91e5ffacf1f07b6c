#include <chrono>

#include "server/event_client.hpp"
#include "server/store_fixture.hpp"
#include "server/token_fixture.hpp"

// Tokens of the file that expire.
namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using server::Role;

std::chrono::sys_seconds in(std::chrono::seconds duration) {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()) + duration;
}

server::Token expiring(const std::string& name, std::chrono::sys_seconds at) {
    server::Token made = token(name, {Role::use, Role::see}, name);
    made.expires = at;
    return made;
}

class AnExpiringToken : public OnAnyStore {};
LEASEHOLD_ON_ANY_STORE(AnExpiringToken);

TEST_P(AnExpiringToken, IsAcceptedUntilItsMoment) {
    RunningServer server{
        store(),
        {.tokens =
             tokens({expiring("dead", in(0s)), expiring("old", in(-1h)), expiring("alive", in(1h)),
                     expiring("long", std::chrono::sys_days{std::chrono::year{9999} / 12 / 31})})}};
    Client client = server.connect();
    const auto status = [&](const std::string& name) {
        return client.ask("GET", "/v1/locks", {}, shows(name)).status;
    };
    EXPECT_EQ(status("dead"), 401U);
    EXPECT_EQ(status("old"), 401U);
    EXPECT_EQ(status("alive"), 200U);
    EXPECT_EQ(status("long"), 200U);
    EXPECT_EQ(EventClient(server.port(), {}, shows("long")).answer().status, 200U);
}

TEST_P(AnExpiringToken, EndsItsWaitsAndStreamsWithoutAReload) {
    RunningServer server{
        store(),
        {.wait_poll = 1h,
         .tokens = tokens({expiring("goes", in(2s)), token("stays", {Role::use})})}};
    const auto held = server.locks().try_lock(order, {.owner = "holder"});
    Client waiting = server.connect();
    waiting.send(
        message("POST", "/v1/locks/Order/1", R"({"wait_ms":60000,"owner":"goes"})", shows("goes")));
    EventClient stream{server.port(), {}, shows("goes")};
    ASSERT_EQ(stream.answer().status, 200U);
    ASSERT_TRUE(server.waits_for(1));
    const Answer answer = waiting.receive();
    EXPECT_EQ(answer.status, 401U) << answer.body;
    EXPECT_EQ(stream.block(), ": this token may no longer listen to events\n\n");
    EXPECT_EQ(stream.block(), std::nullopt);
    EXPECT_EQ(server.connect().ask("GET", "/v1/token", {}, shows("goes")).status, 401U);
}

TEST_P(AnExpiringToken, ListensOnIfItsExpiryWasMovedInTime) {
    const auto soon = in(2s);
    RunningServer server{store(), {.tokens = tokens({expiring("shop", soon)})}};
    EventClient stream{server.port(), {}, shows("shop")};
    ASSERT_EQ(stream.answer().status, 200U);
    server.use(tokens({expiring("shop", in(1h))}));
    std::this_thread::sleep_until(soon + 100ms);
    const Answer taken =
        server.connect().ask("POST", "/v1/locks/Order/1", R"({"owner":"shop"})", shows("shop"));
    EXPECT_EQ(taken.status, 201U);
    EXPECT_EQ(stream.names(1), "granted");
}

}  // namespace
}  // namespace leasehold::testing
