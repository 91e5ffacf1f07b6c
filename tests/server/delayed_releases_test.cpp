#include <functional>
#include <string>

#include "core/fresh_lock_id.hpp"
#include "server/server_fixture.hpp"
#include "server/store_fixture.hpp"
#include "unit/faulty_store.hpp"
#include "unit/gated_store.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

class DelayedReleases : public ::testing::Test {
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

TEST_F(DelayedReleases, EndsTheLeaseThenAndLetsTheNextIn) {
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

TEST_F(DelayedReleases, LeavesALeaseWhoseHolderCameBackForAShorterTime) {
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

TEST_F(DelayedReleases, IsCalledOffByAHolderThatTakesSeveralKeysAtOnce) {
    RunningServer server{memory::open(), {.delayed_releases = 1}};
    const Lease reloaded = must(server.locks().try_lock(page_, {.owner = "alice", .ttl = 5min}));
    const Lease closed = must(server.locks().try_lock({"Page", "2"}, {.ttl = 5min}));
    Client client = server.connect();
    EXPECT_EQ(client.ask("DELETE", "/v1/locks/Page/1?after_ms=60000", {}, token(reloaded)).status,
              202U);
    EXPECT_EQ(client
                  .ask("POST", "/v1/batch",
                       R"({"requests":[{"op":"try_all","owner":"alice","keys":[)"
                       R"({"type":"Page","id":"1"},{"type":"Page","id":"3"}]}]})")
                  .status,
              200U);
    // There is room for one delayed release only: this one is kept if the other was called off.
    EXPECT_EQ(client.ask("DELETE", "/v1/locks/Page/2?after_ms=1", {}, token(closed)).status, 202U);
    EXPECT_TRUE(
        eventually([&] { return !server.locks().check(closed.key, closed.lock_id).has_value(); }));
    EXPECT_TRUE(server.locks().check(page_, reloaded.lock_id).has_value());
}

TEST_F(DelayedReleases, ThatIsCalledOffMakesRoomForAnother) {
    RunningServer server{memory::open(), {.delayed_releases = 1}};
    const Lease reloaded = must(server.locks().try_lock(page_, {.ttl = 5min}));
    const Lease closed = must(server.locks().try_lock({"Page", "2"}, {.ttl = 5min}));
    Client client = server.connect();
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(
            client.ask("DELETE", "/v1/locks/Page/1?after_ms=60000", {}, token(reloaded)).status,
            202U);
        EXPECT_EQ(
            client.ask("PATCH", "/v1/locks/Page/1", R"({"ttl_ms":60000})", token(reloaded)).status,
            200U);
    }
    EXPECT_EQ(client.ask("DELETE", "/v1/locks/Page/2?after_ms=1", {}, token(closed)).status, 202U);
    EXPECT_TRUE(eventually([&] { return !server.locks().check(closed.lock_id); }));
    EXPECT_TRUE(server.locks().check(reloaded.lock_id).has_value());
}

// A tab that is closed twice, while the store does not answer one of the times. There is room for
// one delayed release, so another lease tells whether one is kept.
class DelayedReleasesAskedForTwice : public OnAnyStore {
protected:
    [[nodiscard]] unsigned part(const Lease& lease) {
        return server_.connect()
            .ask("DELETE", "/v1/locks/Page/" + std::string{lease.key.id()} + "?after_ms=60000", {},
                 "Lock-Token: " + lease.lock_id.to_string() + "\r\n")
            .status;
    }
    [[nodiscard]] Lease take(const std::string& id) {
        return server_.locks().try_lock({"Page", id}, {.ttl = 5min}).value();
    }

    FaultyStore* const faults_ = new FaultyStore{store()};
    RunningServer server_{std::unique_ptr<Store>{faults_}, {.delayed_releases = 1}};
    const Lease lease_ = take("1");
    const Lease other_ = take("2");
};
LEASEHOLD_ON_ANY_STORE(DelayedReleasesAskedForTwice);

TEST_P(DelayedReleasesAskedForTwice, KeepsTheFirstIfTheStoreDoesNotAnswerTheSecond) {
    EXPECT_EQ(part(lease_), 202U);
    faults_->fail(0, Fails::before_effect);
    EXPECT_EQ(part(lease_), 503U);
    EXPECT_EQ(faults_->hits(), 1U);
    faults_->heal();
    EXPECT_EQ(part(other_), 200U);
}

TEST_P(DelayedReleasesAskedForTwice, KeepsTheSecondIfTheStoreDidNotAnswerTheFirst) {
    faults_->fail(0, Fails::before_effect);
    EXPECT_EQ(part(lease_), 503U);
    faults_->heal();
    EXPECT_EQ(part(lease_), 202U);
    EXPECT_EQ(part(other_), 200U);
}

TEST_P(DelayedReleasesAskedForTwice, KeepsNothingIfTheStoreAnswersNeither) {
    faults_->fail(0, Fails::before_effect, 2);
    EXPECT_EQ(part(lease_), 503U);
    EXPECT_EQ(part(lease_), 503U);
    faults_->heal();
    EXPECT_EQ(part(other_), 202U);
}

// The store does not answer at the moment at which the release is due.
class DelayedReleasesOfAStoreThatFails : public OnAnyStore {
protected:
    [[nodiscard]] unsigned ask(std::string_view method, const Lease& lease, std::string_view query,
                               std::string_view body = {}) {
        return server_.connect()
            .ask(method, "/v1/locks/Page/" + std::string{lease.key.id()} + std::string{query}, body,
                 "Lock-Token: " + lease.lock_id.to_string() + "\r\n")
            .status;
    }
    [[nodiscard]] Lease take(const std::string& id) {
        return server_.locks().try_lock({"Page", id}, {.ttl = 5min}).value();
    }
    [[nodiscard]] bool is_alive(const Lease& lease) {
        return server_.locks().check(lease.key, lease.lock_id).has_value();
    }

    FaultyStore* const faults_ = new FaultyStore{store()};
    RunningServer server_{std::unique_ptr<Store>{faults_}};
    const Lease lease_ = take("1");
};
LEASEHOLD_ON_ANY_STORE(DelayedReleasesOfAStoreThatFails);

TEST_P(DelayedReleasesOfAStoreThatFails, HappenWhenItAnswersAgain) {
    for (const Fails how : {Fails::before_effect, Fails::before_effect_unknown}) {
        const Lease lease = take(how == Fails::before_effect ? "2" : "3");
        faults_->fail(1, how);  // the first call checks the lease
        EXPECT_EQ(ask("DELETE", lease, "?after_ms=1"), 202U);
        ASSERT_TRUE(eventually([&] { return faults_->hits() == 1; }));
        EXPECT_TRUE(eventually([&] { return !is_alive(lease); }));
    }
    EXPECT_TRUE(is_alive(lease_));
}

TEST_P(DelayedReleasesOfAStoreThatFails, AreCalledOffByAHolderThatComesBack) {
    faults_->fail(1, Fails::before_effect);
    EXPECT_EQ(ask("DELETE", lease_, "?after_ms=1"), 202U);
    ASSERT_TRUE(eventually([&] { return faults_->hits() == 1; }));
    // It does not move the expiry.
    EXPECT_EQ(ask("PATCH", lease_, "", R"({"ttl_ms":60000})"), 200U);
    // By the end of this one the first one would have been repeated.
    const Lease other = take("2");
    EXPECT_EQ(ask("DELETE", other, "?after_ms=4000"), 202U);
    EXPECT_TRUE(eventually([&] { return !is_alive(other); }));
    EXPECT_TRUE(is_alive(lease_));
}

// Does something to the store just before the first lease is released.
class DuringTheCall final : public Store {
public:
    using Deed = std::function<void(Store&)>;
    explicit DuringTheCall(Deed deed) : deed_{std::move(deed)} {}

    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override {
        const bool releases = std::holds_alternative<Release>(requests.front());
        if (releases && deed_) std::exchange(deed_, {})(*inner_);
        inner_->apply(requests, outcomes);
        if (releases) released_ = true;
    }
    [[nodiscard]] std::size_t concurrency() const noexcept override { return 1; }
    [[nodiscard]] StoreStatus status() override { return inner_->status(); }

    [[nodiscard]] bool released() const { return released_; }

private:
    const std::unique_ptr<Store> inner_ = memory::open();
    Deed deed_;
    std::atomic<bool> released_{false};
};

TEST(DelayedReleasesElsewhere, LeavesALeaseThatIsProlongedInTheSameMoment) {
    const LockKey page{"Page", "1"};
    const LockId id = LockId::random();
    const Request renewed = Renew{page, id, 2min};
    const Request reloaded =
        TryLock{.key = page, .lock_id = FreshLockId::draw(), .owner = "alice", .ttl = 2min};
    for (const Request& comes_back : {renewed, reloaded}) {
        auto store = std::make_unique<DuringTheCall>([&](Store& elsewhere) {
            Outcome outcome;
            elsewhere.apply({&comes_back, 1}, {&outcome, 1});
            EXPECT_TRUE(std::holds_alternative<Lease>(outcome));
        });
        const DuringTheCall& seen = *store;
        RunningServer server{std::move(store)};
        (void)server.locks().try_lock(page, {.owner = "alice", .ttl = 1min, .lock_id = id});
        EXPECT_EQ(server.connect()
                      .ask("DELETE", "/v1/locks/Page/1?after_ms=1", {},
                           "Lock-Token: " + id.to_string() + "\r\n")
                      .status,
                  202U);
        EXPECT_TRUE(eventually([&] { return seen.released(); }));
        EXPECT_TRUE(server.locks().check(page, id).has_value());
    }
}

// Its expiry does not tell that it was prolonged.
TEST(DelayedReleasesOfALeaseWithoutEnd, IsCalledOffByWhoComesBackWhileItIsLookedAt) {
    auto store = std::make_unique<GatedStore>(memory::open());
    GatedStore& gate = *store;
    RunningServer server{std::move(store), {}, {.allow_endless = true}};
    const LockKey page{"Page", "1"};
    const LockId id = LockId::random();
    ASSERT_TRUE(server.locks().try_lock(page, {.ttl = until_released, .lock_id = id}));
    const std::string token = "Lock-Token: " + id.to_string() + "\r\n";
    gate.close();
    Client closed = server.connect();
    closed.send(message("DELETE", "/v1/locks/Page/1?after_ms=1", {}, token));
    ASSERT_TRUE(gate.wait_until_held());
    Client reloaded = server.connect();
    reloaded.send(message("PATCH", "/v1/locks/Page/1", R"({"ttl_ms":null})", token));
    // Served after it, by the same thread.
    ASSERT_EQ(server.connect().ask("GET", "/healthz").status, 200U);
    gate.open();
    EXPECT_EQ(closed.receive().status, 202U);
    EXPECT_EQ(reloaded.receive().status, 200U);
    // One that parts later, and is ended, has let the first one's time pass.
    const auto other = server.locks().try_lock({"Page", "2"});
    EXPECT_EQ(server.connect()
                  .ask("DELETE", "/v1/locks/Page/2?after_ms=1", {},
                       "Lock-Token: " + other->lock_id.to_string() + "\r\n")
                  .status,
              202U);
    EXPECT_TRUE(eventually([&] { return !server.locks().check(other->lock_id); }));
    EXPECT_TRUE(server.locks().check(page, id).has_value());
}

TEST_F(DelayedReleases, OfAnEndedLeaseSaysHowItEnded) {
    const Lease lease = must(server_.locks().try_lock(page_));
    (void)server_.locks().release(lease.lock_id);
    const Answer answer = part(lease, "?after_ms=1000");
    EXPECT_EQ(answer.status, 200U);
    EXPECT_EQ(answer.json().at("refused").at("reason").as_string(), "released");
}

TEST_F(DelayedReleases, HasBounds) {
    const Lease lease = must(server_.locks().try_lock(page_));
    for (const char* wrong : {"?after_ms=-1", "?after_ms=60001", "?after_ms=x", "?before_ms=1"}) {
        EXPECT_EQ(part(lease, wrong).status, 400U) << wrong;
    }
    EXPECT_TRUE(alive(lease));
}

TEST_F(DelayedReleases, IsForgottenWhenTheServerStops) {
    const Lease lease = must(server_.locks().try_lock(page_));
    EXPECT_EQ(part(lease, "?after_ms=60000").status, 202U);
    server_.stop();
    EXPECT_TRUE(alive(lease));
}

}  // namespace
}  // namespace leasehold::testing
