// One token, or a crowd of clients without one, never takes everything from the others.
#include <boost/json/array.hpp>

#include <string>
#include <vector>

#include "hostile/hostile.hpp"

namespace leasehold::hostile {
namespace {

using server::Quota;
using server::Role;

class Tenants : public HostileTest {
protected:
    static server::ServerOptions with(Quota quota, std::uint64_t limit) {
        server::ServerOptions options = two_tenants();
        options.quotas[quota] = limit;
        return options;
    }
    static server::ServerOptions two_tenants() {
        return {.threads = 2,
                .tokens = tokens({token("greedy", {Role::use, Role::see}, "greedy"),
                                  token("modest", {Role::use, Role::see}, "modest")})};
    }
    static std::string try_of(std::size_t number, const std::string& owner) {
        return R"({"op":"try","type":"Key","id":")" + std::to_string(number) + R"(","owner":")" +
               owner + "\"}";
    }
    static Answer take(Client& client, const std::string& id, const std::string& who) {
        return client.ask("POST", "/v1/locks/Order/" + id, R"({"owner":")" + who + "\"}",
                          shows(who));
    }
    static std::size_t held(RunningServer& server) {
        return server.locks().list({.limit = 1000}).size();
    }
};
LEASEHOLD_HOSTILE(Tenants);

TEST_P(Tenants, OneTakesNoMoreLeasesThanItsQuota) {
    constexpr std::size_t quota = 20;
    const auto server = start(with(Quota::leases, quota));
    Client client = server->connect();
    // Under one name it gets half of the quota, under many names the whole.
    std::vector<std::string> tries;
    for (std::size_t i = 0; i < 50; ++i) tries.push_back(try_of(i, "greedy/alice"));
    EXPECT_EQ(client.ask("POST", "/v1/batch", batch_of(tries), shows("greedy")).status, 200U);
    EXPECT_EQ(held(*server), quota / 2);
    tries.clear();
    for (std::size_t i = 50; i < 100; ++i)
        tries.push_back(try_of(i, "greedy/" + std::to_string(i)));
    EXPECT_EQ(client.ask("POST", "/v1/batch", batch_of(tries), shows("greedy")).status, 200U);
    EXPECT_EQ(held(*server), quota);
    EXPECT_EQ(take(client, "1", "greedy").code(), "quota_exceeded");
    EXPECT_EQ(take(client, "1", "modest").status, 201U);
}

TEST_P(Tenants, OneWritesNoMoreHistoryThanItsQuota) {
    const auto server = start(with(Quota::grants_per_day, 10));
    Client client = server->connect();
    std::size_t granted = 0;
    for (int i = 0; i < 30; ++i) {
        const Answer answer =
            client.ask("POST", "/v1/locks/Order/1",
                       R"({"owner":"greedy/)" + std::to_string(i) + "\"}", shows("greedy"));
        if (answer.status != 201) {
            EXPECT_EQ(answer.json().at("quota"), "grants_per_day");
            continue;
        }
        ++granted;
        EXPECT_EQ(
            client.ask("DELETE", "/v1/locks/Order/1", {}, lock_token_of(answer) + shows("greedy"))
                .status,
            200U);
    }
    EXPECT_EQ(granted, 10U);
    EXPECT_LE(server->locks().history().size(), 10U);
    EXPECT_EQ(take(client, "1", "modest").status, 201U);
}

TEST_P(Tenants, OneParksNoReleasesUntilThoseOfOthersAreForgotten) {
    server::ServerOptions options = two_tenants();
    options.delayed_releases = 8;
    const auto server = start(options);
    Client client = server->connect();
    const auto leave = [&](const std::string& id, const std::string& who, const char* after) {
        const std::string secret = lock_token_of(take(client, id, who));
        return client
            .ask("DELETE", "/v1/locks/Order/" + id + "?after_ms=" + after, {}, secret + shows(who))
            .status;
    };
    for (int i = 0; i < 12; ++i) {
        // What cannot be kept is released at once, and not answered 202.
        EXPECT_EQ(leave(std::to_string(i), "greedy", "60000"), i < 4 ? 202U : 200U) << i;
    }
    EXPECT_EQ(held(*server), 4U);
    EXPECT_EQ(leave("mine", "modest", "1"), 202U);
    EXPECT_TRUE(
        testing::eventually([&] { return server->locks().holders({"Order", "mine"}).empty(); }));
}

TEST_P(Tenants, ABatchDoesNotExceedTheRateOfItsToken) {
    server::ServerOptions options = two_tenants();
    // So slow that nothing comes back while the test runs.
    options.rate = {.per_second = 1e-9, .at_once = 20};
    const auto server = start(options);
    Client client = server->connect();
    std::vector<std::string> tries;
    for (std::size_t i = 0; i < 1024; ++i)
        tries.push_back(try_of(i, "greedy/" + std::to_string(i)));
    EXPECT_EQ(client.ask("POST", "/v1/batch", batch_of(tries), shows("greedy")).status, 200U);
    EXPECT_EQ(held(*server), 20U);
    EXPECT_EQ(client.ask("POST", "/v1/batch", batch_of(tries), shows("greedy")).status, 429U);
    EXPECT_EQ(take(client, "1", "modest").status, 201U);
}

TEST_P(Tenants, OneTakesNotAllPlacesForWaitingAndForEvents) {
    server::ServerOptions options = two_tenants();
    options.waiters = options.events_clients = 6;
    const auto server = start(options);
    Client client = server->connect();
    ASSERT_EQ(take(client, "1", "modest").status, 201U);
    const auto wait = [](const std::string& who) {
        return testing::message("POST", "/v1/locks/Order/1",
                                R"({"wait_ms":60000,"owner":")" + who + "/waits\"}", shows(who));
    };
    const auto listen = [](const std::string& who) {
        return testing::message("GET", "/v1/events", {}, shows(who));
    };
    std::vector<Client> greedy;
    for (int i = 0; i < 8; ++i) {
        greedy.push_back(server->connect());
        greedy.back().send(wait("greedy"));
        greedy.push_back(server->connect());
        greedy.back().send(listen("greedy"));
    }
    ASSERT_TRUE(server->waits_for(3));
    ASSERT_TRUE(server->listened_to_by(3));
    Client waiting = server->connect();
    waiting.send(wait("modest"));
    EXPECT_TRUE(server->waits_for(4));
    Client listening = server->connect();
    listening.send(listen("modest"));
    EXPECT_TRUE(server->listened_to_by(4));
}

TEST_P(Tenants, SilentStrangersShutOutNobody) {
    server::ServerOptions options = two_tenants();
    options.connections = 16;
    const auto server = start(options);
    Client holder = server->connect();
    const Answer lease = take(holder, "1", "modest");
    ASSERT_EQ(lease.status, 201U);
    std::vector<Client> strangers;
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 20; ++i) strangers.push_back(server->connect());
        EXPECT_EQ(holder
                      .ask("PATCH", "/v1/locks/Order/1", R"({"ttl_ms":60000})",
                           lock_token_of(lease) + shows("modest"))
                      .status,
                  200U);
        Client another = server->connect();
        EXPECT_EQ(take(another, "2", "modest").status, 201U);
    }
}

}  // namespace
}  // namespace leasehold::hostile
