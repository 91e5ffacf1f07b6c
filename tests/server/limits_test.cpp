#include <string>
#include <thread>
#include <vector>

#include "server/server_fixture.hpp"
#include "unit/gated_store.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

std::string try_of(std::string_view id) {
    return message("POST", "/v1/locks/Order/" + std::string{id}, "{}");
}

TEST(Limits, ASlowHeaderIsAnswered408) {
    RunningServer server{memory::open(), {.header_deadline = 100ms}};
    Client slow = server.connect();
    slow.send("GET /healthz HTTP/1.1\r\n");
    EXPECT_EQ(slow.receive().status, 408U);
    EXPECT_TRUE(slow.closed());
}

TEST(Limits, AHeaderThatDripsIsNotGivenMoreTime) {
    RunningServer server{memory::open(), {.header_bytes = 1024 * 1024, .header_deadline = 200ms}};
    // The answer is lost if this process is not scheduled for longer than the server waits with
    // closing the connection. Then it is asked again.
    EXPECT_TRUE(eventually([&] {
        Client slow = server.connect();
        slow.send("GET /healthz HTTP/1.1\r\n");
        EXPECT_TRUE(eventually([&] {
            slow.send("X: y\r\n");
            return slow.hears() || slow.is_cut();
        }));
        return slow.receive().status == 408U;
    }));
}

TEST(Limits, ASlowBodyIsAnswered408) {
    RunningServer server{memory::open(), {.body_deadline = 100ms}};
    Client slow = server.connect();
    const std::string whole = try_of("1");
    slow.send(std::string_view{whole}.substr(0, whole.size() - 1));
    EXPECT_EQ(slow.receive().status, 408U);
    EXPECT_TRUE(server.locks().list().empty());
}

TEST(Limits, AnIdleConnectionIsClosedWithoutAWord) {
    RunningServer server{memory::open(), {.idle = 100ms}};
    EXPECT_TRUE(server.connect().closed());
    // The client that asks may be too slow itself.
    EXPECT_TRUE(eventually([&] {
        Client idle = server.connect();
        return idle.ask("GET", "/healthz").status == 200 && idle.closed();
    }));
}

TEST(Limits, AClientThatDoesNotReadIsCutAndHurtsNobody) {
    RunningServer server{memory::open(), {.write_deadline = 200ms}};
    for (int i = 0; i < 500; ++i) {
        (void)server.locks().try_lock({"Order", std::to_string(i)},
                                      {.note = std::string(1000, 'n')});
    }
    Client deaf = server.connect();
    std::string many;
    for (int i = 0; i < 100; ++i) many += message("GET", "/v1/locks?limit=500");
    deaf.send(many);
    Client other = server.connect();
    EXPECT_EQ(other.ask("GET", "/healthz").status, 200U);
    // Its connection ends in the middle of an answer.
    int answers = 0;
    EXPECT_TRUE(server.has_connections(1));
    while (deaf.receive().status == 200) ++answers;
    EXPECT_LT(answers, 100);
    EXPECT_EQ(other.ask("GET", "/healthz").status, 200U);
}

TEST(Limits, OneConnectionTooManyIsTurnedAway) {
    RunningServer server{memory::open(), {.connections = 2}};
    Client first = server.connect();
    EXPECT_EQ(first.ask("GET", "/healthz").status, 200U);
    {
        Client second = server.connect();
        EXPECT_EQ(second.ask("GET", "/healthz").status, 200U);
        Client third = server.connect();
        const Answer answer = third.receive();
        EXPECT_EQ(answer.status, 503U);
        EXPECT_EQ(answer.code(), "overloaded");
        EXPECT_EQ(answer.fields.at("retry-after"), "1");
    }
    EXPECT_TRUE(eventually([&] { return server.connect().ask("GET", "/healthz").status == 200; }));
}

TEST(Limits, OneAddressMayBeGivenFewerConnections) {
    RunningServer server{memory::open(), {.connections_per_address = 2}};
    Client first = server.connect();
    EXPECT_EQ(first.ask("GET", "/healthz").status, 200U);
    {
        Client second = server.connect();
        EXPECT_EQ(second.ask("GET", "/healthz").status, 200U);
        EXPECT_EQ(server.connect().receive().status, 503U);
    }
    EXPECT_TRUE(eventually([&] { return server.connect().ask("GET", "/healthz").status == 200; }));
}

TEST(Limits, SmallSizesAreKept) {
    RunningServer server{memory::open(),
                         {.header_bytes = 256, .body_bytes = 10, .batch_requests = 1}};
    EXPECT_EQ(server.connect().ask("GET", "/healthz").status, 200U);
    EXPECT_EQ(server.connect().ask("GET", "/healthz", {}, "X: " + std::string(300, 'x')).status,
              431U);
    EXPECT_EQ(server.connect().ask("POST", "/v1/locks/Order/1", R"({"owner":"alice"})").status,
              413U);
    RunningServer other{memory::open(), {.batch_requests = 1}};
    EXPECT_EQ(other.connect()
                  .ask("POST", "/v1/batch", R"({"requests":[{"op":"list"},{"op":"list"}]})")
                  .status,
              400U);
}

std::string large_batch() {
    return message("POST", "/v1/batch", R"({"requests":[]})" + std::string(40'000, ' '));
}

TEST(Limits, LargeBodiesTogetherHaveABound) {
    RunningServer server{memory::open(),
                         {.threads = 1, .body_bytes = 50'000, .bodies_bytes = 60'000}};
    const std::string whole = large_batch();
    const std::size_t most = whole.size() - 10;
    Client first = server.connect();
    first.send(std::string_view{whole}.substr(0, most));
    // On its one thread it reads on for each while it answers another.
    Client other = server.connect();
    for (int i = 0; i < 10; ++i) EXPECT_EQ(other.ask("GET", "/healthz").status, 200U);
    Client second = server.connect();
    second.send(whole);
    const Answer refused = second.receive();
    EXPECT_EQ(refused.status, 503U);
    EXPECT_EQ(refused.code(), "overloaded");
    EXPECT_EQ(refused.fields.at("retry-after"), "1");
    EXPECT_EQ(refused.fields.at("connection"), "close");
    first.send(std::string_view{whole}.substr(most));
    EXPECT_EQ(first.receive().status, 200U);
    // Given back with the answer, and where the client goes in the middle of it.
    first.send(std::string_view{whole}.substr(0, most));
    first.close();
    second.close();
    EXPECT_TRUE(server.has_connections(1));
    for (int i = 0; i < 3; ++i) {
        Client next = server.connect();
        next.send(whole);
        EXPECT_EQ(next.receive().status, 200U);
    }
}

TEST(Limits, ALargeBodyIsFreedOnceItIsRead) {
    auto gated = std::make_unique<GatedStore>(memory::open());
    GatedStore& store = *gated;
    RunningServer server{std::move(gated),
                         {.body_bytes = 50'000, .bodies_bytes = 50'000, .wait_poll = 1min}};
    const std::string padding(40'000, ' ');
    const auto held = server.locks().try_lock({"Order", "1"});
    Client waiting = server.connect();
    waiting.send(message("POST", "/v1/locks/Order/1", R"({"wait_ms":60000})" + padding));
    ASSERT_TRUE(server.waits_for(1));
    // The holder's try, and that of the one who waits, which is not to be held.
    ASSERT_TRUE(eventually([&] { return store.batches().size() == 2; }));
    store.close();
    Client asking = server.connect();
    asking.send(message("POST", "/v1/batch",
                        R"({"requests":[{"op":"holders","type":"Order","id":"2"}]})" + padding));
    ASSERT_TRUE(store.wait_until_held());
    Client next = server.connect();
    next.send(large_batch());
    EXPECT_EQ(next.receive().status, 200U);
    store.open();
    EXPECT_EQ(asking.receive().status, 200U);
}

TEST(Limits, OneLargeBodyAlwaysFits) {
    RunningServer server{memory::open(), {.bodies_bytes = 1024}};
    Client client = server.connect();
    client.send(large_batch());
    EXPECT_EQ(client.receive().status, 200U);
}

TEST(Limits, SmallBodiesDoNotSufferFromLargeOnesOnTheirWay) {
    RunningServer server{memory::open(),
                         {.threads = 1, .body_bytes = 50'000, .bodies_bytes = 50'000}};
    const std::string large = large_batch();
    // A client that announces a large body and sends nothing takes up nothing.
    std::vector<Client> slow;
    for (int i = 0; i < 4; ++i) {
        slow.push_back(server.connect());
        slow.back().send(std::string_view{large}.substr(0, large.size() - 40'000));
    }
    EXPECT_EQ(server.connect().ask("GET", "/healthz").status, 200U);
    Client large_one = server.connect();
    large_one.send(large);
    EXPECT_EQ(large_one.receive().status, 200U);
    // A client that sent much leaves enough for a renewal that arrives in two parts.
    slow.front().send(std::string(39'990, ' '));
    const auto mine = server.locks().try_lock({"Order", "mine"});
    const std::string renewal = message("PATCH", "/v1/locks/Order/mine", R"({"ttl_ms":60000})",
                                        "Lock-Token: " + mine->lock_id.to_string() + "\r\n");
    Client holder = server.connect();
    holder.send(std::string_view{renewal}.substr(0, renewal.size() - 3));
    EXPECT_EQ(server.connect().ask("GET", "/healthz").status, 200U);
    holder.send(std::string_view{renewal}.substr(renewal.size() - 3));
    EXPECT_EQ(holder.receive().status, 200U);
}

// The store holds one request; everything else queues in the server.
class FullServer : public ::testing::Test {
protected:
    void fill() {
        store_.close();
        first_.send(try_of("first"));
        ASSERT_TRUE(store_.wait_until_held());
    }

    // The server has one thread: when it answers somebody later, it has read what came before.
    void send_and_see_it_read(Client& client, std::string_view bytes) {
        client.send(bytes);
        EXPECT_EQ(server_.connect().ask("GET", "/healthz").status, 200U);
    }

    // Their tries wait; there is no place for another.
    [[nodiscard]] std::vector<Client> fill_the_queue() {
        std::vector<Client> clients;
        for (int i = 0; i < 2; ++i) {
            clients.push_back(server_.connect());
            send_and_see_it_read(clients.back(), try_of(std::to_string(i)));
        }
        return clients;
    }

    std::unique_ptr<GatedStore> gated_ = std::make_unique<GatedStore>(memory::open());
    GatedStore& store_ = *gated_;
    RunningServer server_{std::move(gated_),
                          {.threads = 1, .requests_under_way = 1, .queued_tries = 2}};
    Client first_ = server_.connect();
};

TEST_F(FullServer, ServesRenewalsAndReleasesBeforeNewTries) {
    const auto mine = server_.locks().try_lock({"Order", "mine"});
    const std::string token = "Lock-Token: " + mine->lock_id.to_string() + "\r\n";
    fill();
    Client tries = server_.connect();
    send_and_see_it_read(tries, try_of("2"));
    Client more_tries = server_.connect();
    send_and_see_it_read(more_tries, try_of("3"));
    Client renews = server_.connect();
    send_and_see_it_read(renews,
                         message("PATCH", "/v1/locks/Order/mine", R"({"ttl_ms":60000})", token));
    Client releases = server_.connect();
    send_and_see_it_read(releases, message("DELETE", "/v1/locks/Order/first", {},
                                           "Lock-Token: " + LockId::random().to_string() + "\r\n"));
    store_.open();
    EXPECT_EQ(renews.receive().status, 200U);
    EXPECT_EQ(releases.receive().status, 200U);
    EXPECT_EQ(tries.receive().status, 201U);
    EXPECT_EQ(more_tries.receive().status, 201U);
    EXPECT_EQ(first_.receive().status, 201U);

    std::string kinds;
    for (const auto& batch : store_.batches()) {
        for (const Request& request : batch) {
            if (std::holds_alternative<TryLock>(request)) kinds += "try ";
            if (std::holds_alternative<Renew>(request)) kinds += "renew ";
            if (std::holds_alternative<Release>(request)) kinds += "release ";
        }
    }
    EXPECT_EQ(kinds, "try try renew release try try ");
}

TEST_F(FullServer, ServesABatchWithARenewalAlthoughTriesAreTurnedAway) {
    const auto mine = server_.locks().try_lock({"Order", "mine"});
    fill();
    const std::vector<Client> clients = fill_the_queue();
    Client mixed = server_.connect();
    mixed.send(message("POST", "/v1/batch",
                       R"({"requests":[{"op":"renew","lock_id":")" + mine->lock_id.to_string() +
                           R"("},{"op":"try","type":"Order","id":"other"}]})"));
    EXPECT_EQ(server_.connect().ask("GET", "/healthz").status, 200U);
    store_.open();
    const Answer answer = mixed.receive();
    EXPECT_TRUE(answer.json().at("answers").at(0).as_object().contains("lease")) << answer.body;
}

TEST_F(FullServer, IsReadyWhereItsStoreIs) {
    fill();
    const std::vector<Client> clients = fill_the_queue();
    EXPECT_EQ(server_.connect().ask("POST", "/v1/locks/Order/3", "{}").status, 503U);
    Client probe = server_.connect();
    send_and_see_it_read(probe, message("GET", "/readyz"));
    store_.open();
    EXPECT_EQ(probe.receive().status, 200U);
}

std::string batch_of(std::string_view requests) {
    return message("POST", "/v1/batch", R"({"requests":[)" + std::string{requests} + "]}");
}

TEST_F(FullServer, LetsTheTriesOfABatchWithARenewalWaitTheirTurn) {
    const auto mine = server_.locks().try_lock({"Order", "mine"});
    fill();
    Client tries = server_.connect();
    send_and_see_it_read(tries, try_of("wanted"));
    Client mixed = server_.connect();
    send_and_see_it_read(mixed, batch_of(R"({"op":"try","type":"Order","id":"wanted"},)"
                                         R"({"op":"renew","type":"Order","id":"mine","lock_id":")" +
                                         mine->lock_id.to_string() + R"("})"));
    store_.open();
    EXPECT_EQ(tries.receive().status, 201U);
    const auto answers = mixed.receive().json().at("answers");
    EXPECT_TRUE(answers.at(0).as_object().contains("refused"));
    EXPECT_TRUE(answers.at(1).as_object().contains("lease"));
}

TEST_F(FullServer, KeepsTheOrderOfABatchOnOneKey) {
    fill();
    const std::string id = LockId::random().to_string();
    const std::string key = R"(,"type":"Order","id":"mine","lock_id":")" + id + "\"}";
    Client mixed = server_.connect();
    send_and_see_it_read(mixed, batch_of(R"({"op":"try")" + key + R"(,{"op":"renew")" + key +
                                         R"(,{"op":"release","lock_id":")" + id + "\"}"));
    store_.open();
    const auto answers = mixed.receive().json().at("answers");
    for (const std::size_t i : {0U, 1U, 2U}) {
        EXPECT_TRUE(answers.at(i).as_object().contains("lease")) << i;
    }
}

TEST(FullOfABatch, ARenewalGetsInBetweenTheParts) {
    auto gated = std::make_unique<GatedStore>(memory::open());
    GatedStore& store = *gated;
    RunningServer server{
        std::move(gated), {.threads = 1, .requests_under_way = 2}, {.batch_requests = 2}};
    const auto mine = server.locks().try_lock({"Order", "mine"});
    store.close();
    Client batch = server.connect();
    batch.send(
        batch_of(R"({"op":"try","type":"Order","id":"1"},{"op":"try","type":"Order","id":"2"},)"
                 R"({"op":"try","type":"Order","id":"3"},{"op":"try","type":"Order","id":"4"})"));
    ASSERT_TRUE(store.wait_until_held());
    Client renews = server.connect();
    renews.send(message("PATCH", "/v1/locks/Order/mine", R"({"ttl_ms":60000})",
                        "Lock-Token: " + mine->lock_id.to_string() + "\r\n"));
    EXPECT_EQ(server.connect().ask("GET", "/healthz").status, 200U);
    store.open();
    EXPECT_EQ(renews.receive().status, 200U);
    EXPECT_EQ(batch.receive().status, 200U);
    std::string kinds;
    for (const auto& sent : store.batches()) {
        for (const Request& request : sent) {
            kinds += std::holds_alternative<TryLock>(request) ? "try " : "renew ";
        }
    }
    EXPECT_EQ(kinds, "try try try renew try try ");
}

TEST(FullOfABatch, ARenewalGetsInBetweenTheLeasesThatEndWithTheirOwner) {
    auto gated = std::make_unique<GatedStore>(memory::open());
    GatedStore& store = *gated;
    RunningServer server{std::move(gated), {.threads = 1, .requests_under_way = 2}};
    constexpr std::size_t many = Limits::released_at_once + 100;
    for (std::size_t i = 0; i < many; ++i) {
        (void)server.locks().try_lock({"Job", std::to_string(i)}, {.owner = "many"});
    }
    const auto mine = server.locks().try_lock({"Order", "mine"});
    store.close();
    Client ends = server.connect();
    ends.send(message("DELETE", "/v1/owners/many/locks"));
    ASSERT_TRUE(store.wait_until_held());
    const std::size_t before = store.batches().size();
    Client renews = server.connect();
    renews.send(message("PATCH", "/v1/locks/Order/mine", R"({"ttl_ms":60000})",
                        "Lock-Token: " + mine->lock_id.to_string() + "\r\n"));
    EXPECT_EQ(server.connect().ask("GET", "/healthz").status, 200U);
    store.open();
    EXPECT_EQ(renews.receive().status, 200U);
    const Answer ended = ends.receive();
    EXPECT_EQ(ended.status, 200U);
    EXPECT_EQ(ended.json().at("leases").as_array().size(), many);
    EXPECT_EQ(server.locks().list().size(), 1U);

    const auto batches = store.batches();
    std::size_t releasing = 0;
    std::size_t releasing_before_the_renewal = 0;
    for (std::size_t i = before; i < batches.size(); ++i) {
        const Request& first = batches[i].front();
        if (std::holds_alternative<Renew>(first)) releasing_before_the_renewal = releasing;
        if (std::holds_alternative<ReleaseAll>(first)) ++releasing;
        EXPECT_LE(batches[i].size(), Limits{}.batch_requests);
    }
    EXPECT_EQ(releasing_before_the_renewal, 0U);
    EXPECT_GE(releasing, many / Limits{}.batch_requests);
}

TEST(FullOfABatch, ItsRequestsCountOneByOne) {
    auto gated = std::make_unique<GatedStore>(memory::open());
    GatedStore& store = *gated;
    RunningServer server{std::move(gated), {.threads = 1, .requests_under_way = 3}};
    store.close();
    Client two = server.connect();
    two.send(
        batch_of(R"({"op":"try","type":"Order","id":"1"},{"op":"try","type":"Order","id":"2"})"));
    ASSERT_TRUE(store.wait_until_held());
    Client two_more = server.connect();
    two_more.send(
        batch_of(R"({"op":"try","type":"Order","id":"3"},{"op":"try","type":"Order","id":"4"})"));
    EXPECT_EQ(server.connect().ask("GET", "/healthz").status, 200U);
    // There is place for one, but somebody was there before.
    Client one = server.connect();
    one.send(try_of("3"));
    EXPECT_EQ(server.connect().ask("GET", "/healthz").status, 200U);
    store.open();
    EXPECT_EQ(two.receive().status, 200U);
    EXPECT_TRUE(two_more.receive().json().at("answers").at(0).as_object().contains("lease"));
    EXPECT_EQ(one.receive().status, 409U);
}

// A request that finds no room must not queue behind one that has just left.
TEST(FullOfOne, ServesEverybodyWhoComesAsAnotherLeaves) {
    RunningServer server{memory::open(), {.threads = 2, .requests_under_way = 1}};
    constexpr int clients = 4;
    constexpr int each = 3000;
    std::vector<std::jthread> threads;
    for (int client = 0; client < clients; ++client) {
        threads.emplace_back([&, client] {
            Client asking = server.connect();
            const std::string target = "/v1/locks/Order/" + std::to_string(client);
            for (int i = 0; i < each; ++i) {
                const unsigned status = asking.ask("POST", target, "{}").status;
                ASSERT_TRUE(status == 201U || status == 409U) << status;
            }
        });
    }
}

TEST_F(FullServer, SaysThatNothingWasDoneToWhomItTurnsAway) {
    fill();
    std::vector<Client> clients = fill_the_queue();
    const Answer answer = server_.connect().ask("GET", "/v1/locks");
    EXPECT_EQ(answer.status, 503U);
    EXPECT_EQ(answer.code(), "fault");
    EXPECT_EQ(answer.json().at("effect").as_string(), "none");
    EXPECT_EQ(answer.fields.at("retry-after"), "1");
    store_.open();
    for (Client& client : clients) EXPECT_EQ(client.receive().status, 201U);
}

TEST(Stopping, CutsWhoDoesNotFinish) {
    RunningServer server{memory::open(), {.threads = 1, .drain_deadline = 200ms}};
    Client slow = server.connect();
    slow.send("GET /healthz HTTP/1.1\r\n");
    EXPECT_EQ(server.connect().ask("GET", "/healthz").status, 200U);
    server.stop();
    EXPECT_TRUE(slow.closed());
}

TEST(Stopping, LosesNoAnsweredRequestUnderLoad) {
    RunningServer server{memory::open(), {.threads = 2}};
    std::atomic<int> granted{0};
    {
        std::vector<std::jthread> clients;
        for (int c = 0; c < 8; ++c) {
            clients.emplace_back([&, c] {
                Client client = server.connect();
                for (int i = 0;; ++i) {
                    const std::string id = std::to_string(c) + "-" + std::to_string(i);
                    const Answer answer = client.ask("POST", "/v1/locks/Load/" + id);
                    if (answer.status != 201) return;
                    ++granted;
                    if (answer.fields.contains("connection")) return;
                }
            });
        }
        ASSERT_TRUE(eventually([&] { return granted > 500; }));
        server.stop();
    }
    // Whatever was granted was answered: nothing was done behind a closed connection.
    std::size_t held = 0;
    List query{.limit = 1000};
    for (auto page = server.locks().list(query); !page.empty(); page = server.locks().list(query)) {
        held += page.size();
        query.after = page.back();
    }
    EXPECT_EQ(held, static_cast<std::size_t>(granted));
}

TEST(Stopping, LosesNoAnswerOfAClientThatSendsFasterThanItReads) {
    RunningServer server{memory::open()};
    Client client = server.connect();
    std::string requests;
    for (int i = 0; i < 3000; ++i)
        requests += message("POST", "/v1/locks/Load/" + std::to_string(i));
    std::jthread sending{[&] { client.send(requests); }};
    ASSERT_TRUE(eventually([&] { return server.locks().list({.limit = 200}).size() == 200; }));
    server.begin_stop();
    std::size_t granted = 0;
    for (Answer answer = client.receive(); answer.status == 201; answer = client.receive())
        ++granted;
    server.stop();
    std::size_t held = 0;
    List query{.limit = 1000};
    for (auto page = server.locks().list(query); !page.empty(); page = server.locks().list(query)) {
        held += page.size();
        query.after = page.back();
    }
    EXPECT_EQ(held, granted);
}

}  // namespace
}  // namespace leasehold::testing
