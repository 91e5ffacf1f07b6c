// One token, or a crowd of clients without one, never takes everything from the others.
#include <boost/json/array.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "hostile/hostile.hpp"
#include "unit/gated_store.hpp"

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
    // Takes this many leases, and returns the batch that renews all of them.
    static std::string renewals_of(Client& client, std::size_t leases, const std::string& who) {
        std::vector<std::string> requests;
        for (std::size_t i = 0; i < leases; ++i) requests.push_back(try_of(i, who));
        const auto taken = client.ask("POST", "/v1/batch", batch_of(requests), shows(who)).json();
        requests.clear();
        for (const auto& one : taken.at("answers").as_array()) {
            const auto& lease = one.at("lease");
            requests.push_back(R"({"op":"renew","type":"Key","id":")" +
                               std::string{lease.at("id").as_string()} +
                               R"(","ttl_ms":60000,"lock_id":")" +
                               std::string{lease.at("lock_id").as_string()} + "\"}");
        }
        return batch_of(requests);
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
        // A release that cannot be scheduled is carried out at once, and not answered 202.
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

// Bodies of which the last byte does not come.
TEST_P(Tenants, OneSendsNoBodiesUntilThoseOfOthersFindNoRoom) {
    server::ServerOptions options = two_tenants();
    options.body_bytes = 256 * 1024;
    options.bodies_bytes = 1024 * 1024;
    const auto server = start(options);
    Client holder = server->connect();
    const std::string renewals = renewals_of(holder, 200, "modest");
    ASSERT_GT(renewals.size(), 16U * 1024) << "a small body needs no room";

    // Five of them fill the room, except for a few bytes.
    const auto body_of = [](std::size_t bytes) {
        std::string batch = batch_of({});
        batch.resize(bytes, ' ');
        return testing::message("POST", "/v1/batch", batch, shows("greedy"));
    };
    std::string half_sent = body_of(options.bodies_bytes / 5);
    half_sent.pop_back();
    std::vector<Client> greedy;
    for (int i = 0; i < 5; ++i) {
        greedy.push_back(server->connect());
        greedy.back().send(half_sent);
    }
    ASSERT_TRUE(testing::eventually([&] {
        Client client = server->connect();
        client.send(body_of(renewals.size()));
        return client.receive().status != 200;
    })) << "there is still room, so nothing is proved";
    const Answer renewed = holder.ask("POST", "/v1/batch", renewals, shows("modest"));
    ASSERT_EQ(renewed.status, 200U) << renewed.body;
    const auto body = renewed.json();
    for (const auto& one : body.at("answers").as_array()) {
        EXPECT_TRUE(one.as_object().contains("lease"));
    }
}

// Their store does not answer.
class TenantsOfASlowStore : public Tenants {
protected:
    // Sends the requests, each on its own connection, and waits until this many are refused.
    [[nodiscard]] ::testing::AssertionResult send_until_refused(
        const std::vector<std::string>& requests, std::ptrdiff_t refusals = 1) {
        for (const std::string& request : requests) {
            sent_.push_back(server_->connect());
            sent_.back().send(request);
        }
        const bool refused = testing::eventually([&] {
            return std::ranges::count_if(sent_, [](Client& one) { return one.hears(); }) >=
                   refusals;
        });
        return refused ? ::testing::AssertionSuccess()
                       : ::testing::AssertionFailure() << "too many of them were accepted";
    }
    // On one thread: when it answers somebody later, it has read what came before.
    void start_with(server::ServerOptions options) {
        options.threads = 1;
        auto gated = std::make_unique<testing::GatedStore>(open_store(url()));
        store_ = gated.get();
        server_ = std::make_unique<RunningServer>(std::move(gated), std::move(options));
    }

    testing::GatedStore* store_ = nullptr;
    std::unique_ptr<RunningServer> server_;
    std::vector<Client> sent_;
};
LEASEHOLD_HOSTILE(TenantsOfASlowStore);

TEST_P(TenantsOfASlowStore, OneTakesNotAllPlacesOfTheQueueWithKnocks) {
    server::ServerOptions options = two_tenants();
    options.requests_under_way = 1;
    options.queued_tries = 8;
    start_with(options);
    store_->close();
    std::vector<std::string> knocks;
    for (int i = 0; i < 20; ++i) {
        knocks.push_back(testing::message("POST", "/v1/locks/Key/" + std::to_string(i) + "/knock",
                                          R"({"owner":"greedy","message":"Hello?"})",
                                          shows("greedy")));
    }
    EXPECT_TRUE(send_until_refused(knocks));
    Client modest = server_->connect();
    modest.send(
        testing::message("POST", "/v1/locks/Order/1", R"({"owner":"modest"})", shows("modest")));
    EXPECT_EQ(server_->connect().ask("GET", "/healthz").status, 200U);
    store_->open();
    EXPECT_EQ(modest.receive().status, 201U);
}

TEST_P(TenantsOfASlowStore, OneKeepsNoBatchesUntilTheMemoryIsFull) {
    constexpr std::size_t requests = 100;
    server::ServerOptions options = two_tenants();
    options.batches_bytes = 4 * requests * 4 * 1024;
    start_with(options);
    Client modest = server_->connect();
    const std::string renewals = renewals_of(modest, requests, "modest");
    store_->close();
    const std::vector<std::string> batches(
        8, testing::message("POST", "/v1/batch", renewals, shows("greedy")));
    // All refusals are awaited: a batch that arrives after the store has answered finds room.
    ASSERT_TRUE(send_until_refused(batches, 6));
    modest.send(testing::message("POST", "/v1/batch", renewals, shows("modest")));
    EXPECT_EQ(server_->connect().ask("GET", "/healthz").status, 200U);
    store_->open();
    EXPECT_EQ(modest.receive().status, 200U);
    const auto answered =
        std::ranges::count_if(sent_, [](Client& one) { return one.receive().status == 200U; });
    EXPECT_EQ(answered, 2);
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
