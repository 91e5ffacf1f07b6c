#include <leasehold/stores/sqlite.hpp>

#include <filesystem>
#include <latch>
#include <string>
#include <vector>

#include "server/server_fixture.hpp"
#include "server/waiting/kept_places.hpp"
#include "unit/gated_store.hpp"
#include "unit/manual_clock.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

std::string waiting_try(std::string_view owner, std::string_view more = {}) {
    return message(
        "POST", "/v1/locks/Order/1",
        R"({"wait_ms":60000,"owner":")" + std::string{owner} + "\"" + std::string{more} + "}");
}

std::string owner_of(const Answer& answer) {
    if (answer.status != 201) return "status " + std::to_string(answer.status) + answer.body;
    const auto json = answer.json();
    return std::string{std::string_view{json.at("owner").as_string()}};
}

class Waiting : public ::testing::Test {
protected:
    // Ends through the server, so that it sees it.
    static void release(RunningServer& server, const Lease& lease) {
        const Answer answer = server.connect().ask(
            "DELETE", "/v1/locks/Order/1", {}, "Lock-Token: " + lease.lock_id.to_string() + "\r\n");
        EXPECT_EQ(answer.status, 200U);
    }
    static void release(RunningServer& server, const Answer& granted) {
        const auto json = granted.json();
        const auto id = LockId::parse(std::string_view{json.at("lock_id").as_string()});
        release(server, Lease{.key = order, .lock_id = *id});
    }

    // They wait in this order.
    static std::vector<Client> line_up(RunningServer& server,
                                       const std::vector<std::string>& owners) {
        std::vector<Client> waiters;
        for (const std::string& owner : owners) {
            waiters.push_back(server.connect());
            waiters.back().send(waiting_try(owner));
            EXPECT_TRUE(server.waits_for(waiters.size()));
        }
        return waiters;
    }

    // Who waits, one letter each.
    static std::string line_of(RunningServer& server, std::string_view target) {
        const auto json = server.connect().ask("GET", target).json();
        std::string line;
        for (const auto& owner : json.at("waiting").as_array()) {
            line += std::string_view{owner.as_string()};
        }
        return line;
    }

    // Nobody is woken by the clock in these tests, unless they say so.
    const server::ServerOptions no_poll_{.wait_poll = 1h};
};

class WaitingOnAGatedStore : public Waiting {
protected:
    std::unique_ptr<GatedStore> gated_ = std::make_unique<GatedStore>(memory::open());
    GatedStore& store_ = *gated_;
    RunningServer server_{std::move(gated_), no_poll_};
};

TEST_F(Waiting, IsFirstComeFirstServed) {
    RunningServer server{memory::open(), no_poll_};
    const auto held = server.locks().try_lock(order);
    std::vector<Client> waiters = line_up(server, {"a", "b", "c", "d"});
    release(server, *held);
    std::string order_of_grants;
    for (Client& waiter : waiters) {
        const Answer answer = waiter.receive();
        order_of_grants += owner_of(answer);
        release(server, answer);
    }
    EXPECT_EQ(order_of_grants, "abcd");
}

TEST_F(Waiting, GrantsAFreeKeyAtOnce) {
    RunningServer server{memory::open(), no_poll_};
    Client client = server.connect();
    client.send(waiting_try("alice"));
    EXPECT_EQ(owner_of(client.receive()), "alice");
}

TEST_F(Waiting, SharedWaitersAreGrantedTogether) {
    RunningServer server{memory::open(), no_poll_};
    const auto held = server.locks().try_lock(order);
    std::vector<Client> waiters;
    for (int i = 0; i < 5; ++i) {
        waiters.push_back(server.connect());
        waiters.back().send(waiting_try("reader", R"(,"mode":"shared")"));
    }
    ASSERT_TRUE(server.waits_for(5));
    release(server, *held);
    for (Client& waiter : waiters) EXPECT_EQ(owner_of(waiter.receive()), "reader");
}

TEST_F(Waiting, GrantsAsManyPlacesAsThereAreInTheirOrder) {
    RunningServer server{memory::open(), no_poll_};
    const auto held = server.locks().try_lock(order);
    std::vector<Client> waiters;
    for (const char* owner : {"a", "b", "c"}) {
        waiters.push_back(server.connect());
        waiters.back().send(waiting_try(owner, R"(,"places":2)"));
        ASSERT_TRUE(server.waits_for(waiters.size()));
    }
    release(server, *held);
    const Answer first = waiters[0].receive();
    EXPECT_EQ(owner_of(first), "a");
    EXPECT_EQ(owner_of(waiters[1].receive()), "b");
    EXPECT_TRUE(server.waits_for(1));
    release(server, first);
    EXPECT_EQ(owner_of(waiters[2].receive()), "c");
}

TEST_F(Waiting, AHolderDoesNotWaitForItself) {
    RunningServer server{memory::open(), no_poll_};
    const auto held = server.locks().try_lock(order, {.owner = "alice"});
    Client other = server.connect();
    other.send(waiting_try("bob"));
    ASSERT_TRUE(server.waits_for(1));
    Client again = server.connect();
    again.send(waiting_try("alice"));
    EXPECT_EQ(owner_of(again.receive()), "alice");
    release(server, *held);
    EXPECT_EQ(owner_of(other.receive()), "bob");
}

// The line does not know the holders yet.
TEST_F(WaitingOnAGatedStore, AHolderPassesTheFirstTryThatIsUnderWay) {
    const auto held = server_.locks().try_lock(order, {.owner = "alice"});
    store_.close();
    Client other = server_.connect();
    other.send(waiting_try("bob"));
    ASSERT_TRUE(store_.wait_until_held());
    Client again = server_.connect();
    again.send(waiting_try("alice"));
    ASSERT_TRUE(server_.waits_for(2));
    store_.open();
    EXPECT_EQ(owner_of(again.receive()), "alice");
    release(server_, *held);
    EXPECT_EQ(owner_of(other.receive()), "bob");
}

TEST_F(WaitingOnAGatedStore, AFormerHolderIsLastInLine) {
    const auto held = server_.locks().try_lock(order, {.owner = "alice"});
    std::vector<Client> waiters = line_up(server_, {"bob", "carol"});
    ASSERT_TRUE(eventually([&] { return store_.batches().size() == 2; }));
    // She releases it, and comes back while bob's try is with the store_.
    store_.close();
    Client releasing = server_.connect();
    releasing.send(message("DELETE", "/v1/locks/Order/1", {},
                           "Lock-Token: " + held->lock_id.to_string() + "\r\n"));
    ASSERT_TRUE(store_.wait_until_held());
    store_.let_pass();
    EXPECT_EQ(releasing.receive().status, 200U);
    ASSERT_TRUE(store_.wait_until_held());
    Client alice = server_.connect();
    alice.send(waiting_try("alice"));
    ASSERT_TRUE(server_.waits_for(3));
    store_.open();
    const Answer first = waiters[0].receive();
    EXPECT_EQ(owner_of(first), "bob");
    release(server_, first);
    EXPECT_EQ(owner_of(waiters[1].receive()), "carol");
}

TEST_F(Waiting, TheTimeToLiveStartsAtTheGrant) {
    const ManualClock clock;
    ManualClock same = clock;
    RunningServer server{memory_store_on(clock), no_poll_};
    const auto held = server.locks().try_lock(order, {.ttl = 1h});
    Client client = server.connect();
    client.send(waiting_try("alice", R"(,"ttl_ms":5000)"));
    ASSERT_TRUE(server.waits_for(1));
    same.advance(30s);
    release(server, *held);
    EXPECT_EQ(client.receive().json().at("remaining_ms").as_int64(), 5000);
}

TEST_F(Waiting, EndsWithTheRefusalWhenThePatienceEnds) {
    RunningServer server{memory::open(), no_poll_};
    const auto held = server.locks().try_lock(order, {.owner = "alice"});
    Client first = server.connect();
    first.send(waiting_try("bob"));
    ASSERT_TRUE(server.waits_for(1));
    const Answer answer =
        server.connect().ask("POST", "/v1/locks/Order/1", R"({"wait_ms":20,"owner":"carol"})");
    EXPECT_EQ(answer.status, 409U);
    EXPECT_EQ(answer.code(), "held");
    EXPECT_EQ(answer.json().at("holders").at(0).at("owner").as_string(), "alice");
    release(server, *held);
    EXPECT_EQ(owner_of(first.receive()), "bob");
}

TEST_F(Waiting, IsBounded) {
    RunningServer server{memory::open(), {.waiters = 1, .wait_poll = 1h}};
    Client client = server.connect();
    for (const std::string_view wait : {"-1", "60001", "null", "\"5\""}) {
        const Answer answer =
            client.ask("POST", "/v1/locks/Order/1", "{\"wait_ms\":" + std::string{wait} + "}");
        EXPECT_EQ(answer.status, 400U) << wait;
    }
    const Answer too_long = client.ask("POST", "/v1/locks/Order/1", R"({"wait_ms":60001})");
    EXPECT_EQ(too_long.json().at("longest_wait_ms").as_int64(), 60000);
    EXPECT_TRUE(server.locks().list().empty());
    const auto held = server.locks().try_lock(order);
    Client first = server.connect();
    first.send(waiting_try("alice"));
    ASSERT_TRUE(server.waits_for(1));
    client.send(waiting_try("bob"));
    const Answer refused = client.receive();
    EXPECT_EQ(refused.status, 503U);
    EXPECT_EQ(refused.json().at("effect").as_string(), "none");
}

TEST_F(Waiting, AClientThatLeftIsNeverGranted) {
    RunningServer server{memory::open(), no_poll_};
    const auto held = server.locks().try_lock(order);
    Client gone = server.connect();
    gone.send(waiting_try("gone"));
    ASSERT_TRUE(server.waits_for(1));
    Client next = server.connect();
    next.send(waiting_try("next"));
    ASSERT_TRUE(server.waits_for(2));
    gone.close();
    ASSERT_TRUE(server.waits_for(1));
    release(server, *held);
    EXPECT_EQ(owner_of(next.receive()), "next");
    for (const PastLease& past : server.locks().history()) EXPECT_NE(past.lease.owner, "gone");
}

TEST_F(Waiting, AClientThatPipelinesWhileItWaitsIsStillSeenToLeave) {
    RunningServer server{memory::open(), no_poll_};
    const auto held = server.locks().try_lock(order);
    Client client = server.connect();
    client.send(waiting_try("alice"));
    ASSERT_TRUE(server.waits_for(1));
    client.send(message("GET", "/healthz"));
    release(server, *held);
    EXPECT_EQ(owner_of(client.receive()), "alice");
    EXPECT_EQ(client.receive().status, 200U);

    Client gone = server.connect();
    gone.send(waiting_try("gone"));
    ASSERT_TRUE(server.waits_for(1));
    gone.send(message("GET", "/healthz"));
    gone.close();
    EXPECT_TRUE(server.waits_for(0));
}

TEST_F(WaitingOnAGatedStore, AGrantThatComesTooLateIsGivenBackAtOnce) {
    store_.close();
    Client gone = server_.connect();
    gone.send(waiting_try("gone"));
    ASSERT_TRUE(store_.wait_until_held());
    gone.close();
    Client next = server_.connect();
    next.send(waiting_try("next"));
    ASSERT_TRUE(server_.waits_for(2));
    store_.open();
    EXPECT_EQ(owner_of(next.receive()), "next");
    const auto history = server_.locks().history();
    ASSERT_EQ(history.size(), 1U);
    EXPECT_EQ(history.front().lease.owner, "gone");
    EXPECT_EQ(history.front().how, Gone::released);
}

// Answers at once, on the thread that asks; but who asks for the key "Stuck/1" is stuck in it.
class StickyStore final : public Store {
public:
    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override {
        const auto* wanted = std::get_if<TryLock>(requests.data());
        if (wanted != nullptr && wanted->key.type() == "Stuck") {
            stuck_.count_down();
            free_.wait();
        }
        inner_->apply(requests, outcomes);
    }
    [[nodiscard]] std::size_t concurrency() const noexcept override { return any_number; }
    [[nodiscard]] StoreStatus status() override { return inner_->status(); }

    void wait_until_stuck() { stuck_.wait(); }
    void free() { free_.count_down(); }

private:
    const std::unique_ptr<Store> inner_ = memory::open();
    std::latch stuck_{1};
    std::latch free_{1};
};

TEST_F(Waiting, AClientThatLeavesWithTheOneBeforeIsTriedForOnce) {
    auto sticky = std::make_unique<StickyStore>();
    StickyStore& store = *sticky;
    RunningServer server{std::move(sticky), {.threads = 1, .wait_poll = 1h}};
    const auto held = server.locks().try_lock(order);
    std::vector<Client> waiters = line_up(server, {"a", "b"});
    // It is free, and the server does not know; then it sees at the same time that both are gone.
    ASSERT_TRUE(server.locks().release(held->lock_id).has_value());
    Client stuck = server.connect();
    stuck.send(message("POST", "/v1/locks/Stuck/1", "{}"));
    store.wait_until_stuck();
    for (Client& waiter : waiters) waiter.close();
    store.free();
    EXPECT_EQ(stuck.receive().status, 201U);
    EXPECT_TRUE(server.waits_for(0));
    EXPECT_EQ(server.connect().ask("GET", "/healthz").status, 200U);
    EXPECT_TRUE(server.waits_for(0));
    EXPECT_TRUE(eventually([&] { return server.locks().holders(order).empty(); }));
    EXPECT_EQ(server.locks().history({.key = order}).size(), 2U);
}

TEST_F(WaitingOnAGatedStore, AGrantThatComesTooLateTakesNothingFromItsOwner) {
    const auto held = server_.locks().try_lock(order, {.owner = "me"});
    store_.close();
    Client other_tab = server_.connect();
    other_tab.send(waiting_try("me"));
    ASSERT_TRUE(store_.wait_until_held());
    other_tab.close();
    store_.open();
    ASSERT_TRUE(server_.waits_for(0));
    EXPECT_TRUE(server_.locks().check(order, held->lock_id).has_value());
    EXPECT_TRUE(server_.locks().history().empty());
}

TEST_F(WaitingOnAGatedStore, ALateGrantStaysForARepeatedTryWithItsLockId) {
    const LockId drawn = LockId::random();
    const std::string token = "Lock-Token: " + drawn.to_string() + "\r\n";
    store_.close();
    Client cut = server_.connect();
    cut.send(message("POST", "/v1/locks/Order/1", R"({"wait_ms":60000,"owner":"a"})", token));
    ASSERT_TRUE(store_.wait_until_held());
    cut.close();
    Client again = server_.connect();
    again.send(message("POST", "/v1/locks/Order/1", R"({"owner":"a"})", token));
    store_.open();
    EXPECT_EQ(again.receive().status, 201U);
    ASSERT_TRUE(server_.waits_for(0));
    EXPECT_TRUE(server_.locks().check(order, drawn).has_value());
    EXPECT_TRUE(server_.locks().history().empty());
}

TEST_F(Waiting, AClientThatSendsTooMuchWhileItWaitsIsGrantedNothing) {
    RunningServer server{memory::open(), no_poll_};
    const auto held = server.locks().try_lock(order);
    Client client = server.connect();
    client.send(waiting_try("gone"));
    ASSERT_TRUE(server.waits_for(1));
    client.send(std::string(64 * 1024, 'x'));
    EXPECT_TRUE(server.waits_for(0));
    release(server, *held);
    EXPECT_TRUE(server.locks().holders(order).empty());
}

TEST_F(Waiting, AnExpiryWakes) {
    RunningServer server{memory::open(), no_poll_};
    const auto held = server.locks().try_lock(order, {.ttl = 100ms});
    Client client = server.connect();
    client.send(waiting_try("alice"));
    EXPECT_EQ(owner_of(client.receive()), "alice");
}

TEST_F(Waiting, ABreakAndTheEndOfAnOwnerWake) {
    RunningServer server{memory::open(), no_poll_};
    const auto held = server.locks().try_lock(order, {.owner = "alice"});
    Client client = server.connect();
    client.send(waiting_try("bob/tab"));
    ASSERT_TRUE(server.waits_for(1));
    Client other = server.connect();
    EXPECT_EQ(other
                  .ask("POST", "/v1/locks/Order/1/break",
                       R"({"by":"admin","fence":)" + std::to_string(held->fence) + "}")
                  .status,
              200U);
    EXPECT_EQ(owner_of(client.receive()), "bob/tab");
    client.send(waiting_try("carol"));
    ASSERT_TRUE(server.waits_for(1));
    EXPECT_EQ(other.ask("DELETE", "/v1/owners/bob/locks?scope=below").status, 200U);
    EXPECT_EQ(owner_of(client.receive()), "carol");
}

TEST_F(Waiting, AReleaseOnAnotherServerWakes) {
    const auto folder =
        std::filesystem::path{::testing::TempDir()} / ("waiting-" + LockId::random().to_string());
    std::filesystem::create_directory(folder);
    {
        const std::string file = folder / "locks.db";
        RunningServer here{sqlite::open(file), no_poll_};
        RunningServer there{sqlite::open(file), no_poll_};
        const auto held = there.locks().try_lock(order);
        Client client = here.connect();
        client.send(waiting_try("alice"));
        ASSERT_TRUE(here.waits_for(1));
        release(there, *held);
        EXPECT_EQ(owner_of(client.receive()), "alice");
    }
    std::filesystem::remove_all(folder);
}

TEST_F(Waiting, AStopEndsItWithAClearAnswer) {
    RunningServer server{memory::open(), no_poll_};
    const auto held = server.locks().try_lock(order);
    std::vector<Client> waiters;
    for (int i = 0; i < 3; ++i) {
        waiters.push_back(server.connect());
        waiters.back().send(waiting_try("alice"));
    }
    ASSERT_TRUE(server.waits_for(3));
    server.begin_stop();
    for (Client& waiter : waiters) {
        const Answer answer = waiter.receive();
        EXPECT_EQ(answer.status, 503U);
        EXPECT_EQ(answer.json().at("detail").as_string(),
                  "the server is stopping; nothing was granted");
        EXPECT_EQ(answer.json().at("effect").as_string(), "none");
        EXPECT_TRUE(waiter.closed());
    }
    server.stop();
    EXPECT_EQ(server.locks().list().size(), 1U);
}

TEST_F(WaitingOnAGatedStore, ThousandsCostTheStoreNothing) {
    const auto held = server_.locks().try_lock(order);
    constexpr std::size_t many = 2000;
    std::vector<Client> waiters;
    for (std::size_t i = 0; i < many; ++i) {
        waiters.push_back(server_.connect());
        waiters.back().send(waiting_try(std::to_string(i)));
    }
    ASSERT_TRUE(server_.waits_for(many));
    EXPECT_LE(store_.batches().size(), 2U);  // the holder's try, and that of the first
    Client working = server_.connect();
    EXPECT_EQ(working.ask("POST", "/v1/locks/Order/2").status, 201U);
    waiters.clear();
    EXPECT_TRUE(server_.waits_for(0));
}

TEST_F(Waiting, NamesTheWaitersInTheirOrder) {
    RunningServer server{memory::open(), {.threads = 2, .waiters_named = 3, .wait_poll = 1h}};
    const auto held = server.locks().try_lock(order);
    std::vector<Client> waiters = line_up(server, {"a", "b", "c", "d"});
    EXPECT_EQ(line_of(server, "/v1/locks/Order/1"), "abc");
    EXPECT_EQ(line_of(server, "/v1/locks/Order/2"), "");
    waiters[1].close();
    ASSERT_TRUE(server.waits_for(3));
    EXPECT_EQ(line_of(server, "/v1/locks/Order/1"), "acd");
}

TEST_F(Waiting, AskingAgainWithTheSameLockIdKeepsThePlace) {
    RunningServer server{memory::open(), no_poll_};
    const auto held = server.locks().try_lock(order);
    const std::string drawn = "Lock-Token: " + LockId::random().to_string() + "\r\n";
    const std::string try_of_a =
        message("POST", "/v1/locks/Order/1", R"({"wait_ms":60000,"owner":"a"})", drawn);
    Client first = server.connect();
    first.send(try_of_a);
    ASSERT_TRUE(server.waits_for(1));
    Client other = server.connect();
    other.send(waiting_try("b"));
    ASSERT_TRUE(server.waits_for(2));

    Client again = server.connect();
    again.send(try_of_a);
    EXPECT_EQ(first.receive().status, 409U);
    EXPECT_EQ(line_of(server, "/v1/locks/Order/1"), "ab");
    again.close();
    ASSERT_TRUE(server.waits_for(1));
    EXPECT_EQ(line_of(server, "/v1/locks/Order/1"), "b");

    Client last = server.connect();
    last.send(try_of_a);
    ASSERT_TRUE(server.waits_for(2));
    release(server, *held);
    const Answer granted = other.receive();
    EXPECT_EQ(owner_of(granted), "b");
    release(server, granted);
    EXPECT_EQ(owner_of(last.receive()), "a");
}

class WaitingLong : public Waiting {
protected:
    void SetUp() override {
        ASSERT_TRUE(server_.locks().try_lock(order));
        ASSERT_TRUE(server_.locks().try_lock({"Order", "2"}));
    }

    // Of `a`, always with the same lock id.
    [[nodiscard]] std::string try_for(std::string_view id, std::string_view wait_ms) const {
        return message("POST", "/v1/locks/Order/" + std::string{id},
                       R"({"owner":"a","wait_ms":)" + std::string{wait_ms} + "}",
                       "Lock-Token: " + drawn_ + "\r\n");
    }

    // `a` waits in this line until its time is over, and comes to the first one, where `b` waits.
    void come_back_from(std::string_view id) {
        a_.send(try_for(id, "1"));
        ASSERT_EQ(a_.receive().status, 409U);
        b_ = line_up(server_, {"b"});
        a_.send(try_for("1", "60000"));
        ASSERT_TRUE(server_.waits_for(2));
    }

    RunningServer server_{memory::open(), {.wait_poll = 1h, .place_kept = 1h}};
    Client a_ = server_.connect();

private:
    std::vector<Client> b_;
    const std::string drawn_ = LockId::random().to_string();
};

TEST_F(WaitingLong, AClientThatComesBackAfterItsTimeGetsItsPlaceBack) {
    come_back_from("1");
    EXPECT_EQ(line_of(server_, "/v1/locks/Order/1"), "ab");
}

TEST_F(WaitingLong, AClientThatLeftBeforeItsTimeGoesToTheEndOfTheLine) {
    come_back_from("1");
    a_.close();
    ASSERT_TRUE(server_.waits_for(1));

    Client again = server_.connect();
    again.send(try_for("1", "60000"));
    ASSERT_TRUE(server_.waits_for(2));
    EXPECT_EQ(line_of(server_, "/v1/locks/Order/1"), "ba");
}

TEST_F(WaitingLong, APlaceIsGoodForItsOwnLineOnly) {
    come_back_from("2");
    EXPECT_EQ(line_of(server_, "/v1/locks/Order/1"), "ba");
}

TEST(KeptPlaces, AreForgottenInTime) {
    using Clock = server::KeptPlaces::Clock;
    const Clock::time_point since = Clock::now();
    const TryLock wanted{.key = order, .lock_id = LockId::random()};
    server::KeptPlaces places{5s, 10};
    places.keep(wanted, since, since + 60s);
    EXPECT_EQ(places.take(wanted, since + 64s), since);
    EXPECT_EQ(places.take(wanted, since + 64s), since + 64s) << "taken already";

    places.keep(wanted, since, since + 60s);
    EXPECT_EQ(places.take(wanted, since + 65s), since + 65s);

    // The second time counts.
    places.keep(wanted, since, since + 60s);
    places.keep(wanted, since, since + 64s);
    EXPECT_EQ(places.take(wanted, since + 68s), since);
}

TEST(KeptPlaces, AreBounded) {
    using Clock = server::KeptPlaces::Clock;
    const Clock::time_point since = Clock::now();
    const Clock::time_point now = since + 1s;
    std::vector<TryLock> wanted;
    server::KeptPlaces places{5s, 2};
    for (int i = 0; i < 3; ++i) {
        wanted.push_back({.key = order, .lock_id = LockId::random()});
        places.keep(wanted.back(), since, now);
    }
    EXPECT_EQ(places.take(wanted[0], now), now);
    EXPECT_EQ(places.take(wanted[1], now), since);
    EXPECT_EQ(places.take(wanted[2], now), since);
}

TEST_F(Waiting, WorksOnSeveralThreads) {
    RunningServer server{memory::open(), {.threads = 3, .wait_poll = 1h}};
    const auto held = server.locks().try_lock(order);
    std::vector<std::string> owners;
    for (int i = 0; i < 50; ++i) owners.push_back("w" + std::to_string(i));
    std::vector<Client> waiters = line_up(server, owners);
    release(server, *held);
    for (std::size_t i = 0; i < waiters.size(); ++i) {
        const Answer answer = waiters[i].receive();
        EXPECT_EQ(owner_of(answer), owners[i]);
        if (i % 3 == 0) waiters[i].close();
        release(server, answer);
    }
}

}  // namespace
}  // namespace leasehold::testing
