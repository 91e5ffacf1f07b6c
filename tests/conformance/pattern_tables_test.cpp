#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/merges.hpp"
#include "conformance/pattern_program.hpp"

// A program written for the pattern's original table, and Leasehold on the same table: each
// respects the other's locks.
namespace leasehold::conformance {
namespace {

class PatternTables : public SqlConformanceTest {
protected:
    void SetUp() override {
        (void)locks();
        made_ = make_pattern_program(GetParam().name);
    }
    [[nodiscard]] PatternProgram& program() { return *made_; }

    const LockKey key_{"Order", "1"};

private:
    std::unique_ptr<PatternProgram> made_;
};

TEST_P(PatternTables, TheFirstFourColumnsAreThePatternsInItsOrder) {
    EXPECT_EQ(program().first_columns(),
              (std::vector<std::string>{"type", "id", "lockid", "expiration_time"}));
}

TEST_P(PatternTables, TheProgramSeesLeaseholdsLeases) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    EXPECT_FALSE(program().try_lock(key_, "program-1"));
    EXPECT_TRUE(program().check(lease.lock_id.to_string()));
    (void)must(locks().try_lock({"Order", "2"}, {.owner = "alice", .mode = Mode::shared}));
    EXPECT_FALSE(program().try_lock({"Order", "2"}, "program-2"));
}

TEST_P(PatternTables, LeaseholdSeesTheProgramsLocks) {
    ASSERT_TRUE(program().try_lock(key_, "program-1"));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "alice"}), {""}));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "alice", .mode = Mode::shared}), {""}));
    EXPECT_TRUE(held(locks().try_lock_all({key_, {"Order", "2"}}, {.owner = "alice"}), {""}));
    ASSERT_EQ(locks().holders(key_).size(), 1U);
    EXPECT_EQ(locks().list().size(), 1U);
    program().release("program-1");
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "alice"})));
    EXPECT_FALSE(program().try_lock(key_, "program-2"));
}

TEST_P(PatternTables, AProgramWhoseLockIdsAreUuidsCanUseThemInLeasehold) {
    const LockId id = LockId::random();
    ASSERT_TRUE(program().try_lock(key_, id.to_string()));
    EXPECT_TRUE(granted(locks().check(key_, id)));
    EXPECT_TRUE(granted(locks().extend(id, 10min)));
    EXPECT_TRUE(granted(locks().release(key_, id)));
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "alice"})));
}

TEST_P(PatternTables, LeaseholdTakesOverTheProgramsExpiredLock) {
    ASSERT_TRUE(program().try_lock(key_, "program-1"));
    let_pass(6min);
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    EXPECT_FALSE(program().check("program-1"));
    EXPECT_FALSE(program().try_lock(key_, "program-2"));
    program().release("program-1");
    EXPECT_TRUE(granted(locks().check(key_, lease.lock_id)));
}

TEST_P(PatternTables, TheProgramTakesOverLeaseholdsExpiredLease) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min}));
    let_pass(2min);
    ASSERT_TRUE(program().try_lock(key_, "program-1"));
    EXPECT_FALSE(granted(locks().check(key_, lease.lock_id)));
    EXPECT_FALSE(granted(locks().renew(key_, lease.lock_id, 1min)));
    EXPECT_FALSE(granted(locks().release(key_, lease.lock_id)));
    EXPECT_TRUE(program().check("program-1"));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "bob"}), {""}));
}

TEST_P(PatternTables, AReleasedLeaseLooksExpiredToTheProgram) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    EXPECT_TRUE(granted(locks().release(lease.lock_id)));
    EXPECT_FALSE(program().check(lease.lock_id.to_string()));
    ASSERT_TRUE(program().try_lock(key_, "program-1"));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "bob"}), {""}));
    program().release("program-1");
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "bob"})));
}

TEST_P(PatternTables, SharedLeasesThatEndedLookExpiredToTheProgram) {
    (void)must(locks().try_lock(key_, {.owner = "alice", .mode = Mode::shared, .ttl = 10min}));
    const Lease bob =
        must(locks().try_lock(key_, {.owner = "bob", .mode = Mode::shared, .ttl = 1min}));
    EXPECT_EQ(must(locks().release_all("alice")).size(), 1U);
    EXPECT_FALSE(program().try_lock(key_, "program-1")) << "bob still reads";
    let_pass(2min);
    ASSERT_TRUE(program().try_lock(key_, "program-2"));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "carol", .mode = Mode::shared}), {""}));
    EXPECT_FALSE(granted(locks().check(key_, bob.lock_id)));
    EXPECT_EQ(locks().holders(key_).size(), 1U);
}

TEST_P(PatternTables, TheProgramsExtensionIsRespected) {
    ASSERT_TRUE(program().try_lock(key_, "program-1", 1min));
    program().extend(key_, 30min);
    let_pass(10min);
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "alice"}), {""}));
    let_pass(30min);
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "alice"})));
}

// A fault of the pattern's programs, not of the table: docs/ko/from-the-texts.md tells of it. Both
// have seen the expired lock before either removes it, and DELETE names the key and not the lock
// id.
TEST_P(PatternTables, TwoProgramsWinOneExpiredLock) {
    const auto other = make_pattern_program(GetParam().name);
    program().insert(key_, "left-behind", -1min);
    program().run("begin");
    other->run("begin");
    ASSERT_TRUE(program().find(key_).value().expired);
    ASSERT_TRUE(other->find(key_).value().expired);
    program().remove(key_);
    program().insert(key_, "program-1", 5min);
    program().run("commit");
    other->remove(key_);
    other->insert(key_, "program-2", 5min);
    other->run("commit");
    EXPECT_FALSE(program().check("program-1")) << "it was granted and has not expired";
    EXPECT_TRUE(other->check("program-2"));
}

// The pattern's statements against Leasehold's requests: its try (it reads the row, deletes it if
// it has expired, and inserts its own), its extension and its release. Its DELETE and its UPDATE
// name the key and not the lock id, so they may remove or prolong a lease that was granted after it
// read the row: that is its own fault. In every order, Leasehold's answers agree with the table,
// and no client is told that it holds a key that the table gives to another.
TEST_P(PatternTables, InEveryOrderOurAnswersAreTrueToTheTable) {
    int orders = 0;
    for_every_order({5, 3}, [&](const std::vector<std::size_t>& order) {
        SCOPED_TRACE(::testing::Message() << "order " << orders++);
        const LockKey key{"Order", std::to_string(orders)};
        const std::string theirs = "program-" + std::to_string(orders);
        (void)must(locks().try_lock(key, {.owner = "long ago", .ttl = 1min}));
        let_pass(2min);
        std::optional<Lease> ours;
        std::optional<PatternProgram::Row> seen;
        bool they_hold = false;
        std::size_t our_step = 0;
        std::size_t their_step = 0;
        const auto holds = [&](const std::string& lock_id) {
            const auto row = program().find(key);
            return row && row->lock_id == lock_id && !row->expired;
        };
        for (const std::size_t who : order) {
            if (who == 0) {
                switch (their_step++) {
                    case 0: seen = program().find(key); break;
                    case 1:
                        if (seen && seen->expired) program().remove(key);
                        break;
                    case 2:
                        if (seen && !seen->expired) break;
                        try {
                            program().insert(key, theirs, 5min);
                            they_hold = true;
                        } catch (const std::runtime_error&) {
                            // There is a row, and the primary key refuses the program's insert.
                        }
                        break;
                    case 3: program().extend(key, 5min); break;
                    default:
                        if (they_hold) program().release(theirs);
                        they_hold = false;
                }
            } else {
                switch (our_step++) {
                    case 0: {
                        const bool held_by_them = holds(theirs);
                        const auto tried = locks().try_lock(key, {.owner = "alice", .ttl = 1h});
                        EXPECT_EQ(tried.has_value(), !held_by_them);
                        if (tried) ours = *tried;
                        break;
                    }
                    case 1:
                        if (!ours) break;
                        EXPECT_EQ(locks().renew(key, ours->lock_id, 1h).has_value(),
                                  holds(ours->lock_id.to_string()));
                        break;
                    default:
                        if (!ours) break;
                        const bool held = holds(ours->lock_id.to_string());
                        EXPECT_EQ(locks().release(key, ours->lock_id).has_value(), held);
                        ours.reset();
                }
            }
            EXPECT_EQ(they_hold, holds(theirs)) << "only the program ends its lock";
            if (ours) {
                EXPECT_EQ(locks().check(key, ours->lock_id).has_value(),
                          holds(ours->lock_id.to_string()));
            }
        }
    });
}

// The same, with the pattern's try in one transaction. Another connection reads the table.
TEST_P(PatternTables, InEveryOrderWithATransactionOurAnswersAreTrueToTheTable) {
    LockManager impatient{harness().open(), {.busy_patience = 1ms}};
    const auto observer = make_pattern_program(GetParam().name);
    int orders = 0;
    for_every_order({5, 3}, [&](const std::vector<std::size_t>& order) {
        SCOPED_TRACE(::testing::Message() << "order " << orders++);
        const LockKey key{"Order", std::to_string(orders)};
        const std::string theirs = "program-" + std::to_string(orders);
        (void)must(locks().try_lock(key, {.owner = "long ago", .ttl = 1min}));
        let_pass(2min);
        std::optional<Lease> ours;
        std::optional<PatternProgram::Row> seen;
        bool they_tried = false;
        bool they_hold = false;
        std::size_t our_step = 0;
        std::size_t their_step = 0;
        const auto holds = [&](const std::string& lock_id) {
            const auto row = observer->find(key);
            return row && row->lock_id == lock_id && !row->expired;
        };
        // Nothing is granted while the program's transaction has changed the row.
        const auto is_true = [&](const Result<Lease>& answer, bool expected) {
            if (!answer && (their_step == 2 || their_step == 3)) return;
            EXPECT_EQ(answer.has_value(), expected) << (answer ? "" : answer.error().message());
        };
        for (const std::size_t who : order) {
            if (who == 0) {
                switch (their_step++) {
                    case 0:
                        program().run("begin");
                        seen = program().find(key);
                        break;
                    case 1:
                        if (seen && seen->expired) program().remove(key);
                        break;
                    case 2:
                        if (seen && !seen->expired) break;
                        try {
                            program().insert(key, theirs, 5min);
                            they_tried = true;
                        } catch (const std::runtime_error&) {
                            // There is a row, and the primary key refuses the program's insert.
                        }
                        break;
                    case 3:
                        program().run(they_tried ? "commit" : "rollback");
                        they_hold = they_tried;
                        break;
                    default:
                        if (they_hold) program().release(theirs);
                        they_hold = false;
                }
            } else {
                switch (our_step++) {
                    case 0: {
                        const bool held_by_them = holds(theirs);
                        const auto tried = impatient.try_lock(key, {.owner = "alice", .ttl = 1h});
                        is_true(tried, !held_by_them);
                        if (tried) ours = *tried;
                        break;
                    }
                    case 1:
                        if (!ours) break;
                        {
                            const bool held = holds(ours->lock_id.to_string());
                            is_true(impatient.renew(key, ours->lock_id, 1h), held);
                        }
                        break;
                    default:
                        if (!ours) break;
                        const bool held = holds(ours->lock_id.to_string());
                        const auto released = impatient.release(key, ours->lock_id);
                        is_true(released, held);
                        if (released) ours.reset();
                }
            }
            EXPECT_EQ(they_hold, holds(theirs)) << "only the program ends its lock";
            if (ours) {
                is_true(impatient.check(key, ours->lock_id), holds(ours->lock_id.to_string()));
            }
        }
    });
}

// The program releases and extends a lock that Leasehold has taken over since.
TEST_P(PatternTables, ALateReleaseOfTheProgramEndsNoLeaseOfOurs) {
    ASSERT_TRUE(program().try_lock(key_, "program-1", 1min));
    let_pass(2min);
    const Lease ours = must(locks().try_lock(key_, {.owner = "alice", .ttl = 1h}));
    program().release("program-1");
    EXPECT_TRUE(granted(locks().check(key_, ours.lock_id)));
    // The extension names only the key, so it moves the expiry of whichever lock is there.
    program().extend(key_, 30min);
    EXPECT_TRUE(granted(locks().check(key_, ours.lock_id)));
    EXPECT_TRUE(about(locks().holders(key_).front().expires_at - ours.store_now, 30min));
    let_pass(40min);
    EXPECT_TRUE(gone(locks().check(key_, ours.lock_id), Gone::expired));
}

TEST_P(PatternTables, FencesGrowAcrossTheProgramsLocks) {
    Fence last = 0;
    for (int i = 0; i < 3; ++i) {
        const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
        EXPECT_GT(lease.fence, last);
        last = lease.fence;
        EXPECT_TRUE(granted(locks().release(lease.lock_id)));
        const std::string id = "program-" + std::to_string(i);
        ASSERT_TRUE(program().try_lock(key_, id));
        const auto holders = locks().holders(key_);
        ASSERT_EQ(holders.size(), 1U);
        if (GetParam().name == "mysql") {
            // It does not fill columns that the program does not see.
            EXPECT_EQ(holders.front().fence, 0);
        } else {
            EXPECT_GT(holders.front().fence, last);
            last = holders.front().fence;
        }
        program().release(id);
    }
    EXPECT_GT(must(locks().try_lock(key_)).fence, last);
}

TEST_P(PatternTables, AnAdministratorCanBreakTheProgramsLock) {
    ASSERT_TRUE(program().try_lock(key_, "program-1"));
    const Fence fence = locks().holders(key_).front().fence;
    EXPECT_TRUE(granted(locks().break_lock(key_, fence, "admin", "left behind")));
    EXPECT_FALSE(program().check("program-1"));
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "alice"})));
}

TEST_P(PatternTables, TheProgramWorksOnTheTablesOfALaterVersion) {
    LockManager later{harness().open_later_version()};
    ASSERT_TRUE(program().try_lock(key_, "program-1"));
    EXPECT_TRUE(held(later.try_lock(key_, {.owner = "alice"}), {""}));
    program().release("program-1");
    EXPECT_TRUE(granted(later.try_lock(key_, {.owner = "alice"})));
    EXPECT_FALSE(program().try_lock(key_, "program-2"));
}

TEST_P(PatternTables, TheGuardHoldsOffTheProgramToo) {
    const auto [lease, transaction] = guard_briefly(harness(), locks(), key_, 300ms);
    wait_out(400ms);
    EXPECT_TRUE(program().is_kept_from_removing(key_));
    transaction->write("order", "saved in time");
    transaction->commit();
    EXPECT_TRUE(program().try_lock(key_, "program-1"));
}

const std::vector<UnderTest<SqlHarness>> with_the_patterns_tables{
    {"postgres", make_postgres_harness},
    {"mysql", make_mysql_harness},
    {"mariadb", make_mariadb_harness}};
LEASEHOLD_ON(with_the_patterns_tables, PatternTables);

}  // namespace
}  // namespace leasehold::conformance
