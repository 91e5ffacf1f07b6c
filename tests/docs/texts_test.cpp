// The faults that docs/ko/from-the-texts.md tells of, in the texts' own order of statements, and
// what Leasehold answers in the same situation. A step is one statement, so that a test can let two
// programs take turns; each program has a clock of its own, which the test sets. The programs need
// no transaction to show the faults; PatternTables.TwoProgramsWinOneExpiredLock shows the first one
// with transactions, on the databases that the texts use. texts_on_servers_test.cpp has the faults
// that only these databases show.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <leasehold/leasehold.hpp>
#include <leasehold/stores/sqlite.hpp>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/process.hpp"

namespace leasehold::docs {
namespace {

using namespace std::chrono_literals;

// Rows of texts; a value that is null is empty.
using TextRows = std::vector<std::vector<std::string>>;

class TextsDatabase {
public:
    explicit TextsDatabase(const std::string& file) {
        if (sqlite3_open(file.c_str(), &db_) != SQLITE_OK) throw std::runtime_error{file};
        sqlite3_busy_timeout(db_, 5000);
    }
    TextsDatabase(const TextsDatabase&) = delete;
    TextsDatabase& operator=(const TextsDatabase&) = delete;
    ~TextsDatabase() { sqlite3_close(db_); }

    TextRows run(const std::string& sql) {
        TextRows rows;
        const auto keep = [](void* to, int count, char** fields, char**) {
            std::vector<std::string> row;
            for (int i = 0; i < count; ++i) row.emplace_back(fields[i] == nullptr ? "" : fields[i]);
            static_cast<TextRows*>(to)->push_back(std::move(row));
            return 0;
        };
        if (sqlite3_exec(db_, sql.c_str(), keep, &rows, nullptr) != SQLITE_OK) {
            throw std::runtime_error{sqlite3_errmsg(db_)};
        }
        return rows;
    }
    // Whether the statement was carried out. The texts' programs take any error for a "no".
    bool succeeds(const std::string& sql) {
        try {
            run(sql);
            return true;
        } catch (const std::runtime_error&) {
            return false;
        }
    }
    std::string value(const std::string& sql) { return run(sql).at(0).at(0); }
    [[nodiscard]] ::sqlite3* handle() const { return db_; }

private:
    ::sqlite3* db_ = nullptr;
};

// One application server with the texts' lock manager on the table `locks`.
class TextsProgram {
public:
    explicit TextsProgram(TextsDatabase& database) : database_{database} {}

    std::chrono::minutes clock{0};

    // The first statement of a try, and of a check: what it finds decides about all that follows.
    void look_for_the_key() { seen_ = look("type = 'Order' and id = '1'"); }
    void look_for(const std::string& lock_id) { seen_ = look("lockid = '" + lock_id + "'"); }
    [[nodiscard]] bool sees_a_live_lock() const { return seen_ && *seen_ >= clock; }
    [[nodiscard]] bool sees_an_expired_lock() const { return seen_ && *seen_ < clock; }

    void remove_what_it_saw_expired() {
        if (sees_an_expired_lock())
            database_.run("delete from locks where type = 'Order' and id = '1'");
    }
    bool insert(const std::string& lock_id) {
        if (sees_a_live_lock()) return false;
        return database_.succeeds("insert into locks values ('Order', '1', '" + lock_id + "', " +
                                  std::to_string((clock + 5min).count()) + ")");
    }
    void extend_what_it_saw(std::chrono::minutes by) {
        database_.run("update locks set expiration_time = " +
                      std::to_string((*seen_ + by).count()) + " where type = 'Order' and id = '1'");
    }
    void release(const std::string& lock_id) {
        database_.run("delete from locks where lockid = '" + lock_id + "'");
    }

    // All statements of a call without a pause in between.
    bool try_lock(const std::string& lock_id) {
        look_for_the_key();
        remove_what_it_saw_expired();
        return insert(lock_id);
    }
    bool check(const std::string& lock_id) {
        look_for(lock_id);
        remove_what_it_saw_expired();
        return sees_a_live_lock();
    }

private:
    std::optional<std::chrono::minutes> look(const std::string& condition) {
        const TextRows rows = database_.run("select expiration_time from locks where " + condition);
        if (rows.empty()) return std::nullopt;
        return std::chrono::minutes{std::stoi(rows[0][0])};
    }

    TextsDatabase& database_;
    std::optional<std::chrono::minutes> seen_;
};

// The texts' tables and a record, in a file; Leasehold has a file of its own with a record.
class TheTexts : public ::testing::Test {
protected:
    TheTexts() {
        database.run(
            "create table locks (type text, id text, lockid text unique, expiration_time integer, "
            "primary key (type, id));"
            "create table dist_lock (name text primary key, owner text, expiry integer);"
            "create table session_locks (lockableid integer primary key, ownerid text);"
            "create table record (text text); insert into record values ('v0')");
        ours.run("create table record (text text); insert into record values ('v0')");
    }

    // Saves under guard, as docs/guarded-save.md says.
    Result<Lease> save(const Lease& lease, const std::string& text) {
        ours.run("begin immediate");
        auto result = sqlite::guard(ours.handle(), lease.key, lease.lock_id);
        if (result) ours.run("update record set text = '" + text + "'");
        if (result) result = sqlite::release(ours.handle(), lease.key, lease.lock_id);
        ours.run(result ? "commit" : "rollback");
        return result;
    }
    // A lease that has expired, and the lease of bob, who has taken the key since.
    std::pair<Lease, Lease> expired_and_taken() {
        const Lease expired = locks.try_lock(key, {.owner = "alice", .ttl = 100ms}).value();
        return {expired, locks.lock_for(key, 60s, {.owner = "bob"}).value()};
    }

    const testing::TemporaryFolder folder;
    TextsDatabase database{(folder.path() / "texts.db").string()};
    TextsProgram alice{database};
    TextsProgram bob{database};

    const LockKey key{"Order", "1"};
    LockManager locks{sqlite::open((folder.path() / "ours.db").string())};
    LockManager other_process{sqlite::open((folder.path() / "ours.db").string())};
    TextsDatabase ours{(folder.path() / "ours.db").string()};
};

// LockManager with the table `locks`

TEST_F(TheTexts, TwoProgramsWinOneExpiredLock) {
    ASSERT_TRUE(alice.try_lock("left-behind"));
    alice.clock = bob.clock = 6min;
    alice.look_for_the_key();
    bob.look_for_the_key();  // both have seen that the lock is expired
    alice.remove_what_it_saw_expired();
    EXPECT_TRUE(alice.insert("of-alice"));
    bob.remove_what_it_saw_expired();  // removes the row of alice
    EXPECT_TRUE(bob.insert("of-bob"));
    EXPECT_FALSE(alice.check("of-alice")) << "alice was told that she has the lock";

    const Lease left_behind = locks.try_lock(key, {.owner = "carol", .ttl = 100ms}).value();
    ASSERT_TRUE(locks.lock_for(key, 60s, {.owner = "alice"}));
    const auto refused = other_process.try_lock(key, {.owner = "bob"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().holders.at(0).owner, "alice");
    EXPECT_FALSE(locks.check(key, left_behind.lock_id));
}

TEST_F(TheTexts, ACheckRemovesTheLockOfTheNextOwner) {
    ASSERT_TRUE(alice.try_lock("of-alice"));
    alice.clock = bob.clock = 6min;
    alice.look_for("of-alice");
    ASSERT_TRUE(bob.try_lock("of-bob"));
    alice.remove_what_it_saw_expired();  // the rest of the check
    EXPECT_FALSE(bob.check("of-bob")) << "nobody has released it, and it is not expired";

    const auto [expired, taken] = expired_and_taken();
    const auto checked = locks.check(key, expired.lock_id);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().reason, Gone::taken);
    EXPECT_EQ(checked.error().by, "bob");
    EXPECT_TRUE(locks.check(key, taken.lock_id));
}

TEST_F(TheTexts, AnExtensionCutsTheLockOfTheNextOwnerShort) {
    ASSERT_TRUE(alice.try_lock("of-alice"));
    alice.clock = 4min;
    alice.look_for("of-alice");  // alive, until 5
    bob.clock = 6min;
    ASSERT_TRUE(bob.try_lock("of-bob"));  // until 11
    alice.extend_what_it_saw(2min);       // until 7
    bob.clock = 8min;
    EXPECT_FALSE(bob.check("of-bob")) << "it was granted until 11";

    const auto [expired, taken] = expired_and_taken();
    EXPECT_FALSE(locks.extend(key, expired.lock_id, 2min));
    EXPECT_EQ(locks.check(key, taken.lock_id).value().expires_at, taken.expires_at);
}

TEST_F(TheTexts, AProgramWhoseClockIsAheadTakesALiveLock) {
    ASSERT_TRUE(alice.try_lock("of-alice"));
    bob.clock = alice.clock + 6min;  // at the same moment
    EXPECT_TRUE(bob.try_lock("of-bob"));
    EXPECT_FALSE(alice.check("of-alice"));
}

TEST_F(TheTexts, TheHolderIsLockedOutOfItsOwnLock) {
    ASSERT_TRUE(alice.try_lock("first-visit"));
    EXPECT_FALSE(alice.try_lock("page-reloaded"));

    const Lease first = locks.try_lock(key, {.owner = "alice/tab-1"}).value();
    const Lease reloaded = locks.try_lock(key, {.owner = "alice/tab-1"}).value();
    EXPECT_EQ(first.lock_id, reloaded.lock_id);
}

TEST_F(TheTexts, AnExtensionHasNoLimit) {
    constexpr std::chrono::minutes century = std::chrono::days{36'500};
    ASSERT_TRUE(alice.try_lock("of-alice"));
    alice.look_for("of-alice");
    alice.extend_what_it_saw(century);
    bob.clock = century;
    EXPECT_FALSE(bob.try_lock("of-bob")) << "nobody has seen alice for a hundred years";
    bob.look_for_the_key();
    bob.extend_what_it_saw(-2 * century);
    EXPECT_FALSE(alice.check("of-alice")) << "an extension has ended it";

    const Lease lease = locks.try_lock(key, {.owner = "alice"}).value();
    EXPECT_THROW((void)locks.extend(key, lease.lock_id, century), BadRequest);
    EXPECT_THROW((void)locks.extend(key, lease.lock_id, -1min), BadRequest);
    EXPECT_TRUE(locks.check(key, lease.lock_id));
}

TEST_F(TheTexts, TheReleaseOfALostLockSaysNothing) {
    ASSERT_TRUE(alice.try_lock("of-alice"));
    bob.clock = 6min;
    ASSERT_TRUE(bob.try_lock("of-bob"));
    EXPECT_NO_THROW(alice.release("of-alice"));

    const auto [expired, taken] = expired_and_taken();
    const auto released = locks.release(key, expired.lock_id);
    ASSERT_FALSE(released);
    EXPECT_EQ(released.error().reason, Gone::taken);
    EXPECT_EQ(released.error().by, taken.owner);
}

// The edit form with its hidden lock id

TEST_F(TheTexts, TheLockOfAnotherRecordPasses) {
    database.run("insert into locks values ('Order', '2', 'of-order-2', 5)");
    EXPECT_TRUE(alice.check("of-order-2")) << "and Order/1 would be saved";

    const Lease other = locks.try_lock({"Order", "2"}, {.owner = "alice"}).value();
    EXPECT_FALSE(locks.check(key, other.lock_id));
    EXPECT_FALSE(save({.key = key, .lock_id = other.lock_id}, "of the wrong form"));
}

TEST_F(TheTexts, ALateSaveOverwritesTheNextOwners) {
    ASSERT_TRUE(alice.try_lock("of-alice"));
    ASSERT_TRUE(alice.check("of-alice"));
    alice.clock = bob.clock = 6min;  // alice's program is stopped between check and save
    ASSERT_TRUE(bob.try_lock("of-bob"));
    ASSERT_TRUE(bob.check("of-bob"));
    database.run("update record set text = 'of bob'");
    bob.release("of-bob");
    database.run("update record set text = 'late, of alice'");
    EXPECT_EQ(database.value("select text from record"), "late, of alice");

    const auto [expired, taken] = expired_and_taken();
    ASSERT_TRUE(save(taken, "of bob"));
    EXPECT_FALSE(save(expired, "late, of alice"));
    EXPECT_EQ(ours.value("select text from record"), "of bob");
}

TEST_F(TheTexts, AReleaseBeforeTheCommitLetsTheNextOwnerReadOldData) {
    ASSERT_TRUE(alice.try_lock("of-alice"));
    alice.release("of-alice");  // in a transaction of its own, which is committed at once
    database.run("begin immediate; update record set text = 'of alice'");  // sent at the commit
    TextsDatabase of_bob{(folder.path() / "texts.db").string()};
    EXPECT_EQ(of_bob.value("select count(*) from locks"), "0") << "bob gets the lock";
    EXPECT_EQ(of_bob.value("select text from record"), "v0") << "and reads this";
    database.run("commit");

    const Lease lease = locks.try_lock(key, {.owner = "alice"}).value();
    ours.run("begin immediate");
    ASSERT_TRUE(sqlite::guard(ours.handle(), key, lease.lock_id));
    ours.run("update record set text = 'of alice'");
    ASSERT_TRUE(sqlite::release(ours.handle(), key, lease.lock_id));
    EXPECT_FALSE(other_process.try_lock(key, {.owner = "bob"})) << "before the commit";
    ours.run("commit");
    EXPECT_TRUE(other_process.try_lock(key, {.owner = "bob"}));
    EXPECT_EQ(ours.value("select text from record"), "of alice");
}

TEST_F(TheTexts, ALateHeartbeatRemovesALockThatNobodyElseWants) {
    ASSERT_TRUE(alice.try_lock("of-alice"));
    alice.clock = 6min;  // the laptop has slept
    EXPECT_FALSE(alice.check("of-alice"));
    EXPECT_TRUE(database.run("select * from locks").empty());

    const Lease before = locks.try_lock(key, {.owner = "alice", .ttl = 100ms}).value();
    while (locks.check(key, before.lock_id)) continue;
    EXPECT_TRUE(locks.try_lock(key, {.owner = "alice", .since = before.fence}))
        << "nobody has held the key since";
}

// DistLock with the table `dist_lock`

TEST_F(TheTexts, AReleasedNameIsNeverTakenAgain) {
    database.run("insert into dist_lock values ('report', 'host-1', 5)");
    database.run("update dist_lock set owner = null, expiry = null where name = 'report'");
    ASSERT_EQ(database.value("select owner from dist_lock"), "") << "no owner, so it inserts";
    EXPECT_FALSE(database.succeeds("insert into dist_lock values ('report', 'host-2', 10)"));

    DistLock jobs{locks};
    ASSERT_TRUE(jobs.try_lock("report", "host-1", 1min));
    ASSERT_TRUE(jobs.unlock("report", "host-1"));
    EXPECT_TRUE(jobs.try_lock("report", "host-2", 1min));
}

TEST_F(TheTexts, AnUnlockNamesAColumnThatDoesNotExist) {
    database.run("insert into dist_lock values ('report', 'host-1', 5)");
    EXPECT_FALSE(database.succeeds("update dist_lock set owner = null, expire = null"));
}

TEST_F(TheTexts, AnUnlockAfterTheExpirySaysWhoHasTheName) {
    DistLock jobs{locks};
    ASSERT_TRUE(jobs.try_lock("report", "host-1", 100ms));
    ASSERT_TRUE(locks.lock_for({"dist_lock", "report"}, 60s, {.owner = "host-2"}));
    const auto late = jobs.unlock("report", "host-1");
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().kind, Refusal::Kind::held);
    EXPECT_EQ(late.error().holders.at(0).owner, "host-2");
}

// Pessimistic Offline Lock with a session as the owner

TEST_F(TheTexts, ASecondTabReleasesTheLocksOfTheFirst) {
    database.run("insert into session_locks values (7, 'session-1')");  // tab 1 edits customer 7
    database.run("delete from session_locks where ownerid = 'session-1'");  // tab 2 starts
    EXPECT_TRUE(database.succeeds("insert into session_locks values (7, 'session-2')"))
        << "somebody else edits customer 7, and tab 1 does not know";

    ASSERT_TRUE(locks.try_lock({"Customer", "7"}, {.owner = "alice/s-1/tab-1"}));
    ASSERT_TRUE(locks.release_all("alice/s-1/tab-2", OwnerScope::below));
    EXPECT_FALSE(locks.try_lock({"Customer", "7"}, {.owner = "bob/s-2/tab-1"}));
}

TEST_F(TheTexts, ASaveThatAsksForNoLockSucceedsWithoutOne) {
    database.run("delete from session_locks");  // the session has ended, its locks are released
    EXPECT_TRUE(database.succeeds("update record set text = 'without a lock'"));

    Session session{locks, "alice/s-1"};
    const Lease lease = session.try_lock(key, {.owner = "tab-1"}).value();
    ASSERT_TRUE(session.end());
    EXPECT_FALSE(save(lease, "without a lock"));
    EXPECT_EQ(ours.value("select text from record"), "v0");
}

TEST_F(TheTexts, ALockWithoutAnExpiryOutlivesTheProcessForEver) {
    database.run(
        "insert into session_locks values (7, 'session-1')");  // then the process is killed
    EXPECT_FALSE(database.succeeds("insert into session_locks values (7, 'session-2')"));

    ASSERT_TRUE(other_process.try_lock(key, {.owner = "alice", .ttl = 100ms}));
    EXPECT_TRUE(locks.lock_for(key, 60s, {.owner = "bob"}));
}

TEST_F(TheTexts, OneOwnerInTwoThreadsFailsOnItsOwnLock) {
    // Both have asked whether the owner has the lock, and it has not.
    EXPECT_TRUE(database.succeeds("insert into session_locks values (7, 'session-1')"));
    EXPECT_FALSE(database.succeeds("insert into session_locks values (7, 'session-1')"));

    EXPECT_TRUE(locks.try_lock(key, {.owner = "alice/s-1/tab-1"}));
    EXPECT_TRUE(other_process.try_lock(key, {.owner = "alice/s-1/tab-1"}));
}

TEST_F(TheTexts, AFailedDatabaseLooksLikeALock) {
    database.run("drop table session_locks");
    EXPECT_FALSE(database.succeeds("insert into session_locks values (7, 'session-1')"));

    EXPECT_THROW((void)sqlite::open((folder.path() / "nowhere/ours.db").string()), StoreFault);
}

TEST_F(TheTexts, TwoRecordsWithOneNumberAreOneLock) {
    database.run("insert into session_locks values (7, 'session-1')");  // customer 7
    EXPECT_FALSE(database.succeeds("insert into session_locks values (7, 'session-2')"))
        << "this was meant for order 7";

    EXPECT_TRUE(locks.try_lock({"Customer", "7"}, {.owner = "alice"}));
    EXPECT_TRUE(locks.try_lock({"Order", "7"}, {.owner = "bob"}));
}

}  // namespace
}  // namespace leasehold::docs
