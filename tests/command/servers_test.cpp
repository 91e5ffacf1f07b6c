#include <leasehold/open_store.hpp>

#include <string>
#include <vector>

#include "command/host.hpp"
#include "command/serving.hpp"
#include "faults/databases.hpp"
#include "server/event_client.hpp"

// Two server processes, an application with the library in it and the command, all on one store.
namespace leasehold::command {
namespace {

using namespace std::chrono_literals;
using testing::Answer;
using testing::Client;
using testing::EventClient;
using testing::SentEvent;

const LockKey order{"Order", "1"};
constexpr std::string_view target = "/v1/locks/Order/1";

class Servers : public faults::DatabaseTest {
protected:
    static std::string waiting(std::string_view owner, std::string_view wait_ms = "60000") {
        return testing::message(
            "POST", target,
            R"({"owner":")" + std::string{owner} + R"(","wait_ms":)" + std::string{wait_ms} + "}");
    }
    static std::string token(const Answer& granted) {
        const auto lease = granted.json();
        return "Lock-Token: " + std::string{std::string_view{lease.at("lock_id").as_string()}} +
               "\r\n";
    }
    static Answer take(Serving& server, std::string_view body = R"({"owner":"alice"})") {
        Answer answer = server.connect().ask("POST", target, body);
        EXPECT_EQ(answer.status, 201U) << answer.body;
        return answer;
    }
    static void release(Serving& server, const Answer& granted) {
        EXPECT_EQ(server.connect().ask("DELETE", target, {}, token(granted)).status, 200U);
    }
    static std::string owner_of(const Answer& answer) {
        if (answer.status != 201) return std::to_string(answer.status) + answer.body;
        const auto lease = answer.json();
        return std::string{std::string_view{lease.at("owner").as_string()}};
    }
    // Waiting clients appear in the answer to GET.
    static bool waits(Serving& server, std::size_t count) {
        return faults::eventually([&] {
            const auto look = server.connect().ask("GET", target).json();
            return look.at("waiting").as_array().size() == count;
        });
    }

    const std::vector<std::string> quick_{"--events-poll", "50ms"};
    Serving here_{url(), quick_};
    Serving there_{url(), quick_};
};

TEST_P(Servers, AWaiterIsWokenByAReleaseOnAnotherServer) {
    const Answer held = take(there_);
    Client waiter = here_.connect();
    waiter.send(waiting("bob"));
    ASSERT_TRUE(waits(here_, 1));
    release(there_, held);
    EXPECT_EQ(owner_of(waiter.receive()), "bob");
}

TEST_P(Servers, AWaiterIsWokenByABreakAndByAnExpiryOnAnotherServer) {
    const Answer held = take(there_);
    Client waiter = here_.connect();
    waiter.send(waiting("bob"));
    ASSERT_TRUE(waits(here_, 1));
    const std::string fence = std::to_string(held.json().at("fence").as_int64());
    EXPECT_EQ(
        there_.connect()
            .ask("POST", std::string{target} + "/break", R"({"by":"admin","fence":)" + fence + "}")
            .status,
        200U);
    const Answer granted = waiter.receive();
    EXPECT_EQ(owner_of(granted), "bob");
    release(here_, granted);

    (void)take(there_, R"({"owner":"carol","ttl_ms":300})");
    waiter.send(waiting("dan"));
    EXPECT_EQ(owner_of(waiter.receive()), "dan");
}

TEST_P(Servers, AWaiterIsWokenByAnApplicationAndByTheCommand) {
    LockManager application{open_store(url())};
    const auto held = application.try_lock(order, {.owner = "application"});
    ASSERT_TRUE(held);
    Client waiter = here_.connect();
    waiter.send(waiting("bob"));
    ASSERT_TRUE(waits(here_, 1));
    EXPECT_TRUE(application.release(order, held->lock_id));
    const Answer granted = waiter.receive();
    EXPECT_EQ(owner_of(granted), "bob");

    Client next = there_.connect();
    next.send(waiting("carol"));
    ASSERT_TRUE(waits(there_, 1));
    const auto ended = leasehold({"release-all", "bob", "--store", url()});
    EXPECT_EQ(ended.exit_code, 0) << ended.output;
    EXPECT_EQ(owner_of(next.receive()), "carol");
}

TEST_P(Servers, FirstComeFirstServedOnEachAndNeverTwoAtOnce) {
    const Answer held = take(there_);
    struct Waiter {
        Serving& server;
        Client client;
    };
    std::vector<Waiter> waiters;
    for (const char* owner : {"a1", "a2", "a3"}) {
        waiters.push_back({here_, here_.connect()});
        waiters.back().client.send(waiting(owner));
        ASSERT_TRUE(waits(here_, waiters.size()));
    }
    for (const char* owner : {"b1", "b2", "b3"}) {
        waiters.push_back({there_, there_.connect()});
        waiters.back().client.send(waiting(owner));
        ASSERT_TRUE(waits(there_, waiters.size() - 3));
    }
    release(there_, held);
    std::string order_here;
    std::string order_there;
    Fence last = 0;
    for (std::size_t i = 0; i < 6; ++i) {
        // Exactly one of them has been answered.
        std::size_t who = waiters.size();
        ASSERT_TRUE(faults::eventually([&] {
            for (std::size_t j = 0; j < waiters.size(); ++j) {
                if (waiters[j].client.hears()) who = j;
            }
            return who < waiters.size();
        }));
        Waiter& first = waiters[who];
        const Answer granted = first.client.receive();
        ASSERT_EQ(granted.status, 201U) << granted.body;
        const Fence fence = granted.json().at("fence").as_int64();
        EXPECT_GT(fence, last);
        last = fence;
        (&first.server == &here_ ? order_here : order_there) += owner_of(granted);
        for (Waiter& other : waiters) EXPECT_FALSE(other.client.hears());
        release(first.server, granted);
    }
    EXPECT_EQ(order_here, "a1a2a3");
    EXPECT_EQ(order_there, "b1b2b3");
}

TEST_P(Servers, AWaiterThatIsGoneIsNeverGranted) {
    const Answer held = take(there_);
    Client gone = here_.connect();
    gone.send(waiting("gone"));
    ASSERT_TRUE(waits(here_, 1));
    Client next = here_.connect();
    next.send(waiting("next"));
    ASSERT_TRUE(waits(here_, 2));
    gone.close();
    ASSERT_TRUE(waits(here_, 1));
    release(there_, held);
    EXPECT_EQ(owner_of(next.receive()), "next");
    LockManager application{open_store(url())};
    for (const PastLease& past : application.history()) EXPECT_NE(past.lease.owner, "gone");
}

TEST_P(Servers, EventsTellWhatEverybodyDoes) {
    EventClient events{here_.port()};
    // Another server.
    Answer lease = take(there_, R"({"owner":"there","ttl_ms":60000})");
    EXPECT_EQ(events.names(1), "granted");
    EXPECT_EQ(there_.connect().ask("PATCH", target, R"({"ttl_ms":90000})", token(lease)).status,
              200U);
    EXPECT_EQ(events.names(1), "extended");
    const std::string fence = std::to_string(lease.json().at("fence").as_int64());
    (void)there_.connect().ask("POST", std::string{target} + "/break",
                               R"({"by":"admin","reason":"r","fence":)" + fence + "}");
    const SentEvent broken = events.next();
    EXPECT_EQ(broken.name + broken.text("by") + broken.text("why"), "brokenadminr");

    // An application, and what expires there.
    LockManager application{open_store(url())};
    const auto mine = application.try_lock(order, {.owner = "application"});
    ASSERT_TRUE(mine);
    EXPECT_EQ(events.names(1), "granted");
    EXPECT_TRUE(application.release(order, mine->lock_id));
    EXPECT_EQ(events.names(1), "released");
    // Long enough to be seen alive, however busy the machine is.
    (void)application.try_lock(order, {.owner = "application", .ttl = 3s});
    EXPECT_EQ(events.names(2), "granted expired");
    const auto again = application.try_lock(order, {.owner = "application", .ttl = 10min});
    EXPECT_EQ(events.next().text("owner"), "application");

    // The command.
    const auto ended = leasehold({"release-all", "application", "--store", url()});
    EXPECT_EQ(ended.exit_code, 0) << ended.output;
    EXPECT_EQ(events.names(1), "released");
    const auto tried = leasehold({"try", "Order/1", "--owner", "command", "--store", url()});
    EXPECT_EQ(tried.exit_code, 0) << tried.output;
    EXPECT_EQ(events.next().text("owner"), "command");
    const auto broke = leasehold({"release-all", "command", "--store", url()});
    EXPECT_EQ(events.names(1), "released");

    // Every finding about this server, once.
    lease = take(here_, R"({"owner":"here"})");
    EXPECT_EQ(events.next().text("owner"), "here");
    release(here_, lease);
    EXPECT_EQ(events.names(1), "released");
    lease = take(here_, R"({"owner":"last"})");
    EXPECT_EQ(events.next().text("owner"), "last");
    EXPECT_EQ(events.bytes().find("lock_id"), std::string::npos);
    EXPECT_EQ(events.bytes().find(mine->lock_id.to_string()), std::string::npos);
}

TEST_P(Servers, EventsKeepTheOrderWhereTheServersTakeTurns) {
    EventClient events{here_.port()};
    constexpr int turns = 20;
    for (int i = 0; i < turns; ++i) {
        Serving& server = i % 2 == 0 ? here_ : there_;
        Serving& other = i % 3 == 0 ? here_ : there_;
        release(other, take(server, R"({"owner":"o)" + std::to_string(i) + "\"}"));
    }
    (void)take(here_, R"({"owner":"last"})");
    // Changes of the other between two polls may be missing, but nothing is reported twice or late.
    Fence last = 0;
    bool held = false;
    for (SentEvent event = events.next();; event = events.next()) {
        if (event.name == "granted") {
            EXPECT_FALSE(held);
            EXPECT_GT(event.fence(), last);
            last = event.fence();
            held = true;
            if (event.text("owner") == "last") break;
        } else {
            ASSERT_EQ(event.name, "released");
            EXPECT_TRUE(held);
            EXPECT_EQ(event.fence(), last);
            held = false;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(, Servers, ::testing::ValuesIn(faults::every_database()),
                         faults::by_store());

class KnockCommand : public ::testing::Test {
protected:
    Serving server_{"memory:"};
};

TEST_F(KnockCommand, AsksTheHolderThroughAServer) {
    const LockKey odd{"Order line", "1/2 ü"};
    const auto knock = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"knock", "--type", "Order line", "1/2 ü"});
        return leasehold(more, {"LEASEHOLD_STORE=" + server_.url()});
    };
    const auto nobody = knock({"--message", "Hello?"});
    EXPECT_EQ(nobody.exit_code, 1);
    EXPECT_NE(nobody.output.find("nobody holds this key"), std::string::npos) << nobody.output;

    LockManager locks{open_store(server_.url())};
    const auto held = locks.try_lock(odd, {.owner = "alice"});
    ASSERT_TRUE(held);
    EventClient events{server_.port()};
    const auto asked = knock({"--message", "May I?", "--owner", "bob"});
    EXPECT_EQ(asked.exit_code, 0) << asked.output;
    EXPECT_EQ(asked.output, "alice is asked for Order line/1/2 ü\n");
    const SentEvent knocked = events.next();
    EXPECT_EQ(knocked.name, "knocked");
    EXPECT_EQ(knocked.text("by") + ": " + knocked.text("message"), "bob: May I?");

    const auto again = knock({"--message", "Now?", "--owner", "bob", "--json"});
    EXPECT_EQ(again.exit_code, 1);
    EXPECT_NE(again.output.find(R"("code":"too_many_requests")"), std::string::npos)
        << again.output;
    const auto json = knock({"--message", "And I?", "--owner", "carol", "--json"});
    EXPECT_EQ(json.exit_code, 0);
    EXPECT_NE(json.output.find(R"({"holders":[{"type":"Order line")"), std::string::npos)
        << json.output;
    const auto silent = knock({});
    EXPECT_EQ(silent.exit_code, 2);
    EXPECT_NE(silent.output.find("--message"), std::string::npos) << silent.output;
}

TEST_F(KnockCommand, SaysSoWhereTheServerIsNotThere) {
    const std::string url = server_.url();
    EXPECT_EQ(server_.stop(), 0);
    const auto asked = leasehold({"knock", "Order/1", "--message", "m", "--store", url});
    EXPECT_EQ(asked.exit_code, 3) << asked.output;
}

}  // namespace
}  // namespace leasehold::command
