#include <leasehold/stores/sqlite.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "server/event_client.hpp"
#include "server/events/event_log.hpp"
#include "server/server_fixture.hpp"
#include "server/v1/server_sent_events.hpp"
#include "unit/faulty_store.hpp"
#include "unit/gated_store.hpp"
#include "unit/manual_clock.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

class Events : public ::testing::Test {
protected:
    static std::string take(RunningServer& server, std::string_view target,
                            std::string_view body = {}) {
        const Answer answer = server.connect().ask("POST", target, body);
        EXPECT_EQ(answer.status, 201U) << answer.body;
        if (answer.status != 201) return {};
        const auto lease = answer.json();
        return std::string{std::string_view{lease.at("lock_id").as_string()}};
    }
    static void release(RunningServer& server, const std::string& lock_id,
                        std::string_view target = "/v1/locks/Order/1") {
        EXPECT_EQ(server.connect().ask("DELETE", target, {}, lock_token(lock_id)).status, 200U);
    }

    // The store is asked only where something is amiss.
    const server::ServerOptions no_poll_{.wait_poll = 1h, .events_poll = 1h};
};

TEST_F(Events, TellWhatThisServerDoes) {
    RunningServer server{memory::open(), no_poll_};
    EventClient events{server.port()};
    EXPECT_EQ(events.answer().fields.at("content-type"), "text/event-stream");
    EXPECT_EQ(events.answer().fields.at("cache-control"), "no-store");
    EXPECT_FALSE(events.answer().fields.contains("content-length"));

    const std::string id =
        take(server, "/v1/locks/Order/1", R"({"owner":"alice","note":"at lunch","ttl_ms":60000})");
    const SentEvent granted = events.next();
    EXPECT_EQ(granted.name, "granted");
    EXPECT_EQ(granted.text("type"), "Order");
    EXPECT_EQ(granted.text("id"), "1");
    EXPECT_EQ(granted.text("owner"), "alice");
    EXPECT_EQ(granted.text("mode"), "exclusive");
    EXPECT_EQ(granted.text("note"), "at lunch");
    EXPECT_EQ(granted.text("store_now"), granted.text("granted_at"));
    EXPECT_EQ(granted.id, events.last_id());

    Client client = server.connect();
    for (const std::string_view body : {R"({"ttl_ms":90000})", R"({"extend_ms":1000})"}) {
        EXPECT_EQ(client.ask("PATCH", "/v1/locks/Order/1", body, lock_token(id)).status, 200U);
        const SentEvent extended = events.next();
        EXPECT_EQ(extended.name, "extended");
        EXPECT_EQ(extended.fence(), granted.fence());
        EXPECT_GT(extended.text("expires_at"), granted.text("expires_at"));
    }
    release(server, id);
    const SentEvent released = events.next();
    EXPECT_EQ(released.name, "released");
    EXPECT_EQ(released.fence(), granted.fence());
    EXPECT_GE(released.text("ended_at"), released.text("granted_at"));

    take(server, "/v1/locks/Order/1", R"({"owner":"bob"})");
    const std::int64_t fence = events.next().fence();
    EXPECT_EQ(
        client
            .ask("POST", "/v1/locks/Order/1/break",
                 R"({"by":"admin","reason":"gone home","fence":)" + std::to_string(fence) + "}")
            .status,
        200U);
    const SentEvent broken = events.next();
    EXPECT_EQ(broken.name, "broken");
    EXPECT_EQ(broken.fence(), fence);
    EXPECT_EQ(broken.text("owner"), "bob");
    EXPECT_EQ(broken.text("by"), "admin");
    EXPECT_EQ(broken.text("why"), "gone home");
}

TEST_F(Events, TellOfBatchesAndOwners) {
    RunningServer server{memory::open(), no_poll_};
    EventClient events{server.port()};
    Client client = server.connect();
    EXPECT_EQ(client
                  .ask("POST", "/v1/batch",
                       R"({"requests":[
            {"op":"try_all","owner":"alice/1","keys":[{"type":"A","id":"1"},{"type":"A","id":"2"}]},
            {"op":"try","owner":"alice/2","type":"A","id":"3"},
            {"op":"try","owner":"bob","type":"A","id":"1"}]})")
                  .status,
              200U);
    EXPECT_EQ(events.names(3), "granted granted granted");
    EXPECT_EQ(client.ask("DELETE", "/v1/owners/alice/locks?scope=below").status, 200U);
    EXPECT_EQ(events.names(3), "released released released");
}

TEST_F(Events, TellOfGrantsToWaiters) {
    RunningServer server{memory::open(), no_poll_};
    const std::string first = take(server, "/v1/locks/Order/1", R"({"owner":"a"})");
    EventClient events{server.port()};
    Client waiter = server.connect();
    waiter.send(message("POST", "/v1/locks/Order/1", R"({"owner":"b","wait_ms":60000})"));
    ASSERT_TRUE(server.waits_for(1));
    release(server, first);
    EXPECT_EQ(waiter.receive().status, 201U);
    EXPECT_EQ(events.names(2), "released granted");
}

TEST_F(Events, TellOfATakeOver) {
    ManualClock clock;
    RunningServer server{memory_store_on(clock), no_poll_};
    EventClient events{server.port()};
    take(server, "/v1/locks/Order/1", R"({"owner":"alice","ttl_ms":60000})");
    EXPECT_EQ(events.next().name, "granted");
    clock.advance(2min);
    take(server, "/v1/locks/Order/1", R"({"owner":"bob"})");
    const SentEvent taken = events.next();
    EXPECT_EQ(taken.name, "taken");
    EXPECT_EQ(taken.text("owner"), "alice");
    EXPECT_EQ(taken.text("by"), "bob");
    const SentEvent granted = events.next();
    EXPECT_EQ(granted.name, "granted");
    EXPECT_GT(granted.fence(), taken.fence());
}

TEST_F(Events, TellOfAnExpiryWhenItComes) {
    RunningServer server{memory::open(), no_poll_};
    EventClient events{server.port()};
    take(server, "/v1/locks/Order/1", R"({"owner":"alice","ttl_ms":100})");
    EXPECT_EQ(events.names(2), "granted expired");
    take(server, "/v1/locks/Order/1", R"({"owner":"bob"})");
    EXPECT_EQ(events.names(1), "granted");
}

TEST_F(Events, TellWhatOthersDoOnTheSameStore) {
    ManualClock clock;
    RunningServer server{memory_store_on(clock), {.events_poll = 10ms}};
    LockManager& others = server.locks();
    const auto before = others.try_lock({"Order", "0"}, {.owner = "early"});
    EventClient events{server.port()};

    const auto lease = others.try_lock(order, {.owner = "alice", .ttl = 1min});
    EXPECT_EQ(events.names(1), "granted");
    EXPECT_TRUE(others.renew(order, lease->lock_id, 5min));
    EXPECT_EQ(events.names(1), "extended");
    EXPECT_TRUE(others.release(order, lease->lock_id));
    EXPECT_EQ(events.names(1), "released");
    EXPECT_TRUE(others.release({"Order", "0"}, before->lock_id));
    const SentEvent early = events.next();
    EXPECT_EQ(early.name + " " + early.text("owner"), "released early");
    const auto next = others.try_lock(order, {.owner = "bob"});
    EXPECT_TRUE(others.break_lock(order, next->fence, "admin", "why not"));
    EXPECT_EQ(events.names(2), "granted broken");
    (void)others.try_lock(order, {.owner = "carol", .ttl = 1min});
    EXPECT_EQ(events.names(1), "granted");
    clock.advance(2min);
    EXPECT_EQ(events.names(1), "expired");
}

TEST_F(Events, ReportEachGrantAndEndOnceWhereverItWasMade) {
    RunningServer server{memory::open(), {.events_poll = 5ms}};
    EventClient events{server.port()};
    for (int i = 0; i < 200; ++i) {
        const std::string id = take(server, "/v1/locks/Order/1");
        const LockId lock_id = *LockId::parse(id);
        if (i % 3 == 0) {
            EXPECT_TRUE(server.locks().renew(order, lock_id, 1h));
        }
        if (i % 2 == 0) {
            release(server, id);
        } else {
            EXPECT_TRUE(server.locks().release(order, lock_id));
        }
    }
    Fence last = 0;
    for (int i = 0; i < 200; ++i) {
        const SentEvent granted = events.next();
        ASSERT_EQ(granted.name, "granted") << i;
        ASSERT_GT(granted.fence(), last);
        last = granted.fence();
        SentEvent ended = events.next();
        if (ended.name == "extended") ended = events.next();
        ASSERT_EQ(ended.name, "released") << i;
        ASSERT_EQ(ended.fence(), last);
    }
}

TEST_F(Events, GoOnWhereAClientWas) {
    RunningServer server{memory::open(), no_poll_};
    std::string last_id;
    {
        EventClient events{server.port()};
        take(server, "/v1/locks/Order/1");
        EXPECT_EQ(events.names(1), "granted");
        last_id = events.last_id();
    }
    ASSERT_TRUE(server.listened_to_by(0));
    take(server, "/v1/locks/Order/2");
    take(server, "/v1/locks/Order/3");
    EventClient again{server.port(), {}, "Last-Event-ID: " + last_id + "\r\n"};
    EXPECT_EQ(again.next().text("id"), "2");
    EXPECT_EQ(again.next().text("id"), "3");
    take(server, "/v1/locks/Order/4");
    EXPECT_EQ(again.next().text("id"), "4");
}

TEST_F(Events, AClientThatHasSeenNoneYetHasAPlaceToo) {
    RunningServer server{memory::open(), no_poll_};
    std::string place;
    {
        EventClient events{server.port()};
        place = events.last_id();
        EXPECT_NE(place, "");
    }
    take(server, "/v1/locks/Order/1");
    EventClient again{server.port(), {}, "Last-Event-ID: " + place + "\r\n"};
    EXPECT_EQ(again.names(1), "granted");
}

TEST_F(Events, SaySoWhereAClientCannotGoOn) {
    RunningServer server{memory::open(), {.events_kept = 3, .events_poll = 1h}};
    EventClient events{server.port()};
    const std::string first = events.last_id();
    for (int i = 0; i < 4; ++i) take(server, "/v1/locks/Order/" + std::to_string(i));
    EXPECT_EQ(events.names(4), "granted granted granted granted");
    const std::string name = first.substr(0, first.find('.'));
    for (const std::string& id :
         {first, name + ".99999", name, name + ".", name + ".-1", std::string{"another.1"},
          std::string{"1"}, std::string{}, std::string(2000, 'x')}) {
        EventClient again{server.port(), {}, "Last-Event-ID: " + id + "\r\n"};
        const SentEvent reset = again.next();
        EXPECT_EQ(reset.name, "reset") << id;
        EXPECT_NE(reset.text("detail"), "");
        EventClient from_there{server.port(), {}, "Last-Event-ID: " + reset.id + "\r\n"};
        const std::string lock_id = take(server, "/v1/locks/Order/9");
        EXPECT_EQ(from_there.names(1), "granted");
        release(server, lock_id, "/v1/locks/Order/9");
    }
}

TEST_F(Events, IdsDoNotTellHowManyEventsThereWere) {
    RunningServer server{memory::open(), no_poll_};
    EventClient events{server.port()};
    const auto number = [&] { return events.last_id().substr(events.last_id().find('.') + 1); };
    std::vector<std::string> numbers{number()};
    for (int i = 0; i < 3; ++i) {
        take(server, "/v1/locks/Order/" + std::to_string(i));
        (void)events.next();
        numbers.push_back(number());
    }
    for (const std::string& one : numbers) {
        EXPECT_EQ(one.size(), 32U) << one;
        EXPECT_EQ(std::ranges::count(numbers, one), 1) << one;
    }
}

TEST_F(Events, AnotherServersIdIsNotOurs) {
    RunningServer server{memory::open(), no_poll_};
    RunningServer other{memory::open(), no_poll_};
    const std::string id = EventClient{other.port()}.last_id();
    EventClient events{server.port(), {}, "Last-Event-ID: " + id + "\r\n"};
    EXPECT_EQ(events.next().name, "reset");
}

TEST_F(Events, CanBeFiltered) {
    RunningServer server{memory::open(), no_poll_};
    EventClient all{server.port()};
    EventClient orders{server.port(), "?type=Order"};
    EventClient one{server.port(), "?type=Order&id=2"};
    EventClient alice{server.port(), "?owner=alice"};
    EventClient below{server.port(), "?owner=alice&scope=below"};
    EventClient none{server.port(), "?owner=nobody"};
    take(server, "/v1/locks/Order/1", R"({"owner":"alice"})");
    take(server, "/v1/locks/Order/2", R"({"owner":"alice/tab"})");
    take(server, "/v1/locks/Invoice/2", R"({"owner":"bob"})");
    take(server, "/v1/locks/last/one", R"({"owner":"alice"})");
    const auto ids = [](EventClient& events, std::size_t count) {
        std::string keys;
        for (std::size_t i = 0; i < count; ++i) {
            const SentEvent event = events.next();
            keys += event.text("type") + "/" + event.text("id") + " ";
        }
        return keys;
    };
    EXPECT_EQ(ids(all, 4), "Order/1 Order/2 Invoice/2 last/one ");
    EXPECT_EQ(ids(orders, 2), "Order/1 Order/2 ");
    EXPECT_EQ(ids(one, 1), "Order/2 ");
    EXPECT_EQ(ids(alice, 2), "Order/1 last/one ");
    EXPECT_EQ(ids(below, 3), "Order/1 Order/2 last/one ");
    EXPECT_EQ(none.bytes().find("data"), std::string::npos);
}

TEST_F(Events, AreAskedForProperly) {
    RunningServer server{memory::open(), no_poll_};
    Client client = server.connect();
    client.send("HEAD /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const Answer head = client.receive();
    EXPECT_EQ(head.status, 200U);
    EXPECT_EQ(head.fields.at("content-type"), "text/event-stream");
    EXPECT_EQ(client.ask("POST", "/v1/events", "{}").status, 405U);
    EXPECT_EQ(client.ask("GET", "/v1/events", {}, "Accept: application/json\r\n").code(),
              "not_acceptable");
    EXPECT_EQ(client.ask("GET", "/v1/events?kind=granted").status, 400U);
    EXPECT_EQ(client.ask("GET", "/v1/events?scope=wide").status, 400U);
    EXPECT_EQ(
        client.ask("GET", "/v1/events", {}, "Last-Event-ID: 1\r\nLast-Event-ID: 2\r\n").status,
        400U);
    for (const std::string_view accept :
         {"", "Accept: */*\r\n", "Accept: text/*;q=0.5\r\n",
          "Accept: application/json\r\nAccept: TEXT/Event-Stream\r\n",
          "Accept: application/json, text/event-stream\r\n"}) {
        Client listener = server.connect();
        EXPECT_EQ(listener.ask("GET", "/v1/events", {}, accept).status, 200U) << accept;
    }
}

TEST_F(Events, BeatLikeAHeart) {
    RunningServer server{memory::open(), {.events_poll = 1h, .events_heartbeat = 20ms}};
    EventClient events{server.port(), "?owner=nobody"};
    const std::string before = events.last_id();
    take(server, "/v1/locks/Order/1");
    // Events that the filter left out are not sent again to a client that comes back.
    ASSERT_TRUE(eventually([&] {
        const auto beat = events.block();
        EXPECT_TRUE(beat && beat->starts_with(": still here\n"));
        return !beat || events.last_id() != before;
    }));
    EXPECT_NE(events.last_id(), before);
}

TEST_F(Events, AreFollowedAsSoonAsSomebodyIsAboutToListen) {
    RunningServer server{memory::open(),
                         {.events_poll = 1h, .events_linger = 0ms, .events_heartbeat = 1h}};
    for (int i = 0; i < 3; ++i) {
        EventClient events{server.port()};
        take(server, "/v1/locks/Order/" + std::to_string(i));
        ASSERT_EQ(events.names(1), "granted");
    }
}

TEST_F(Events, LimitTheNumberOfListeners) {
    RunningServer server{memory::open(), {.events_clients = 2, .events_poll = 1h}};
    EventClient first{server.port()};
    {
        const EventClient second{server.port()};
        const Answer refused = server.connect().ask("GET", "/v1/events");
        EXPECT_EQ(refused.status, 503U);
        EXPECT_EQ(refused.json().at("effect").as_string(), "none");
    }
    ASSERT_TRUE(server.listened_to_by(1));
    EXPECT_EQ(EventClient{server.port()}.answer().status, 200U);
    take(server, "/v1/locks/Order/1");
    EXPECT_EQ(first.names(1), "granted");
}

TEST_F(Events, AClientThatDoesNotReadIsCutOffAndHurtsNobody) {
    RunningServer server{memory::open(), {.events_kept = 100, .events_poll = 1h}};
    Client slow = server.connect();
    slow.send(message("GET", "/v1/events"));
    EventClient quick{server.port()};
    ASSERT_TRUE(server.listened_to_by(2));
    const std::string note(1000, 'n');
    Client client = server.connect();
    const std::string body = R"({"owner":"a","note":")" + note + "\"}";
    std::size_t told = 0;
    while (server.listening() == 2 && told < 100'000) {
        for (int i = 0; i < 50; ++i, ++told) {
            ASSERT_EQ(client.ask("POST", "/v1/locks/Order/" + std::to_string(told), body).status,
                      201U);
            ASSERT_EQ(quick.next().name, "granted");
        }
    }
    EXPECT_TRUE(server.listened_to_by(1));
    // It hears what was on its way, and then the end.
    std::string heard;
    for (std::string more; !(more = slow.receive_some()).empty();) heard += more;
    EXPECT_NE(heard.find("event: granted"), std::string::npos);
    take(server, "/v1/locks/last/1");
    EXPECT_EQ(quick.next().text("type"), "last");
}

TEST_F(Events, AClientThatIsGoneIsForgotten) {
    RunningServer server{memory::open(), no_poll_};
    EventClient events{server.port()};
    ASSERT_TRUE(server.listened_to_by(1));
    events.close();
    EXPECT_TRUE(server.listened_to_by(0));
    EXPECT_TRUE(server.has_connections(0));
}

TEST_F(Events, EndCleanlyWhenTheServerStops) {
    RunningServer server{memory::open(), {.threads = 2, .events_poll = 10ms}};
    std::vector<EventClient> clients;
    for (int i = 0; i < 20; ++i) clients.emplace_back(server.port());
    take(server, "/v1/locks/Order/1");
    server.begin_stop();
    for (EventClient& events : clients) {
        EXPECT_EQ(events.names(1), "granted");
        EXPECT_EQ(events.block(), ": the server is stopping\n\n");
        EXPECT_EQ(events.block(), std::nullopt);
    }
    server.stop();
}

TEST_F(Events, NeverCarryALockId) {
    ManualClock clock;
    RunningServer server{memory_store_on(clock), {.events_poll = 5ms}};
    EventClient events{server.port()};
    std::vector<std::string> secrets;
    for (int i = 0; i < 20; ++i) {
        const std::string target = "/v1/locks/Order/" + std::to_string(i);
        secrets.push_back(take(server, target, R"({"owner":"alice","ttl_ms":60000})"));
        Client client = server.connect();
        client.ask("PATCH", target, R"({"ttl_ms":90000})", lock_token(secrets.back()));
        client.ask("GET", target, {}, lock_token(secrets.back()));
        if (i % 2 == 0) release(server, secrets.back(), target);
        const auto other = server.locks().try_lock({"Other", std::to_string(i)}, {.ttl = 10s});
        secrets.push_back(other->lock_id.to_string());
    }
    // Granted, extended and released of this server's; granted and expired of the others.
    (void)events.names(20 + 20 + 10 + 20);
    clock.advance(30s);
    (void)events.names(20);
    EXPECT_EQ(events.bytes().find("lock_id"), std::string::npos);
    for (const std::string& secret : secrets) {
        EXPECT_EQ(events.bytes().find(secret), std::string::npos);
    }
}

TEST_F(Events, CostTheStoreNothingWhileNobodyListens) {
    auto gated = std::make_unique<GatedStore>(memory::open());
    GatedStore& store = *gated;
    RunningServer server{std::move(gated), {.events_poll = 1ms}};
    const std::string id = take(server, "/v1/locks/Order/1");
    release(server, id);
    for (const auto& batch : store.batches()) {
        for (const Request& request : batch) {
            EXPECT_FALSE(std::holds_alternative<List>(request));
            EXPECT_FALSE(std::holds_alternative<History>(request));
        }
    }
}

TEST_F(Events, OutlastAFaultOfTheStore) {
    auto faulty = std::make_unique<FaultyStore>(memory::open());
    FaultyStore& store = *faulty;
    RunningServer server{std::move(faulty), {.events_poll = 5ms}};
    store.fail(0, Fails::before_effect, 100'000);
    const Answer refused = server.connect().ask("GET", "/v1/events");
    EXPECT_EQ(refused.status, 503U);
    EXPECT_EQ(refused.code(), "fault");
    store.heal();
    EventClient events{server.port()};
    const auto lease = server.locks().try_lock(order);
    EXPECT_EQ(events.names(1), "granted");
    store.fail(0, Fails::after_effect, 10);
    EXPECT_TRUE(eventually([&] { return store.hits() == 10; }));
    store.heal();
    EXPECT_TRUE(server.locks().release(order, lease->lock_id));
    EXPECT_EQ(events.names(1), "released");
}

TEST_F(Events, ReachThousandsOfClientsOnSeveralThreads) {
    constexpr std::size_t many = 2000;
    RunningServer server{memory::open(), {.threads = 3, .events_clients = many}};
    std::vector<EventClient> clients;
    clients.reserve(many);
    for (std::size_t i = 0; i < many; ++i) clients.emplace_back(server.port());
    EXPECT_EQ(server.connect().ask("GET", "/v1/events").status, 503U);
    const std::string id = take(server, "/v1/locks/Order/1");
    release(server, id);
    for (EventClient& events : clients) ASSERT_EQ(events.names(2), "granted released");
    clients.clear();
    EXPECT_TRUE(server.listened_to_by(0));
}

TEST_F(Events, LimitTheNumberOfKnownLeases) {
    RunningServer server{memory::open(), {.events_poll = 5ms, .events_leases = 3}};
    for (int i = 0; i < 5; ++i) (void)server.locks().try_lock({"A", std::to_string(i)});
    const auto last = server.locks().try_lock({"Z", "1"}, {.ttl = 1min});
    EventClient events{server.port()};
    const std::string target = "/v1/locks/Z/1";
    Client client = server.connect();
    client.ask("PATCH", target, R"({"ttl_ms":90000})", lock_token(last->lock_id.to_string()));
    EXPECT_EQ(events.names(1), "extended");
    EXPECT_TRUE(server.locks().release({"Z", "1"}, last->lock_id));
    EXPECT_EQ(events.names(1), "released");
}

TEST_F(Events, TellWhatAnotherServerOnTheSameFileDoes) {
    const auto folder =
        std::filesystem::path{::testing::TempDir()} / ("events-" + LockId::random().to_string());
    std::filesystem::create_directory(folder);
    {
        const std::string file = folder / "locks.db";
        RunningServer here{sqlite::open(file), {.events_poll = 10ms}};
        RunningServer there{sqlite::open(file)};
        EventClient events{here.port()};
        const std::string id = take(there, "/v1/locks/Order/1", R"({"owner":"alice"})");
        EXPECT_EQ(events.names(1), "granted");
        release(there, id);
        EXPECT_EQ(events.names(1), "released");
        take(here, "/v1/locks/Order/1", R"({"owner":"bob","ttl_ms":100})");
        EXPECT_EQ(events.names(2), "granted expired");
        const std::string mine = take(here, "/v1/locks/Order/1", R"({"owner":"carol"})");
        release(there, mine);
        take(here, "/v1/locks/Order/1", R"({"owner":"dan"})");
        EXPECT_EQ(events.names(3), "granted released granted");
    }
    std::filesystem::remove_all(folder);
}

// Printed, each of these events takes more than 6 KiB.
TEST(EventLog, KeepsFewerEventsIfTheyAreLarge) {
    const auto log = std::make_shared<server::EventLog>(1000);
    const auto slow = log->open({}, {}, {}, server::v1::server_sent_events(), 1);
    std::size_t woken = 0;
    slow->on_news([&] { ++woken; });
    const server::Event large{
        .kind = server::Event::Kind::granted,
        .lease = {.key = {"Order", "1"}, .note = std::string(Limits::note_bytes, '\t')}};
    for (int i = 0; i < 100; ++i) log->append(large);
    EXPECT_EQ(slow->state(), server::BodyStream::State::open);
    EXPECT_EQ(woken, 1U);
    for (int i = 0; i < 500; ++i) log->append(large);
    EXPECT_EQ(slow->state(), server::BodyStream::State::lost);
    // It learns that it is lost, once.
    EXPECT_EQ(woken, 2U);
}

}  // namespace
}  // namespace leasehold::testing
