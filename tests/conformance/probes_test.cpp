#include <time.h>

#include <array>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>

#include "conformance/situation.hpp"

// Situations in which the pattern's published code failed, or failed in one database only.
namespace leasehold::conformance {
namespace {

// Sets another time zone while this object lives, for the process and for PostgreSQL's client.
class InTimeZone {
public:
    explicit InTimeZone(const char* zone) {
        for (const char* name : names) {
            const char* before = std::getenv(name);
            before_.emplace_back(before != nullptr ? std::optional<std::string>{before}
                                                   : std::nullopt);
            setenv(name, zone, 1);
        }
        tzset();
    }
    InTimeZone(const InTimeZone&) = delete;
    InTimeZone& operator=(const InTimeZone&) = delete;
    ~InTimeZone() {
        std::size_t i = 0;
        for (const char* name : names) {
            const auto& before = before_[i++];
            if (before)
                setenv(name, before->c_str(), 1);
            else
                unsetenv(name);
        }
        tzset();
    }

private:
    static constexpr std::array names{"TZ", "PGTZ"};
    std::vector<std::optional<std::string>> before_;
};

class Situations : public InSituation<StoreHarness> {};

TEST_P(Situations, FreeKeyRace) {
    for (int round = 0; round < 10; ++round) {
        expect_one_winner([&](int, LockManager& locks) {
            return locks.try_lock({"Order", std::to_string(round)});
        });
    }
}

TEST_P(Situations, ExpiredTakeOverRace) {
    (void)must(locks().try_lock(key_, {.ttl = 5min}));
    for (int round = 0; round < 10; ++round) {
        let_pass(6min);
        expect_one_winner(
            [&](int, LockManager& locks) { return locks.try_lock(key_, {.ttl = 5min}); });
    }
}

TEST_P(Situations, OneSeesAnExpiredLockAndPausesWhileAnotherTakesIt) {
    (void)must(locks().try_lock(key_, {.owner = "old", .ttl = 1min}));
    let_pass(2min);
    ASSERT_TRUE(locks().holders(key_).empty());
    const Lease b = must(manager()->try_lock(key_, {.owner = "B"}));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "A"}), {"B"}));
    EXPECT_TRUE(granted(locks().check(b.lock_id)));
}

TEST_P(Situations, AStaleCheckDoesNotRemoveTheSuccessor) {
    const Lease a = must(locks().try_lock(key_, {.owner = "A", .ttl = 1min}));
    let_pass(2min);
    const Lease b = must(locks().try_lock(key_, {.owner = "B"}));
    EXPECT_TRUE(gone(locks().check(key_, a.lock_id), Gone::taken, "B"));
    EXPECT_TRUE(granted(locks().check(key_, b.lock_id)));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "C"}), {"B"}));
}

TEST_P(Situations, AStaleExtensionDoesNotTouchTheSuccessor) {
    const Lease a = must(locks().try_lock(key_, {.owner = "A", .ttl = 1min}));
    let_pass(2min);
    const Lease b = must(locks().try_lock(key_, {.owner = "B"}));
    EXPECT_TRUE(gone(locks().extend(a.lock_id, 1s), Gone::taken, "B"));
    EXPECT_EQ(must(locks().check(b.lock_id)).expires_at, b.expires_at);
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "C"}), {"B"}));
}

TEST_P(Situations, OverlappingExtensionsBothCount) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "A"}));
    eight([&](int, LockManager& locks) { (void)must(locks.extend(lease.lock_id, 1min)); });
    EXPECT_EQ(must(locks().check(lease.lock_id)).expires_at, lease.expires_at + 8min);
}

TEST_P(Situations, CheckingAnExpiredLockChangesNothingAndItCanBeTaken) {
    const Lease lease = must(locks().try_lock(key_, {.ttl = 1min}));
    let_pass(2min);
    const std::string before = harness().dump();
    EXPECT_TRUE(gone(locks().check(key_, lease.lock_id), Gone::expired));
    EXPECT_EQ(harness().dump(), before);
    EXPECT_TRUE(granted(locks().try_lock(key_)));
}

TEST_P(Situations, AStalledHolderIsFencedOffAndItsReleaseSaysSo) {
    const Lease a = must(locks().try_lock(key_, {.owner = "A", .ttl = 1min}));
    let_pass(2min);
    const Lease b = must(locks().try_lock(key_, {.owner = "B"}));
    EXPECT_GT(b.fence, a.fence);
    EXPECT_TRUE(gone(locks().release(a.lock_id), Gone::taken, "B"));
    EXPECT_TRUE(granted(locks().check(b.lock_id)));
}

TEST_P(Situations, KeysThatACollationWouldTakeForOne) {
    (void)must(locks().try_lock({"Order", "abc"}));
    EXPECT_TRUE(granted(locks().try_lock({"order", "ABC"})));
    EXPECT_TRUE(granted(locks().try_lock({"Order", "abc "})));
    EXPECT_TRUE(granted(locks().try_lock({"Order", "\u00e0bc"})));
}

TEST_P(Situations, ALeaseOfNineHundredMillisecondsIsNotCutToWholeSeconds) {
    for (int i = 0; i < 40; ++i) {
        const Lease lease = must(locks().try_lock({"Order", std::to_string(i)}, {.ttl = 900ms}));
        EXPECT_EQ(lease.expires_at - lease.granted_at, 900ms);
        EXPECT_GT(lease.remaining(), 0s);
    }
}

TEST_P(Situations, AKeyThatIsTooLongIsABadRequest) {
    EXPECT_TRUE(granted(locks().try_lock({"Order", std::string(300, 'x')})));
    EXPECT_THROW((void)locks().try_lock({"Order", std::string(513, 'x')}), BadRequest);
}

TEST_P(Situations, ADistLockCanBeUsedMoreThanOnce) {
    DistLock dist{locks()};
    EXPECT_TRUE(granted(dist.try_lock("job", "A", 1min)));
    EXPECT_TRUE(granted(dist.unlock("job", "A")));
    EXPECT_TRUE(gone(dist.unlock("job", "A"), Gone::released));
    EXPECT_TRUE(granted(dist.try_lock("job", "A", 1min)));
    EXPECT_TRUE(granted(dist.unlock("job", "A")));
    EXPECT_TRUE(granted(dist.try_lock("job", "B", 1min)));
}

TEST_P(Situations, ADistLockWhoseLastLeaseEndedLongAgoIsTakenOverInPlace) {
    DistLock dist{locks()};
    (void)must(dist.try_lock("job", "A", 1min));
    let_pass(10min);
    EXPECT_TRUE(granted(dist.try_lock("job", "B", 1min)));
    EXPECT_TRUE(granted(dist.unlock("job", "B")));
    let_pass(10min);
    EXPECT_TRUE(granted(dist.try_lock("job", "C", 1min)));
}

TEST_P(Situations, DistLocksOfDifferentNamesNeverGetInEachOthersWay) {
    eight([&](int i, LockManager& locks) {
        DistLock dist{locks};
        for (int n = 0; n < 10; ++n) {
            const std::string name = "job " + std::to_string(i) + "." + std::to_string(n);
            (void)must(dist.try_lock(name, "host", 1min));
        }
    });
}

TEST_P(Situations, DistLockFreeRace) {
    for (int round = 0; round < 5; ++round) {
        expect_one_winner([&](int i, LockManager& locks) {
            return DistLock{locks}.try_lock("job " + std::to_string(round), std::to_string(i),
                                            5min);
        });
    }
}

TEST_P(Situations, DistLockExpiredRace) {
    (void)must(DistLock{locks()}.try_lock("job", "old", 5min));
    for (int round = 0; round < 5; ++round) {
        let_pass(6min);
        expect_one_winner([&](int i, LockManager& locks) {
            const std::string owner = std::to_string(round) + "." + std::to_string(i);
            return DistLock{locks}.try_lock("job", owner, 5min);
        });
    }
}

TEST_P(Situations, ADistLockKeepsTheFractionOfItsDuration) {
    DistLock dist{locks()};
    const Lease lease = must(dist.try_lock("job", "A", 900ms));
    EXPECT_EQ(lease.expires_at - lease.granted_at, 900ms);
    EXPECT_GT(lease.remaining(), 0s);
    let_pass(901ms);
    EXPECT_TRUE(granted(dist.try_lock("job", "B", 900ms)));
}

TEST_P(Situations, TwoRunnersUnderOneOwnerAreOneToADistLock) {
    DistLock dist{locks()};
    const Lease first = must(dist.try_lock("job", "A", 1min));
    const Lease second = must(dist.try_lock("job", "A", 1min));
    EXPECT_EQ(second.lock_id, first.lock_id);
    EXPECT_EQ(second.fence, first.fence);
}

TEST_P(Situations, UnlockingAnExpiredDistLockLeavesNothingLocked) {
    DistLock dist{locks()};
    (void)must(dist.try_lock("job", "A", 1min));
    let_pass(2min);
    EXPECT_TRUE(gone(dist.unlock("job", "A"), Gone::expired));
    EXPECT_TRUE(granted(DistLock{*manager()}.try_lock("job", "B", 1min)));
}

TEST_P(Situations, TheTablesAreMadeOnceAndFoundAgain) {
    const Lease lease = must(manager()->try_lock(key_, {.owner = "A"}));
    EXPECT_TRUE(granted(manager()->check(key_, lease.lock_id)));
    EXPECT_TRUE(granted(manager()->release(key_, lease.lock_id)));
}

TEST_P(Situations, OwnersThatBeginWithTheSameNumberAreDifferent) {
    (void)must(locks().try_lock(key_, {.owner = "12"}));
    EXPECT_TRUE(granted(locks().try_lock({"Order", "2"}, {.owner = "7C9A-session"})));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "12-another-session"}), {"12"}));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "012"}), {"12"}));
    EXPECT_EQ(must(locks().release_all("12")).size(), 1U);
}

TEST_P(Situations, TwoRequestsOfOneSessionAtOnceBothGetTheLock) {
    for (int round = 0; round < 10; ++round) {
        const LockKey key{"Order", std::to_string(round)};
        std::mutex mutex;
        std::set<LockId> ids;  // guarded by mutex
        eight([&](int, LockManager& locks) {
            const Lease lease = must(locks.try_lock(key, {.owner = "session"}));
            const std::lock_guard lock{mutex};
            ids.insert(lease.lock_id);
        });
        EXPECT_EQ(ids.size(), 1U);
    }
}

TEST_P(Situations, TheLockOfAProcessThatDiedEndsByItself) {
    (void)must(manager()->try_lock(key_, {.owner = "died", .ttl = 1min}));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "B"}), {"died"}));
    let_pass(2min);
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "B"})));
}

TEST_P(Situations, AFreshLockIsRespectedFromATimeZoneAhead) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "UTC"}));
    const Lease job = must(DistLock{locks()}.try_lock("job", "UTC", 5min));
    const InTimeZone seoul{"Asia/Seoul"};
    const auto there = manager();
    EXPECT_TRUE(held(there->try_lock(key_, {.owner = "Seoul"}), {"UTC"}));
    EXPECT_TRUE(held(DistLock{*there}.try_lock("job", "Seoul", 5min), {"UTC"}));
    EXPECT_EQ(holder_of(must(there->check(lease.lock_id))), holder_of(lease));
    EXPECT_EQ(holder_of(must(there->check(job.lock_id))), holder_of(job));
    const Lease theirs = must(there->try_lock({"Order", "2"}, {.owner = "Seoul"}));
    EXPECT_EQ(holder_of(must(locks().check(theirs.lock_id))), holder_of(theirs));
}

TEST_P(Situations, AnExpiredLockIsTakenFromATimeZoneBehind) {
    (void)must(locks().try_lock(key_, {.owner = "UTC", .ttl = 1min}));
    let_pass(1min + 10s);
    const InTimeZone los_angeles{"America/Los_Angeles"};
    EXPECT_TRUE(granted(manager()->try_lock(key_, {.owner = "Los Angeles"})));
}

TEST_P(Situations, TheApplicationsClockPlaysNoPart) {
    // The store's clock and this machine's differ by six minutes. The store's clock decides.
    const auto our_time = std::chrono::system_clock::now();
    const Lease lease = must(locks().try_lock(key_, {.owner = "A", .ttl = 5min}));
    const Lease job = must(DistLock{locks()}.try_lock("job", "A", 5min));
    let_pass(4min);
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "B"}), {"A"}));
    EXPECT_TRUE(about(must(locks().check(lease.lock_id)).remaining(), 1min));
    let_pass(2min);
    ASSERT_LT(std::chrono::system_clock::now(), our_time + 5min);
    EXPECT_TRUE(gone(locks().check(lease.lock_id), Gone::expired));
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "B"})));
    EXPECT_TRUE(granted(DistLock{locks()}.try_lock("job", "B", 5min)));
    EXPECT_TRUE(gone(locks().check(job.lock_id), Gone::taken, "B"));
}

TEST_P(Situations, ThePlainCycle) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "A"}));
    EXPECT_TRUE(granted(locks().check(lease.lock_id)));
    EXPECT_TRUE(granted(locks().extend(lease.lock_id, 1min)));
    EXPECT_TRUE(granted(locks().release(lease.lock_id)));
    EXPECT_TRUE(gone(locks().check(lease.lock_id), Gone::released));
}

TEST_P(Situations, OneFindsTheKeyFreeAndPausesWhileAnotherLocksIt) {
    ASSERT_TRUE(locks().holders(key_).empty());
    const Lease b = must(manager()->try_lock(key_, {.owner = "B"}));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "A"}), {"B"}));
    EXPECT_TRUE(granted(locks().check(b.lock_id)));
}

LEASEHOLD_ON_EVERY_STORE(Situations);

}  // namespace
}  // namespace leasehold::conformance
