#include <gtest/gtest.h>

#include <leasehold/session.hpp>

#include <functional>
#include <utility>

#include "unit/faulty_store.hpp"
#include "unit/manual_clock.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

// Lets something else happen after a request was sent and before it is carried out.
class DuringTheCallStore final : public Store {
public:
    explicit DuringTheCallStore(std::unique_ptr<Store> inner) : inner_{std::move(inner)} {}

    std::function<void()> before_the_next_call{};

    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override {
        if (const auto act = std::exchange(before_the_next_call, {})) act();
        inner_->apply(requests, outcomes);
    }
    [[nodiscard]] std::size_t concurrency() const noexcept override {
        return inner_->concurrency();
    }
    [[nodiscard]] StoreStatus status() override { return inner_->status(); }

private:
    const std::unique_ptr<Store> inner_;
};

class SessionTest : public ::testing::Test {
protected:
    [[nodiscard]] bool held(const char* id) { return !locks.holders({"Order", id}).empty(); }

    ManualClock clock;
    FaultyStore* store = new FaultyStore{memory_store_on(clock)};
    LockManager locks{std::unique_ptr<Store>{store}};
};

TEST_F(SessionTest, LocksInItsOwnName) {
    Session session{locks, "alice/session-7"};
    EXPECT_EQ(session.owner(), "alice/session-7");
    EXPECT_EQ(session.try_lock({"Order", "1"})->owner, "alice/session-7");
    EXPECT_EQ(session.try_lock({"Order", "2"}, {.owner = "tab-2"})->owner, "alice/session-7/tab-2");
}

TEST_F(SessionTest, PassesTheOtherOptionsOn) {
    Session session{locks, "alice"};
    const LockId mine = LockId::random();
    const auto lease = session.try_lock(
        {"Order", "1"}, {.mode = Mode::shared, .ttl = 7min, .note = "reading", .lock_id = mine});
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->mode, Mode::shared);
    EXPECT_EQ(lease->remaining(), 7min);
    EXPECT_EQ(lease->note, "reading");
    EXPECT_EQ(lease->lock_id, mine);
}

TEST_F(SessionTest, IsReentrantPerOwner) {
    Session session{locks, "alice"};
    const auto first = session.try_lock({"Order", "1"});
    const auto again = session.try_lock({"Order", "1"});
    ASSERT_TRUE(again);
    EXPECT_EQ(again->lock_id, first->lock_id);
    const auto tab = session.try_lock({"Order", "1"}, {.owner = "tab-2"});
    ASSERT_FALSE(tab);
    EXPECT_EQ(tab.error().holders.at(0).owner, "alice");
}

TEST_F(SessionTest, ItsEndReleasesAllItHoldsAndBelowAndNamesIt) {
    Session session{locks, "alice"};
    const auto first = session.try_lock({"Order", "1"});
    const auto second = session.try_lock({"Order", "2"}, {.owner = "tab-2"});
    const auto stranger = locks.try_lock({"Order", "3"}, {.owner = "alice2"});
    ASSERT_TRUE(first && second && stranger);

    const auto ended = session.end();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->size(), 2U);
    EXPECT_FALSE(held("1"));
    EXPECT_FALSE(held("2"));
    EXPECT_TRUE(held("3"));
    EXPECT_EQ(locks.check({"Order", "1"}, first->lock_id).error().reason, Gone::released);
}

TEST_F(SessionTest, EndingTwiceIsHarmless) {
    Session session{locks, "alice"};
    ASSERT_TRUE(session.try_lock({"Order", "1"}));
    EXPECT_EQ(session.end()->size(), 1U);
    EXPECT_TRUE(session.end()->empty());
}

TEST_F(SessionTest, TakesNoLockAfterItsEnd) {
    Session session{locks, "alice"};
    ASSERT_TRUE(session.end());
    const auto late = session.try_lock({"Order", "1"});
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().kind, Refusal::Kind::gone);
    EXPECT_EQ(late.error().message(), "the lease has been released: the session has ended");
    EXPECT_FALSE(held("1"));
}

TEST_F(SessionTest, KeepsNoLockThatIsGrantedWhileItEnds) {
    auto* const store = new DuringTheCallStore{memory_store_on(clock)};
    LockManager slow{std::unique_ptr<Store>{store}};
    Session session{slow, "alice"};
    store->before_the_next_call = [&] { EXPECT_TRUE(session.end()->empty()); };
    const auto late = session.try_lock({"Order", "1"});
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().reason, Gone::released);
    EXPECT_TRUE(slow.holders({"Order", "1"}).empty());
}

TEST_F(SessionTest, ThatIsKeptLeavesItsLeasesToTheirExpiry) {
    {
        Session session{locks, "alice"};
        ASSERT_TRUE(session.try_lock({"Order", "1"}));
        session.keep();
    }
    EXPECT_TRUE(held("1"));
}

TEST_F(SessionTest, BeingDestroyedEndsIt) {
    {
        Session session{locks, "alice"};
        ASSERT_TRUE(session.try_lock({"Order", "1"}));
        EXPECT_TRUE(held("1"));
    }
    EXPECT_FALSE(held("1"));
}

TEST_F(SessionTest, AFaultAtItsEndLeavesTheLeasesToTheirExpiry) {
    {
        Session session{locks, "alice"};
        ASSERT_TRUE(session.try_lock({"Order", "1"}));
        store->fail(0, Fails::before_effect);
    }
    EXPECT_EQ(store->hits(), 1U);
    EXPECT_TRUE(held("1"));
    clock.advance(1h);
    EXPECT_FALSE(held("1"));
}

TEST_F(SessionTest, NeedsAnOwner) {
    EXPECT_THROW((Session{locks, ""}), BadRequest);
}

TEST_F(SessionTest, RefusesAnOwnerNoLeaseCouldHave) {
    EXPECT_THROW((Session{locks, std::string(Limits::owner_bytes + 1, 'x')}), BadRequest);
    EXPECT_THROW((Session{locks, "not \xFF text"}), BadRequest);
    EXPECT_THROW((Session{locks, "two\nlines"}), BadRequest);
}

TEST_F(SessionTest, RefusesAnOwnerThatBecomesTooLongBelowIt) {
    Session session{locks, std::string(Limits::owner_bytes - 1, 'x')};
    EXPECT_TRUE(session.try_lock({"Order", "1"}));
    EXPECT_THROW((void)session.try_lock({"Order", "2"}, {.owner = "tab"}), BadRequest);
}

}  // namespace
}  // namespace leasehold::testing
