#include <algorithm>

#include "conformance/conformance.hpp"

// The requests of one batch are answered in order, as if each was sent after the answer to the one
// before.
namespace leasehold::conformance {
namespace {

class Batches : public ConformanceTest {
protected:
    std::vector<Outcome> apply(const std::vector<Request>& requests) {
        if (!store_) store_ = harness().open();
        std::vector<Outcome> outcomes(requests.size());
        store_->apply(requests, outcomes);
        return outcomes;
    }

    [[nodiscard]] TryLock asks(const std::string& owner, LockId id, Mode mode = Mode::exclusive,
                               Duration ttl = 5min) const {
        return {.key = key_, .lock_id = id, .owner = owner, .mode = mode, .ttl = ttl};
    }

    static ::testing::AssertionResult is_gone(const Outcome& outcome, Gone reason) {
        const auto* refusal = std::get_if<Refusal>(&outcome);
        if (refusal == nullptr) return ::testing::AssertionFailure() << "it is no refusal";
        return refusal_is_gone(*refusal, reason, "", "");
    }

    const LockKey key_{"Order", "1"};
    const LockId alice_ = LockId::random();
    const LockId bob_ = LockId::random();

private:
    std::unique_ptr<Store> store_;
};

TEST_P(Batches, TheSecondToAskForAKeyIsRefusedWithTheFirst) {
    const auto outcomes = apply({asks("alice", alice_), asks("bob", bob_)});
    EXPECT_TRUE(std::holds_alternative<Lease>(outcomes[0]));
    const auto* refusal = std::get_if<Refusal>(&outcomes[1]);
    ASSERT_NE(refusal, nullptr);
    EXPECT_TRUE(refusal_is_held(*refusal, {"alice"}));
}

TEST_P(Batches, ALockIdOfOneKeyPassesForNoOtherInTheSameBatch) {
    const LockKey before{"Order", "0"};
    (void)apply({asks("alice", alice_)});
    const auto outcomes = apply({Check{before, alice_}, Check{key_, alice_}});
    EXPECT_TRUE(is_gone(outcomes[0], Gone::unknown));
    EXPECT_TRUE(std::holds_alternative<Lease>(outcomes[1]));
    const auto prolonged =
        apply({Renew{.key = before, .lock_id = alice_, .ttl = 5min},
               Renew{.key = key_, .lock_id = alice_, .ttl = 5min}, Release{before, alice_}});
    EXPECT_TRUE(is_gone(prolonged[0], Gone::unknown));
    EXPECT_TRUE(std::holds_alternative<Lease>(prolonged[1]));
    EXPECT_TRUE(is_gone(prolonged[2], Gone::unknown));
}

TEST_P(Batches, AskingAgainThroughAnotherHandleIsJudgedByTheTimeItIsAsked) {
    const auto other = harness().open();
    std::vector<Outcome> outcomes(1);
    other->apply(std::vector<Request>{Check{key_, bob_}}, outcomes);
    (void)apply({asks("", alice_, Mode::exclusive, 1min)});
    let_pass(2min);
    other->apply(std::vector<Request>{asks("", alice_, Mode::exclusive, 1min)}, outcomes);
    EXPECT_TRUE(is_gone(outcomes[0], Gone::expired));
}

TEST_P(Batches, AKeyPassesFromHandToHand) {
    const auto outcomes = apply({asks("alice", alice_), Release{key_, alice_}, asks("bob", bob_),
                                 Check{key_, alice_}, Check{key_, bob_}});
    EXPECT_GT(std::get<Lease>(outcomes[2]).fence, std::get<Lease>(outcomes[0]).fence);
    EXPECT_TRUE(is_gone(outcomes[3], Gone::released));
    EXPECT_TRUE(std::holds_alternative<Lease>(outcomes[4]));
}

TEST_P(Batches, ALeaseThatEndedBeforeIsExplainedAfterItsKeyIsTakenAgain) {
    (void)apply({asks("alice", alice_)});
    (void)apply({Release{key_, alice_}});
    const auto outcomes = apply({asks("bob", bob_), Check{key_, alice_}, Check{key_, bob_}});
    EXPECT_TRUE(is_gone(outcomes[1], Gone::released));
    EXPECT_TRUE(std::holds_alternative<Lease>(outcomes[2]));
}

TEST_P(Batches, ManyLeasesEndInOneBatchEachInItsOwnWay) {
    constexpr int count = 40;
    std::vector<Request> tries, ends;
    for (int i = 0; i < count; ++i) {
        TryLock wanted = asks("alice", LockId::random());
        wanted.key = {"Order", std::to_string(i)};
        ends.emplace_back(Release{
            .key = wanted.key, .lock_id = wanted.lock_id, .by = "token-" + std::to_string(i % 20)});
        tries.emplace_back(std::move(wanted));
    }
    for (const Outcome& outcome : apply(tries)) EXPECT_TRUE(std::holds_alternative<Lease>(outcome));
    for (const Outcome& outcome : apply(ends)) EXPECT_TRUE(std::holds_alternative<Lease>(outcome));
    for (int i = 0; i < count; ++i) {
        const auto& release = std::get<Release>(ends[static_cast<std::size_t>(i)]);
        const auto refusal =
            std::get<Refusal>(apply({Check{*release.key, release.lock_id}}).front());
        EXPECT_EQ(refusal.reason, Gone::released);
        EXPECT_EQ(refusal.by, release.by);
    }
}

TEST_P(Batches, ALockIdReleasedInTheBatchStaysDead) {
    const auto outcomes =
        apply({asks("alice", alice_), Release{key_, alice_}, asks("bob", bob_), Release{key_, bob_},
               asks("alice", alice_), Check{std::nullopt, alice_}});
    EXPECT_TRUE(is_gone(outcomes[4], Gone::released));
    EXPECT_TRUE(is_gone(outcomes[5], Gone::released));
}

TEST_P(Batches, AReadersLockIdReleasedInTheBatchStaysDead) {
    (void)apply({asks("alice", alice_, Mode::shared), asks("bob", bob_, Mode::shared)});
    const auto outcomes = apply({Release{key_, alice_}, asks("alice", alice_, Mode::shared)});
    EXPECT_TRUE(is_gone(outcomes[1], Gone::released));
    EXPECT_EQ(owners_of(locks().holders(key_)), std::vector<std::string>{"bob"});
}

TEST_P(Batches, ALeaseThatEndedBeforeIsRememberedAfterTheBatchGrantedItsKey) {
    (void)apply({asks("alice", alice_)});
    (void)apply({Release{key_, alice_}});
    const auto outcomes =
        apply({asks("bob", bob_), Check{key_, alice_}, Release{key_, bob_}, asks("alice", alice_)});
    EXPECT_TRUE(is_gone(outcomes[1], Gone::released));
    EXPECT_TRUE(is_gone(outcomes[3], Gone::released));
}

TEST_P(Batches, ALockIdWithoutItsKeyIsFoundThoughTheBatchGrantedIt) {
    const auto outcomes = apply({asks("alice", alice_), Check{std::nullopt, alice_},
                                 Extend{std::nullopt, alice_, 1min, 1h, {}},
                                 Release{std::nullopt, alice_}, Check{std::nullopt, alice_}});
    for (const std::size_t i : {1U, 2U, 3U}) {
        EXPECT_TRUE(std::holds_alternative<Lease>(outcomes[i])) << i;
    }
    EXPECT_TRUE(is_gone(outcomes[4], Gone::released));
}

TEST_P(Batches, ReleasingAllEndsWhatTheBatchGrantedBefore) {
    const auto outcomes =
        apply({asks("alice/1", alice_), ReleaseAll{"alice", OwnerScope::below, {}},
               asks("bob", bob_), Holders{key_}});
    EXPECT_EQ(std::get<std::vector<Lease>>(outcomes[1]).size(), 1U);
    EXPECT_TRUE(std::holds_alternative<Lease>(outcomes[2]));
    EXPECT_EQ(owners_of(std::get<HolderPage>(outcomes[3])), std::vector<std::string>{"bob"});
}

TEST_P(Batches, AFenceThatGrewWithTheModeIsKeptWhenTheModeGoesBackInTheSameBatch) {
    const auto first = apply({asks("alice", alice_, Mode::shared, 1h)});
    const auto outcomes =
        apply({asks("alice", alice_, Mode::exclusive), asks("alice", alice_, Mode::shared)});
    const Fence grown = std::get<Lease>(outcomes[1]).fence;
    EXPECT_GT(grown, std::get<Lease>(first[0]).fence);
    EXPECT_EQ(must(locks().check(key_, alice_)).fence, grown);
    EXPECT_EQ(locks().list().front().fence, grown);
}

TEST_P(Batches, ListsAndHistoriesStandInTheirPlace) {
    const auto outcomes = apply({List{}, asks("alice", alice_), List{}, History{},
                                 Release{key_, alice_}, List{}, History{}});
    EXPECT_TRUE(std::get<HolderPage>(outcomes[0]).empty());
    EXPECT_EQ(std::get<HolderPage>(outcomes[2]).size(), 1U);
    EXPECT_TRUE(std::get<HistoryPage>(outcomes[3]).empty());
    EXPECT_TRUE(std::get<HolderPage>(outcomes[5]).empty());
    EXPECT_EQ(std::get<HistoryPage>(outcomes[6]).size(), 1U);
}

// The requests are not in the order of their keys; one has an unknown lock id, and one key is named
// twice.
TEST_P(Batches, ProlongsSomeKeysAndReleasesOthers) {
    std::vector<LockKey> keys;
    std::vector<Lease> leases;
    for (const char* id : {"0", "1", "2", "3", "4", "5"}) {
        keys.emplace_back("Order", id);
        leases.push_back(must(locks().try_lock(
            keys.back(), {.owner = std::string{"owner "} + id, .ttl = 10min, .note = id})));
    }
    const auto id = [&](std::size_t i) { return leases[i].lock_id; };
    const auto outcomes = apply({
        Release{keys[5], id(5)},
        Extend{keys[1], id(1), 5min, 1h, {}},
        Renew{keys[3], id(3), 1h, 30min},
        Release{keys[2], id(1)},
        Release{keys[0], id(0)},
        Extend{keys[4], id(4), 5min, 1h, {}},
        Release{keys[4], id(4)},
        TryLock{.key = keys[4], .lock_id = bob_, .owner = "bob", .ttl = 1min},
    });
    const auto expect_lease = [&](std::size_t at, std::size_t key, Duration longer) {
        SCOPED_TRACE(at);
        const auto* lease = std::get_if<Lease>(&outcomes[at]);
        ASSERT_NE(lease, nullptr);
        EXPECT_EQ(lease->key, keys[key]);
        EXPECT_EQ(lease->lock_id, id(key));
        EXPECT_EQ(lease->owner, leases[key].owner);
        EXPECT_EQ(lease->note, leases[key].note);
        EXPECT_EQ(lease->fence, leases[key].fence);
        EXPECT_EQ(lease->granted_at, leases[key].granted_at);
        EXPECT_EQ(lease->expires_at, leases[key].expires_at + longer);
    };
    expect_lease(0, 5, 0min);
    expect_lease(1, 1, 5min);
    expect_lease(2, 3, 20min);
    EXPECT_TRUE(is_gone(outcomes[3], Gone::unknown));
    expect_lease(4, 0, 0min);
    expect_lease(5, 4, 5min);
    expect_lease(6, 4, 5min);
    EXPECT_EQ(std::get<Lease>(outcomes[7]).owner, "bob");

    EXPECT_EQ(ids_of(locks().list()), (std::vector<std::string>{"1", "2", "3", "4"}));
    std::vector<std::string> ended;
    for (const PastLease& past : locks().history({})) {
        EXPECT_EQ(past.how, Gone::released);
        ended.emplace_back(past.lease.key.id());
    }
    std::ranges::sort(ended);
    EXPECT_EQ(ended, (std::vector<std::string>{"0", "4", "5"}));
}

TEST_P(Batches, AnExtensionNeedsNoBound) {
    const auto outcomes = apply(
        {asks("alice", alice_), Extend{.key = LockKey{"Order", "2"}, .lock_id = bob_, .by = 1min}});
    const Lease lease = std::get<Lease>(outcomes[0]);
    const auto extended = apply({Extend{.key = key_, .lock_id = alice_, .by = 1min}});
    EXPECT_EQ(std::get<Lease>(extended[0]).expires_at, lease.expires_at + 1min);
}

TEST_P(Batches, AnEmptyBatchIsNoWork) {
    EXPECT_TRUE(apply({}).empty());
}

LEASEHOLD_ON_EVERY_STORE(Batches);

}  // namespace
}  // namespace leasehold::conformance
