#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include <csignal>
#include <string>
#include <vector>

#include "command/host.hpp"
#include "command/serving.hpp"
#include "faults/databases.hpp"
#include "support/tcp_gate.hpp"

// Commands that wait for a lock of a server stand in its line.
namespace leasehold::command {
namespace {

using namespace std::chrono_literals;
using faults::eventually;

class WaitingInLine : public ::testing::Test {
protected:
    // Until the test releases it.
    testing::Answer hold() {
        auto answer = server_.connect().ask("POST", target, R"({"owner":"alice"})");
        EXPECT_EQ(answer.status, 201U) << answer.body;
        return answer;
    }
    void release(const testing::Answer& held) { release(server_, held); }
    static void release(const Serving& server, const testing::Answer& held) {
        const auto lease = held.json();
        const std::string id{std::string_view{lease.at("lock_id").as_string()}};
        const auto answer =
            server.connect().ask("DELETE", target, {}, "Lock-Token: " + id + "\r\n");
        EXPECT_EQ(answer.status, 200U) << answer.body;
    }

    Host try_waiting(const std::string& owner) {
        return Host{{"try", "--wait", "60s", "--ttl", "60s", "--owner", owner, "Order/1"},
                    server_.url()};
    }
    Host run_waiting(const std::vector<std::string>& command, const std::string& ttl = "60s") {
        return run_waiting(command, ttl, server_.url());
    }
    static Host run_waiting(const std::vector<std::string>& command, const std::string& ttl,
                            const std::string& url) {
        std::vector<std::string> arguments{"run",    "--wait", "60s", "--ttl", ttl,
                                           "--type", "Order",  "1",   "--"};
        arguments.insert(arguments.end(), command.begin(), command.end());
        return Host{arguments, url};
    }

    // Who holds it, or nobody.
    std::string holder() {
        const auto look = server_.connect().ask("GET", target).json();
        const auto& holders = look.at("holders").as_array();
        if (holders.empty()) return "";
        return std::string{std::string_view{holders.front().at("owner").as_string()}};
    }

    std::size_t waiting() {
        return server_.connect().ask("GET", target).json().at("waiting").as_array().size();
    }
    bool come_to_wait(std::size_t count) {
        return eventually([&] { return waiting() == count; });
    }
    static bool ends_with(const Host& host, int code) {
        return eventually([&] { return host.exit_code().has_value(); }) && host.exit_code() == code;
    }

    static constexpr std::string_view target = "/v1/locks/Order/1";
    Serving server_{"memory:", {"--longest-wait", "60s"}};
};

TEST_F(WaitingInLine, TheFirstToComeIsServedFirst) {
    const auto held = hold();
    const Host first = try_waiting("bob");
    ASSERT_TRUE(come_to_wait(1)) << first.output();
    const Host second = try_waiting("carol");
    ASSERT_TRUE(come_to_wait(2)) << second.output();
    release(held);
    EXPECT_TRUE(ends_with(first, 0)) << first.output();
    EXPECT_EQ(waiting(), 1U);
    EXPECT_FALSE(second.exit_code().has_value()) << second.output();
}

TEST_F(WaitingInLine, AWaiterThatCannotReachTheServerGoesOnAsking) {
    constexpr std::uint16_t nobodys_port = 1;
    for (const std::vector<std::string>& keys :
         {std::vector<std::string>{"Order/1"}, {"Order/2", "Order/3"}}) {
        testing::TcpGate gate{"127.0.0.1", nobodys_port};
        std::vector<std::string> arguments{"try", "--wait", "60s"};
        arguments.insert(arguments.end(), keys.begin(), keys.end());
        const Host asking{arguments, "http://127.0.0.1:" + std::to_string(gate.port())};
        ASSERT_TRUE(eventually([&] { return gate.connections() >= 2; })) << asking.output();
        gate.redirect(server_.port());
        EXPECT_TRUE(ends_with(asking, 0)) << asking.output();
    }
}

TEST_F(WaitingInLine, TheTimeOfALeaseBeginsWithItsGrantHoweverLongItWasWaitedFor) {
    const auto held = hold();
    const Host job = run_waiting({"sh", "-c", "echo ran; sleep 1"}, "5s");
    ASSERT_TRUE(come_to_wait(1)) << job.output();
    // Longer than the lease that is waited for will live.
    const auto until = std::chrono::steady_clock::now() + 5500ms;
    while (std::chrono::steady_clock::now() < until) ASSERT_EQ(waiting(), 1U) << job.output();
    release(held);
    EXPECT_TRUE(ends_with(job, 0)) << job.output();
    EXPECT_NE(job.output().find("ran"), std::string::npos) << job.output();
}

TEST_F(WaitingInLine, AServerThatLetsNobodyWaitThatLongIsAskedAgain) {
    Serving brief{"memory:", {"--longest-wait", "200ms"}};
    auto held = brief.connect().ask("POST", target, R"({"owner":"alice","ttl_ms":1000})");
    ASSERT_EQ(held.status, 201U);
    const auto tried =
        leasehold({"try", "--wait", "60s", "Order/1"}, {"LEASEHOLD_STORE=" + brief.url()});
    EXPECT_EQ(tried.exit_code, 0) << tried.output;
}

TEST_F(WaitingInLine, IsRefusedAsHeldWhenItsTimeIsOver) {
    const auto held = hold();
    const auto tried =
        leasehold({"try", "--wait", "100ms", "Order/1"}, {"LEASEHOLD_STORE=" + server_.url()});
    EXPECT_EQ(tried.exit_code, 1) << tried.output;
    EXPECT_NE(tried.output.find("alice"), std::string::npos) << tried.output;
}

TEST_F(WaitingInLine, AHolderGetsItsLeaseBack) {
    const auto held = hold().json();
    const auto tried = leasehold({"try", "--wait", "60s", "--owner", "alice", "--json", "Order/1"},
                                 {"LEASEHOLD_STORE=" + server_.url()});
    ASSERT_EQ(tried.exit_code, 0) << tried.output;
    EXPECT_EQ(boost::json::parse(tried.output).at("lease").at("lock_id"), held.at("lock_id"));
}

TEST_F(WaitingInLine, ATerminatedWaiterLeavesTheLineAtOnce) {
    const auto held = hold();
    const Host job = run_waiting({"true"});
    ASSERT_TRUE(come_to_wait(1)) << job.output();
    job.signal(SIGTERM);
    EXPECT_TRUE(ends_with(job, 128 + SIGTERM)) << job.output();
    EXPECT_TRUE(come_to_wait(0));
    release(held);
    EXPECT_EQ(server_.connect().ask("POST", target, R"({"owner":"bob"})").status, 201U);
}

TEST_F(WaitingInLine, AGrantToATerminatedWaiterIsReleased) {
    const auto held = hold();
    testing::TcpGate gate{"127.0.0.1", server_.port()};
    const Host job =
        run_waiting({"true"}, "60s", "http://127.0.0.1:" + std::to_string(gate.port()));
    ASSERT_TRUE(come_to_wait(1)) << job.output();
    gate.hold_answers();
    release(held);
    ASSERT_TRUE(eventually([&] { return holder().contains("/run-"); })) << holder();
    job.signal(SIGTERM);
    EXPECT_TRUE(ends_with(job, 128 + SIGTERM)) << job.output();
    EXPECT_TRUE(eventually([&] { return holder().empty(); })) << holder();
}

TEST_F(WaitingInLine, AWaiterThatWasPausedAtItsTurnWaitsInLineAgain) {
    const auto held = hold();
    const Host waiter{{"try", "--wait", "60s", "--ttl", "500ms", "--owner", "bob", "Order/1"},
                      server_.url()};
    ASSERT_TRUE(come_to_wait(1)) << waiter.output();
    waiter.signal(SIGSTOP);
    release(held);
    ASSERT_TRUE(come_to_wait(0));
    ASSERT_TRUE(eventually([&] { return holder().empty(); })) << holder();
    const auto held_again = hold();
    waiter.signal(SIGCONT);
    ASSERT_TRUE(come_to_wait(1)) << waiter.output();
    release(held_again);
    EXPECT_TRUE(ends_with(waiter, 0)) << waiter.output();
}

TEST_F(WaitingInLine, AServerThatEndsDuringTheWaitIsAskedAgainWhenItIsBack) {
    testing::TemporaryFolder folder;
    const std::string store = "sqlite:" + (folder.path() / "locks.db").string();
    auto server = std::make_unique<Serving>(store);
    const std::string port = std::to_string(server->port());
    const auto held = server->connect().ask("POST", target, R"({"owner":"alice"})");
    ASSERT_EQ(held.status, 201U);
    const Host waiter{{"try", "--wait", "60s", "Order/1"}, server->url()};
    const auto has_a_waiter = [](const Serving& serving) {
        return serving.connect().ask("GET", target).json().at("waiting").as_array().size() == 1;
    };
    ASSERT_TRUE(eventually([&] { return has_a_waiter(*server); })) << waiter.output();
    server->kill();
    server.reset();
    const Serving again{store, {"--port", port}};
    ASSERT_TRUE(eventually([&] { return has_a_waiter(again); })) << waiter.output();
    release(again, held);
    EXPECT_TRUE(ends_with(waiter, 0)) << waiter.output();
}

}  // namespace
}  // namespace leasehold::command
