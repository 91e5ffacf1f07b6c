#include <string>

#include "server/server_fixture.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

class Parting : public ::testing::Test {
protected:
    static Lease must(const Result<Lease>& result) { return result.value(); }
    static std::string token(const Lease& lease) {
        return "Lock-Token: " + lease.lock_id.to_string() + "\r\n";
    }
    Answer part(const Lease& lease, std::string_view after) {
        return server_.connect().ask(
            "DELETE", "/v1/locks/Page/" + std::string{lease.key.id()} + std::string{after}, {},
            token(lease));
    }
    [[nodiscard]] bool alive(const Lease& lease) {
        return server_.locks().check(lease.key, lease.lock_id).has_value();
    }

    RunningServer server_{memory::open(), {.wait_poll = 1h}};
    const LockKey page_{"Page", "1"};
};

TEST_F(Parting, EndsTheLeaseThenAndLetsTheNextIn) {
    const Lease lease = must(server_.locks().try_lock(page_, {.owner = "alice"}));
    Client bob = server_.connect();
    bob.send(message("POST", "/v1/locks/Page/1", R"({"owner":"bob","wait_ms":60000})"));
    ASSERT_TRUE(server_.waits_for(1));
    const Answer answer = part(lease, "?after_ms=20");
    EXPECT_EQ(answer.status, 202U);
    EXPECT_EQ(answer.json().at("lease").at("owner").as_string(), "alice");
    EXPECT_EQ(bob.receive().status, 201U);
    const auto gone = server_.locks().check(page_, lease.lock_id);
    ASSERT_FALSE(gone.has_value());
    EXPECT_EQ(gone.error().reason, Gone::released);
}

TEST_F(Parting, LeavesALeaseThatWasProlonged) {
    const Lease reloaded = must(server_.locks().try_lock(page_, {.owner = "alice", .ttl = 1min}));
    const Lease renewed = must(server_.locks().try_lock({"Page", "2"}, {.ttl = 1min}));
    const Lease closed = must(server_.locks().try_lock({"Page", "3"}, {.ttl = 1min}));
    EXPECT_EQ(part(reloaded, "?after_ms=200").status, 202U);
    EXPECT_EQ(part(renewed, "?after_ms=200").status, 202U);
    (void)must(server_.locks().try_lock(page_, {.owner = "alice", .ttl = 2min}));
    (void)must(server_.locks().renew(renewed.key, renewed.lock_id, 2min));
    EXPECT_EQ(part(closed, "?after_ms=201").status, 202U);
    EXPECT_TRUE(eventually([&] { return !alive(closed); }));
    EXPECT_TRUE(alive(reloaded));
    EXPECT_TRUE(alive(renewed));
}

TEST_F(Parting, LeavesALeaseWhoseHolderCameBackForAShorterTime) {
    const Lease reloaded = must(server_.locks().try_lock(page_, {.owner = "alice", .ttl = 5min}));
    const Lease renewed = must(server_.locks().try_lock({"Page", "2"}, {.ttl = 5min}));
    EXPECT_EQ(part(reloaded, "?after_ms=60000").status, 202U);
    EXPECT_EQ(part(renewed, "?after_ms=60000").status, 202U);
    Client client = server_.connect();
    EXPECT_EQ(client.ask("POST", "/v1/locks/Page/1", R"({"owner":"alice","ttl_ms":60000})").status,
              201U);
    EXPECT_EQ(client.ask("PATCH", "/v1/locks/Page/2", R"({"ttl_ms":60000})", token(renewed)).status,
              200U);
    // A second parting of what stays would have ended it by now, had the first one been left.
    const Lease closed = must(server_.locks().try_lock({"Page", "3"}, {.ttl = 1min}));
    EXPECT_EQ(part(closed, "?after_ms=60000").status, 202U);
    EXPECT_EQ(part(closed, "?after_ms=1").status, 202U);
    EXPECT_TRUE(eventually([&] { return !alive(closed); }));
    EXPECT_TRUE(alive(reloaded));
    EXPECT_TRUE(alive(renewed));
}

TEST_F(Parting, OfWhatIsGoneSaysSo) {
    const Lease lease = must(server_.locks().try_lock(page_));
    (void)server_.locks().release(lease.lock_id);
    const Answer answer = part(lease, "?after_ms=1000");
    EXPECT_EQ(answer.status, 200U);
    EXPECT_EQ(answer.json().at("refused").at("reason").as_string(), "released");
}

TEST_F(Parting, HasBounds) {
    const Lease lease = must(server_.locks().try_lock(page_));
    for (const char* wrong : {"?after_ms=-1", "?after_ms=60001", "?after_ms=x", "?before_ms=1"}) {
        EXPECT_EQ(part(lease, wrong).status, 400U) << wrong;
    }
    EXPECT_TRUE(alive(lease));
}

TEST_F(Parting, IsForgottenWhenTheServerStops) {
    const Lease lease = must(server_.locks().try_lock(page_));
    EXPECT_EQ(part(lease, "?after_ms=60000").status, 202U);
    server_.stop();
    EXPECT_TRUE(alive(lease));
}

}  // namespace
}  // namespace leasehold::testing
