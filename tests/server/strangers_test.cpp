#include <boost/asio/ip/address.hpp>

#include <string>
#include <vector>

#include "server/token_fixture.hpp"
#include "server/transport/connections.hpp"
#include "server/transport/peers.hpp"

// Clients that have shown no token, and what they cannot do to clients that have.
namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using server::Connections;
using server::Role;

class Strangers : public ::testing::Test {
protected:
    static server::ServerOptions options(std::size_t connections) {
        return {.threads = 2,
                .connections = connections,
                .idle = 60s,
                .tokens = tokens({token("shop", {Role::use, Role::see})})};
    }
    static unsigned list(Client& client) {
        return client.ask("GET", "/v1/locks", {}, shows("shop")).status;
    }
    static std::vector<Client> silent(const RunningServer& server, std::size_t number) {
        std::vector<Client> clients;
        for (std::size_t i = 0; i < number; ++i) clients.push_back(server.connect());
        return clients;
    }
};

TEST_F(Strangers, LoseTheirConnectionsToClientsWithAToken) {
    // One token gets half of the places at most.
    RunningServer server{memory::open(), options(10)};
    auto strangers = silent(server, 20);
    // Every client with a token is served, however many strangers came before and still come.
    std::vector<Client> known;
    for (int i = 0; i < 5; ++i) {
        Client& client = known.emplace_back(server.connect());
        EXPECT_EQ(list(client), 200U);
        const auto more = silent(server, 3);
        for (Client& earlier : known) EXPECT_EQ(list(earlier), 200U);
    }
    EXPECT_TRUE(strangers.front().closed());
}

TEST_F(Strangers, LoseThemInTheOrderOfTheirSilence) {
    server::ServerOptions one_thread = options(4);
    one_thread.threads = 1;
    RunningServer server{memory::open(), one_thread};
    auto strangers = silent(server, 3);
    ASSERT_TRUE(server.has_connections(3));
    // The first one speaks, and so the second one has been silent longest.
    EXPECT_EQ(strangers[0].ask("GET", "/healthz").status, 200U);
    Client next = server.connect();
    EXPECT_EQ(next.ask("GET", "/healthz").status, 200U);
    EXPECT_TRUE(strangers[1].closed());
    EXPECT_EQ(strangers[0].ask("GET", "/healthz").status, 200U);
    EXPECT_EQ(strangers[2].ask("GET", "/healthz").status, 200U);
}

TEST_F(Strangers, NeverTakeTheConnectionOfAWaitingClient) {
    RunningServer server{memory::open(), options(4)};
    const Lease held = server.locks().try_lock(order, {.owner = "alice"}).value();
    Client waiting = server.connect();
    waiting.send(message("POST", "/v1/locks/Order/1", R"({"wait_ms":60000})", shows("shop")));
    ASSERT_TRUE(server.waits_for(1));
    Client listening = server.connect();
    listening.send(message("GET", "/v1/events", {}, shows("shop")));
    ASSERT_TRUE(server.listened_to_by(1));
    const auto strangers = silent(server, 20);
    Client client = server.connect();
    EXPECT_EQ(client
                  .ask("DELETE", "/v1/locks/Order/1", {},
                       lock_token(held.lock_id.to_string()) + shows("shop"))
                  .status,
              200U);
    EXPECT_EQ(waiting.receive().status, 201U);
    EXPECT_EQ(server.listening(), 1U);
}

TEST_F(Strangers, AreAlsoTheConnectionsOfATokenBeyondItsQuota) {
    server::ServerOptions few = options(8);
    few.tokens = tokens({token("shop", {Role::see}), token("crowd", {Role::see})});
    RunningServer server{memory::open(), few};
    // It gets half of the places. Its further connections are served, and are the first to go.
    std::vector<Client> crowd;
    for (int i = 0; i < 20; ++i) {
        crowd.push_back(server.connect());
        EXPECT_EQ(crowd.back().ask("GET", "/v1/locks", {}, shows("crowd")).status, 200U);
    }
    std::vector<Client> known;
    for (int i = 0; i < 3; ++i) {
        known.push_back(server.connect());
        EXPECT_EQ(list(known.back()), 200U);
    }
    for (Client& client : known) EXPECT_EQ(list(client), 200U);
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(
            crowd[static_cast<std::size_t>(i)].ask("GET", "/v1/locks", {}, shows("crowd")).status,
            200U);
    }
}

TEST_F(Strangers, LeavePlacesForClientsWithATokenAndKeepSome) {
    Connections connections{32};
    std::vector<Connections::Counted> all;
    for (int i = 0; i < 23; ++i) all.emplace_back(connections);
    EXPECT_FALSE(connections.full_of_strangers());
    all.emplace_back(connections);
    EXPECT_TRUE(connections.full_of_strangers());
    EXPECT_FALSE(connections.full());
    for (auto& one : all) one.become_known();
    EXPECT_FALSE(connections.full_of_strangers());
    for (int i = 0; i < 8; ++i) all.emplace_back(connections).become_known();
    EXPECT_TRUE(connections.full());
    // A stranger takes the place of an idle client here, until strangers have their share.
    EXPECT_FALSE(connections.has_many_strangers());
    for (int i = 0; i < 3; ++i) all.pop_back();
    for (int i = 0; i < 3; ++i) all.emplace_back(connections);
    EXPECT_TRUE(connections.has_many_strangers());
    all.back().end();
    EXPECT_EQ(connections.all(), 31U);
    all.clear();
    EXPECT_EQ(connections.all(), 0U);
}

TEST_F(Strangers, AreNotWaitedForAsLongAsOthers) {
    server::ServerOptions quick = options(10);
    quick.first_byte = 300ms;
    RunningServer server{memory::open(), quick};
    Client known = server.connect();
    ASSERT_EQ(list(known), 200U);
    Client silent = server.connect();
    Client anonymous = server.connect();
    ASSERT_EQ(anonymous.ask("GET", "/healthz").status, 200U);
    EXPECT_TRUE(silent.closed());
    EXPECT_TRUE(anonymous.closed());
    EXPECT_EQ(list(known), 200U);
}

TEST_F(Strangers, OfOneAddressHaveALimit) {
    server::ServerOptions few = options(100);
    few.connections_per_address = 2;
    RunningServer server{memory::open(), few};
    Client first = server.connect();
    Client second = server.connect();
    EXPECT_EQ(first.ask("GET", "/healthz").status, 200U);
    EXPECT_EQ(second.ask("GET", "/healthz").status, 200U);
    EXPECT_EQ(server.connect().receive().status, 503U);
    // Connections on which a token was shown do not count.
    EXPECT_EQ(list(first), 200U);
    EXPECT_EQ(list(second), 200U);
    EXPECT_EQ(server.connect().ask("GET", "/healthz").status, 200U);

    const server::ServerOptions usual;
    const auto most = [&](const char* address) {
        return server::most_strangers_from(boost::asio::ip::make_address(address), usual);
    };
    EXPECT_EQ(most("192.0.2.1"), server::ServerOptions::usual_connections_per_address);
    EXPECT_EQ(most("2001:db8::1"), server::ServerOptions::usual_connections_per_address);
    EXPECT_EQ(most("127.0.0.1"), 0U);
    EXPECT_EQ(most("::1"), 0U);
    EXPECT_EQ(most("::ffff:127.0.0.1"), 0U);
}

// A client can use every address of its IPv6 network.
TEST(AnAddress, OfAnIpv6NetworkCountsAsTheNetwork) {
    const auto name = [](const char* text) {
        return server::name_of(boost::asio::ip::make_address(text));
    };
    EXPECT_EQ(name("2001:db8:1:2::1"), "2001:db8:1:2::/64");
    EXPECT_EQ(name("2001:db8:1:2:ffff:ffff:ffff:ffff"), name("2001:db8:1:2::1"));
    EXPECT_NE(name("2001:db8:1:3::1"), name("2001:db8:1:2::1"));
    EXPECT_EQ(name("192.0.2.1"), "192.0.2.1");
    EXPECT_EQ(name("::ffff:192.0.2.1"), "192.0.2.1");
    EXPECT_EQ(name("::1"), "::1");
}

}  // namespace
}  // namespace leasehold::testing
