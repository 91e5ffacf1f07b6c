#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <fstream>
#include <string>

#include "server/exposition.hpp"
#include "server/monitoring/metrics.hpp"
#include "server/monitoring/process_metrics.hpp"
#include "server/server_fixture.hpp"
#include "server/store/observed_store.hpp"
#include "support/process.hpp"
#include "unit/faulty_store.hpp"
#include "unit/gated_store.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using server::ServerOptions;

// A server whose store and requests are counted.
class MeteredServer {
public:
    explicit MeteredServer(std::unique_ptr<Store> store, ServerOptions options = {},
                           Limits limits = {})
        : server_{std::make_unique<server::ObservedStore>(std::move(store), metrics_),
                  metered(std::move(options)), limits} {}

    [[nodiscard]] Client connect() const { return server_.connect(); }
    [[nodiscard]] RunningServer& operator*() { return server_; }
    [[nodiscard]] RunningServer* operator->() { return &server_; }

    [[nodiscard]] Exposition scrape() const {
        const Answer answer = server_.connect().ask("GET", "/metrics");
        EXPECT_EQ(answer.status, 200U) << answer.body;
        EXPECT_EQ(answer.fields.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
        return Exposition{answer.body};
    }
    // Waits for it: connections end a moment after their clients.
    [[nodiscard]] bool shows(const std::string& name, double value,
                             const Labels& labels = {}) const {
        return eventually([&] { return scrape().sum(name, labels) == value; });
    }

private:
    ServerOptions metered(ServerOptions options) {
        options.observer = &metrics_;
        options.metrics = &metrics_;
        return options;
    }

    server::Metrics metrics_{"1.2.3"};
    RunningServer server_;
};

class MetricsTest : public ::testing::Test {
protected:
    MeteredServer server_{memory::open()};
    Client client_ = server_.connect();
    const std::string order_ = "/v1/locks/Order/1";
};

TEST_F(MetricsTest, AreWellFormedFromTheBeginning) {
    const Exposition first = server_.scrape();
    EXPECT_EQ(first.sum("leasehold_build_info", {{"version", "1.2.3"}}), 1);
    EXPECT_EQ(first.sum("leasehold_store_info", {{"durability", "none"}, {"store", "memory"}}), 1);
    EXPECT_EQ(first.sum("leasehold_store_up"), 1);
    EXPECT_EQ(first.sum("leasehold_leases_granted_total"), 0);
    EXPECT_EQ(first.sum("leasehold_store_faults_total"), 0);
    EXPECT_EQ(first.sum("leasehold_leases_held"), 0);
    for (const std::string& name : first.names()) {
        EXPECT_TRUE(name.starts_with("leasehold_") || name.starts_with("process_")) << name;
    }
}

TEST_F(MetricsTest, CountRequestsByWhatWasAskedAndAnswered) {
    client_.ask("POST", order_, R"({"owner":"alice"})");
    client_.ask("POST", order_, R"({"owner":"bob"})");
    client_.ask("POST", order_, R"({"owner":"eve"})");
    client_.ask("GET", "/v1/events", {}, "Accept: text/html\r\n");
    client_.ask("GET", "/nowhere");
    client_.ask("BREW", "/healthz");
    client_.send("nonsense\r\n\r\n");
    (void)client_.receive();
    const Exposition seen = server_.scrape();
    const std::string name = "leasehold_requests_total";
    const std::string route = "/v1/locks/{type}/{id}";
    EXPECT_EQ(seen.sum(name, {{"route", route}, {"method", "POST"}, {"status", "201"}}), 1);
    EXPECT_EQ(seen.sum(name, {{"route", route}, {"method", "POST"}, {"status", "409"}}), 2);
    EXPECT_EQ(seen.sum(name, {{"route", "other"}, {"method", "GET"}, {"status", "404"}}), 1);
    EXPECT_EQ(seen.sum(name, {{"route", "/v1/events"}, {"method", "GET"}, {"status", "406"}}), 1);
    EXPECT_EQ(seen.sum(name, {{"route", "/healthz"}, {"method", "other"}, {"status", "405"}}), 1);
    EXPECT_EQ(seen.sum(name), 7);
    EXPECT_EQ(seen.sum("leasehold_request_duration_seconds_count", {{"route", route}}), 3);
    EXPECT_GT(seen.sum("leasehold_request_duration_seconds_sum", {{"route", route}}), 0);
    EXPECT_EQ(seen.sum("leasehold_requests_under_way"), 1);  // the scrape itself
    EXPECT_GT(seen.sum("leasehold_response_bytes_total"), 6 * 100);
    EXPECT_EQ(seen.sum("leasehold_request_body_bytes_total"), 17 + 15 + 15);
}

TEST_F(MetricsTest, CountWhatBecomesOfLeases) {
    const Answer granted = client_.ask("POST", order_, R"({"owner":"alice"})");
    const std::string token = lock_token_of(granted);
    client_.ask("POST", order_, R"({"owner":"alice"})");  // the same owner again: renewed
    client_.ask("PATCH", order_, R"({"extend_ms":1000})", token);
    client_.ask("PATCH", order_, R"({"ttl_ms":600000})", token);
    EXPECT_EQ(server_.scrape().sum("leasehold_leases_held"), 1);
    client_.ask("DELETE", order_, {}, token);
    client_.ask("DELETE", order_, {}, token);  // gone, and it was the holder's doing
    client_.ask("POST", "/v1/batch",
                R"({"requests":[{"op":"try_all","owner":"bob","keys":[{"type":"A","id":"1"},)"
                R"({"type":"A","id":"2"}]}]})");
    client_.ask("DELETE", "/v1/owners/bob/locks");
    const Answer carol = client_.ask("POST", order_, R"({"owner":"carol"})");
    client_.ask(
        "POST", order_ + "/break",
        R"({"by":"admin","fence":)" + boost::json::serialize(carol.json().at("fence")) + "}");
    client_.ask("GET", order_, {}, lock_token_of(carol));

    const Exposition seen = server_.scrape();
    EXPECT_EQ(seen.sum("leasehold_leases_granted_total"), 4);
    EXPECT_EQ(seen.sum("leasehold_leases_renewed_total"), 3);
    EXPECT_EQ(seen.sum("leasehold_leases_released_total"), 3);
    EXPECT_EQ(seen.sum("leasehold_leases_broken_total"), 1);
    EXPECT_EQ(seen.sum("leasehold_leases_lost_total", {{"how", "broken"}}), 1);
    EXPECT_EQ(seen.sum("leasehold_leases_lost_total"), 1);
    EXPECT_EQ(seen.sum("leasehold_refusals_total", {{"kind", "gone"}, {"reason", "released"}}), 1);
    EXPECT_EQ(seen.sum("leasehold_refusals_total", {{"kind", "gone"}, {"reason", "broken"}}), 1);
    EXPECT_EQ(seen.sum("leasehold_refusals_total", {{"kind", "held"}}), 0);
}

TEST_F(MetricsTest, CountNothingThatTheServerAsksForItself) {
    EXPECT_EQ(client_.ask("GET", "/v1/statistics").status, 200U);
    EXPECT_EQ(client_.ask("GET", "/readyz").status, 200U);
    EXPECT_EQ(server_.scrape().sum("leasehold_refusals_total"), 0);
}

TEST_F(MetricsTest, CountAWaitersRefusalOnceHoweverOftenItTried) {
    client_.ask("POST", order_, R"({"owner":"alice"})");
    EXPECT_EQ(client_.ask("POST", order_, R"({"owner":"bob","wait_ms":1000})").status, 409U);
    const Exposition seen = server_.scrape();
    EXPECT_EQ(seen.sum("leasehold_refusals_total", {{"kind", "held"}}), 1);
    EXPECT_EQ(seen.sum("leasehold_wait_duration_seconds_count"), 1);
    EXPECT_EQ(
        seen.sum("leasehold_request_duration_seconds_count", {{"route", "/v1/locks/{type}/{id}"}}),
        1);
    EXPECT_GE(seen.sum("leasehold_store_batch_requests_sum"), 3);
}

TEST_F(MetricsTest, ShowWaitersAndTheirLines) {
    client_.ask("POST", order_, R"({"owner":"alice"})");
    Client bob = server_.connect();
    Client eve = server_.connect();
    bob.send(message("POST", order_, R"({"owner":"bob","wait_ms":60000})"));
    eve.send(message("POST", order_, R"({"owner":"eve","wait_ms":60000})"));
    ASSERT_TRUE(server_->waits_for(2));
    const Exposition seen = server_.scrape();
    EXPECT_EQ(seen.sum("leasehold_waiters"), 2);
    EXPECT_EQ(seen.sum("leasehold_waiting_lines"), 1);
    EXPECT_EQ(seen.sum("leasehold_requests_under_way"), 3);
    EXPECT_GE(seen.sum("leasehold_connections"), 4);
}

TEST_F(MetricsTest, ShowWhoFollowsTheEvents) {
    Client listener = server_.connect();
    listener.send(message("GET", "/v1/events"));
    EXPECT_TRUE(server_.shows("leasehold_events_clients", 1));
    EXPECT_GT(server_.scrape().sum("leasehold_events_clients_limit"), 1);
}

TEST_F(MetricsTest, CountConnections) {
    server_.connect().close();
    ASSERT_TRUE(server_->has_connections(1));
    const Exposition seen = server_.scrape();
    EXPECT_EQ(seen.sum("leasehold_connections"), 2);
    EXPECT_EQ(seen.sum("leasehold_connections_accepted_total"), 3);
}

TEST_F(MetricsTest, NameNothingThatIsLockedAndNobody) {
    const Answer granted =
        client_.ask("POST", "/v1/locks/Kind4711/Number4711", R"({"owner":"alice4711"})");
    client_.ask("GET", "/secret4711");
    client_.ask("GET", "/v1/locks/Kind4711/Number4711", {}, lock_token_of(granted));
    const std::string text = client_.ask("GET", "/metrics").body;
    EXPECT_EQ(text.find("4711"), std::string::npos) << text;
    EXPECT_EQ(text.find(lock_token_of(granted).substr(12, 36)), std::string::npos);
    const Exposition seen{text};
    for (const auto& [label, values] : seen.labels()) EXPECT_LT(values.size(), 40U) << label;
}

TEST_F(MetricsTest, ShowHowFarTheStoresClockIsAhead) {
    const auto asked = SteadyClock::now();
    client_.ask("POST", order_);
    const std::chrono::duration<double> took = SteadyClock::now() - asked;
    EXPECT_LT(std::abs(server_.scrape().sum("leasehold_store_clock_offset_seconds")),
              1 + took.count());
}

TEST(MetricsOfAFullServer, CountWhoWasTurnedAwayAndWhoWasCut) {
    const MeteredServer server{
        memory::open(), {.connections = 3, .header_deadline = 100ms, .body_deadline = 100ms}};
    Client one = server.connect();
    EXPECT_EQ(one.ask("GET", "/healthz").status, 200U);
    Client two = server.connect();
    EXPECT_EQ(two.ask("GET", "/healthz").status, 200U);
    Client three = server.connect();
    EXPECT_EQ(three.ask("GET", "/healthz").status, 200U);
    Client four = server.connect();
    EXPECT_EQ(four.receive().status, 503U);
    one.send("GET /healthz HTT");
    EXPECT_EQ(one.receive().status, 408U);
    one.close();
    two.send(
        "POST /v1/batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: 9\r\n\r\n{");
    EXPECT_EQ(two.receive().status, 408U);
    two.close();
    const auto scraped = [&] { return Exposition{three.ask("GET", "/metrics").body}; };
    const Exposition seen = scraped();
    EXPECT_EQ(seen.sum("leasehold_connections_turned_away_total"), 1);
    EXPECT_EQ(seen.sum("leasehold_connections_limit"), 3);
    EXPECT_EQ(seen.sum("leasehold_connections_cut_total", {{"reason", "slow_header"}}), 1);
    EXPECT_EQ(seen.sum("leasehold_connections_cut_total", {{"reason", "slow_body"}}), 1);
    EXPECT_EQ(seen.sum("leasehold_connections_cut_total"), 2);
    EXPECT_TRUE(eventually([&] { return scraped().sum("leasehold_connections") == 1; }));
}

TEST(MetricsOfSlowClients, CountWhoIsIdle) {
    const MeteredServer server{memory::open(), {.idle = 200ms}};
    Client silent = server.connect();
    EXPECT_TRUE(silent.closed());
    // The client that asks may be too slow, too, and be counted.
    EXPECT_TRUE(eventually([&] {
        const Answer answer = server.connect().ask("GET", "/metrics");
        return answer.status == 200 &&
               Exposition{answer.body}.sum("leasehold_connections_cut_total",
                                           {{"reason", "idle"}}) >= 1;
    }));
}

TEST(MetricsOfSlowClients, CountWhoDoesNotRead) {
    const MeteredServer server{memory::open(), {.write_deadline = 100ms}};
    Client deaf = server.connect();
    std::string requests;
    for (int i = 0; i < 1000; ++i) requests += message("GET", "/openapi.json");
    deaf.send(requests);
    EXPECT_TRUE(server.shows("leasehold_connections_cut_total", 1, {{"reason", "slow_reader"}}));
}

TEST(MetricsOfAFaultyStore, CountFaultsAndSayWhetherItAnswers) {
    auto faulty = std::make_unique<FaultyStore>(memory::open());
    FaultyStore& store = *faulty;
    const MeteredServer server{std::move(faulty)};
    Client client = server.connect();
    EXPECT_EQ(server.scrape().sum("leasehold_leases_held"), 0);
    store.fail(0, Fails::after_effect, 1000);
    EXPECT_EQ(client.ask("POST", "/v1/locks/Order/1").status, 503U);
    const Exposition down = server.scrape();
    EXPECT_EQ(down.sum("leasehold_store_up"), 0);
    EXPECT_EQ(
        down.sum("leasehold_store_faults_total", {{"cause", "unavailable"}, {"effect", "unknown"}}),
        1);
    store.heal();
    EXPECT_EQ(client.ask("GET", "/v1/locks").status, 200U);
    EXPECT_EQ(server.scrape().sum("leasehold_store_up"), 1);
}

TEST(MetricsOfASilentStore, AreToldWithoutIt) {
    auto gated = std::make_unique<GatedStore>(memory::open());
    GatedStore& store = *gated;
    MeteredServer server{std::move(gated)};
    store.close();
    Client waiting = server.connect();
    waiting.send(message("POST", "/v1/locks/Order/1", "{}"));
    ASSERT_TRUE(store.wait_until_held());
    const Exposition seen = server.scrape();
    EXPECT_FALSE(seen.names().contains("leasehold_leases_held"));
    EXPECT_GE(seen.sum("leasehold_store_requests_under_way"), 1);
    store.open();
    EXPECT_EQ(waiting.receive().status, 201U);
}

TEST(MetricsOfManyLeases, CountThemUpToABound) {
    MeteredServer server{memory::open(), {}, {.page_rows = 100}};
    for (int i = 0; i < 250; ++i) {
        ASSERT_TRUE(server->locks().try_lock({"Order", std::to_string(i)}));
    }
    EXPECT_TRUE(server.shows("leasehold_leases_held", 250));
    EXPECT_GT(server.scrape().sum("leasehold_leases_counted_timestamp_seconds"), 1e9);
}

TEST(MetricsOfLeases, AreCountedAgain) {
    MeteredServer server{memory::open(), {.leases_counted_every = 0ms}};
    EXPECT_EQ(server.scrape().sum("leasehold_leases_held"), 0);
    ASSERT_TRUE(server->locks().try_lock({"Order", "1"}));
    EXPECT_TRUE(server.shows("leasehold_leases_held", 1));
}

TEST(MetricsOfLeases, AreNotCountedAgainTooSoon) {
    MeteredServer server{memory::open(), {.leases_counted_every = 1h}};
    ASSERT_TRUE(
        eventually([&] { return server.scrape().names().contains("leasehold_leases_held"); }));
    ASSERT_TRUE(server->locks().try_lock({"Order", "1"}));
    EXPECT_EQ(server.scrape().sum("leasehold_leases_held"), 0);
}

// A count that fails says nothing of how long one takes.
TEST(MetricsOfLeases, AreCountedAgainSoonAfterAStoreThatTookLongToFail) {
    auto faulty = std::make_unique<FaultyStore>(memory::open());
    FaultyStore& faults = *faulty;
    auto gated = std::make_unique<GatedStore>(std::move(faulty));
    GatedStore& gate = *gated;
    MeteredServer server{std::move(gated), {.leases_counted_every = 0ms}};
    gate.close();
    faults.fail(0, Fails::before_effect, 1);
    // Told without it, after HeldLeases::patience.
    EXPECT_FALSE(server.scrape().names().contains("leasehold_leases_held"));
    gate.open();
    EXPECT_TRUE(
        eventually([&] { return server.scrape().names().contains("leasehold_leases_held"); }));
}

TEST(NoMetrics, AreNotFound) {
    const RunningServer server{memory::open()};
    EXPECT_EQ(server.connect().ask("GET", "/metrics").status, 404U);
}

// Otherwise a client that asks for the metrics again and again keeps a server with many connections
// busy.
TEST(MetricsOfTheProcess, CountItsFilesAtMostOnceASecond) {
    const TemporaryFolder folder;
    server::CountedEntries entries{folder.path()};
    const auto now = server::CountedEntries::Clock::now();
    EXPECT_EQ(entries.at(now), 0);
    std::ofstream{folder.path() / "1"} << "1";
    EXPECT_EQ(entries.at(now), 0);
    EXPECT_EQ(entries.at(now + 999ms), 0);
    EXPECT_EQ(entries.at(now + 1s), 1);
}

}  // namespace
}  // namespace leasehold::testing
