#include "conformance/conformance.hpp"
#include "conformance/postgres_harness.hpp"

// A program written against the pattern's original table, and Leasehold on the same one: each
// respects the other's locks.
namespace leasehold::conformance {
namespace {

// The pattern's lock manager in its own statements, with the database's clock for the
// application's.
class PatternProgram {
public:
    struct Row {
        std::string lock_id;
        bool expired = false;
    };

    std::optional<Row> find(const LockKey& key) {
        const auto rows = connection_.run(
            "select *, expiration_time < clock_timestamp() as expired from locks where type = $1 "
            "and "
            "id = $2",
            {std::string{key.type()}, std::string{key.id()}});
        if (rows.empty()) return std::nullopt;
        EXPECT_EQ(rows.front()[0], key.type());
        EXPECT_EQ(rows.front()[1], key.id());
        return Row{rows.front()[2], rows.front().back() == "t"};
    }

    // Its lock id, or nothing where somebody has the lock.
    std::optional<std::string> try_lock(const LockKey& key, const std::string& lock_id,
                                        const std::string& minutes = "5") {
        if (const auto row = find(key)) {
            if (!row->expired) return std::nullopt;
            connection_.run("delete from locks where type = $1 and id = $2",
                            {std::string{key.type()}, std::string{key.id()}});
        }
        connection_.run(
            "insert into locks values ($1, $2, $3, clock_timestamp() + $4::text::int * interval '1 "
            "minute')",
            {std::string{key.type()}, std::string{key.id()}, lock_id, minutes});
        return lock_id;
    }

    bool check(const std::string& lock_id) {
        const auto rows = connection_.run(
            "select * from locks where lockid = $1 and expiration_time >= clock_timestamp()",
            {lock_id});
        return !rows.empty();
    }

    void extend(const LockKey& key, const std::string& minutes) {
        connection_.run(
            "update locks set expiration_time = clock_timestamp() + $3::text::int * interval '1 "
            "minute' "
            "where type = $1 and id = $2",
            {std::string{key.type()}, std::string{key.id()}, minutes});
    }

    void release(const std::string& lock_id) {
        connection_.run("delete from locks where lockid = $1", {lock_id});
    }

private:
    PostgresConnection connection_;
};

class PatternTables : public SqlConformanceTest {
protected:
    void SetUp() override { (void)locks(); }

    const LockKey key_{"Order", "1"};
    PatternProgram program_;
};

TEST_P(PatternTables, TheFirstFourColumnsAreThePatternsInItsOrder) {
    PostgresConnection connection;
    const auto columns = connection.run(
        "select column_name from information_schema.columns where table_name = 'locks' and "
        "ordinal_position <= 4 order by ordinal_position");
    EXPECT_EQ(columns,
              (PostgresConnection::Rows{{"type"}, {"id"}, {"lockid"}, {"expiration_time"}}));
}

TEST_P(PatternTables, TheProgramSeesLeaseholdsLeases) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    EXPECT_FALSE(program_.try_lock(key_, "program-1"));
    EXPECT_TRUE(program_.check(lease.lock_id.to_string()));
    (void)must(locks().try_lock({"Order", "2"}, {.owner = "alice", .mode = Mode::shared}));
    EXPECT_FALSE(program_.try_lock({"Order", "2"}, "program-2"));
}

TEST_P(PatternTables, LeaseholdSeesTheProgramsLocks) {
    ASSERT_TRUE(program_.try_lock(key_, "program-1"));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "alice"}), {""}));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "alice", .mode = Mode::shared}), {""}));
    EXPECT_TRUE(held(locks().try_lock_all({key_, {"Order", "2"}}, {.owner = "alice"}), {""}));
    ASSERT_EQ(locks().holders(key_).size(), 1U);
    EXPECT_EQ(locks().list().size(), 1U);
    program_.release("program-1");
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "alice"})));
    EXPECT_FALSE(program_.try_lock(key_, "program-2"));
}

TEST_P(PatternTables, AProgramWhoseLockIdsAreUuidsCanUseThemInLeasehold) {
    const LockId id = LockId::random();
    ASSERT_TRUE(program_.try_lock(key_, id.to_string()));
    EXPECT_TRUE(granted(locks().check(key_, id)));
    EXPECT_TRUE(granted(locks().extend(id, 10min)));
    EXPECT_TRUE(granted(locks().release(key_, id)));
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "alice"})));
}

TEST_P(PatternTables, LeaseholdTakesOverTheProgramsExpiredLock) {
    ASSERT_TRUE(program_.try_lock(key_, "program-1"));
    let_pass(6min);
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    EXPECT_FALSE(program_.check("program-1"));
    EXPECT_FALSE(program_.try_lock(key_, "program-2"));
    program_.release("program-1");
    EXPECT_TRUE(granted(locks().check(key_, lease.lock_id)));
}

TEST_P(PatternTables, TheProgramTakesOverLeaseholdsExpiredLease) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min}));
    let_pass(2min);
    ASSERT_TRUE(program_.try_lock(key_, "program-1"));
    EXPECT_FALSE(granted(locks().check(key_, lease.lock_id)));
    EXPECT_FALSE(granted(locks().renew(key_, lease.lock_id, 1min)));
    EXPECT_FALSE(granted(locks().release(key_, lease.lock_id)));
    EXPECT_TRUE(program_.check("program-1"));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "bob"}), {""}));
}

TEST_P(PatternTables, AReleasedLeaseLooksExpiredToTheProgram) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    EXPECT_TRUE(granted(locks().release(lease.lock_id)));
    EXPECT_FALSE(program_.check(lease.lock_id.to_string()));
    ASSERT_TRUE(program_.try_lock(key_, "program-1"));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "bob"}), {""}));
    program_.release("program-1");
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "bob"})));
}

TEST_P(PatternTables, SharedLeasesThatEndedLookExpiredToTheProgram) {
    (void)must(locks().try_lock(key_, {.owner = "alice", .mode = Mode::shared, .ttl = 10min}));
    const Lease bob =
        must(locks().try_lock(key_, {.owner = "bob", .mode = Mode::shared, .ttl = 1min}));
    EXPECT_EQ(must(locks().release_all("alice")).size(), 1U);
    EXPECT_FALSE(program_.try_lock(key_, "program-1")) << "bob still reads";
    let_pass(2min);
    ASSERT_TRUE(program_.try_lock(key_, "program-2"));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "carol", .mode = Mode::shared}), {""}));
    EXPECT_FALSE(granted(locks().check(key_, bob.lock_id)));
    EXPECT_EQ(locks().holders(key_).size(), 1U);
}

TEST_P(PatternTables, TheProgramsExtensionIsRespected) {
    ASSERT_TRUE(program_.try_lock(key_, "program-1", "1"));
    program_.extend(key_, "30");
    let_pass(10min);
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "alice"}), {""}));
    let_pass(30min);
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "alice"})));
}

TEST_P(PatternTables, FencesGrowAcrossTheProgramsLocks) {
    Fence last = 0;
    for (int i = 0; i < 3; ++i) {
        const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
        EXPECT_GT(lease.fence, last);
        last = lease.fence;
        EXPECT_TRUE(granted(locks().release(lease.lock_id)));
        const std::string id = "program-" + std::to_string(i);
        ASSERT_TRUE(program_.try_lock(key_, id));
        const auto holders = locks().holders(key_);
        ASSERT_EQ(holders.size(), 1U);
        EXPECT_GT(holders.front().fence, last);
        last = holders.front().fence;
        program_.release(id);
    }
    EXPECT_GT(must(locks().try_lock(key_)).fence, last);
}

TEST_P(PatternTables, AnAdministratorCanBreakTheProgramsLock) {
    ASSERT_TRUE(program_.try_lock(key_, "program-1"));
    const Fence fence = locks().holders(key_).front().fence;
    EXPECT_TRUE(granted(locks().break_lock(key_, fence, "admin", "left behind")));
    EXPECT_FALSE(program_.check("program-1"));
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "alice"})));
}

TEST_P(PatternTables, TheGuardHoldsOffTheProgramToo) {
    const auto [lease, transaction] = guard_briefly(harness(), locks(), key_, 300ms);
    wait_out(400ms);
    PostgresConnection impatient;
    impatient.run("set lock_timeout = '200ms'");
    EXPECT_THROW(impatient.run("delete from locks where type = $1 and id = $2", {"Order", "1"}),
                 std::runtime_error);
    transaction->write("order", "saved in time");
    transaction->commit();
    EXPECT_TRUE(program_.try_lock(key_, "program-1"));
}

LEASEHOLD_ON(only_postgres(), PatternTables);

}  // namespace
}  // namespace leasehold::conformance
