// The database's wall clock is set back or ahead by an hour during the work. The steady clock of
// this process measures how much time has really passed.
#include <atomic>

#include <leasehold/stores/sqlite.hpp>

#include "faults/databases.hpp"
#include "faults/grant_forever.hpp"
#include "faults/wall_clock.hpp"

namespace leasehold::faults {
namespace {

// A database whose clock can be set.
class WithClock {
public:
    WithClock() = default;
    WithClock(const WithClock&) = delete;
    WithClock& operator=(const WithClock&) = delete;
    virtual ~WithClock() = default;

    [[nodiscard]] virtual std::unique_ptr<Store> open(const std::string& name) = 0;
    [[nodiscard]] virtual Database& database() = 0;
    // The offset from the true time.
    virtual void set_clock(std::chrono::seconds offset) = 0;
};

class ServerWithClock final : public WithClock {
public:
    explicit ServerWithClock(const On<Server>& on)
        : server_{on.make({.environment = clock_.environment()})} {}

    std::unique_ptr<Store> open(const std::string& name) override {
        return open_store(server_->url(name));
    }
    Database& database() override { return *server_; }
    void set_clock(std::chrono::seconds offset) override { clock_.set(offset); }

private:
    WallClock clock_;
    std::unique_ptr<Server> server_;
};

class SqliteWithClock final : public WithClock {
public:
    std::unique_ptr<Store> open(const std::string& name) override {
        return sqlite::open(
            folder_->url(name).substr(std::string_view{"sqlite:"}.size()), {}, [this] {
                return std::chrono::floor<Duration>(std::chrono::system_clock::now()) +
                       offset_.load();
            });
    }
    Database& database() override { return *folder_; }
    void set_clock(std::chrono::seconds offset) override { offset_ = offset; }

private:
    std::unique_ptr<Database> folder_ = make_sqlite_folder();
    std::atomic<std::chrono::seconds> offset_{0s};
};

WithClock& sqlite_with_clock() {
    static SqliteWithClock folder;
    return folder;
}

WithClock& postgres_with_clock() {
    static ServerWithClock server{on_postgres()};
    return server;
}

WithClock& mariadb_with_clock() {
    static ServerWithClock server{on_mariadb()};
    return server;
}

WithClock& mysql_with_clock() {
    static ServerWithClock server{on_mysql()};
    return server;
}

class Clock : public ::testing::TestWithParam<On<WithClock>> {
protected:
    ~Clock() override { stage_.set_clock(0s); }

    std::unique_ptr<Store> open() { return stage_.open(name_); }
    void set_clock(std::chrono::seconds offset) { stage_.set_clock(offset); }
    std::unique_ptr<Session> session() { return stage_.database().connect(name_); }

    // Waits until a lease with this ttl, requested before now, has really expired.
    static void outlive(Duration ttl) {
        const auto end = SteadyClock::now() + ttl + 50ms;
        ASSERT_TRUE(eventually([&] { return SteadyClock::now() > end; }));
    }

    // A lease whose client has learned that it is dead, with grants made since then.
    static LockId die_while_work_goes_on(LockManager& locks, const LockKey& key) {
        constexpr auto ttl = 300ms;
        const auto lease = locks.try_lock(key, {.ttl = ttl});
        EXPECT_TRUE(lease);
        const auto end = SteadyClock::now() + ttl + 2s;
        for (int i = 0; SteadyClock::now() < end; ++i) {
            EXPECT_TRUE(locks.try_lock({"Work", std::to_string(i)}));
            std::this_thread::sleep_for(5ms);
        }
        EXPECT_TRUE(is_gone(locks.check(key, lease->lock_id), Gone::expired));
        EXPECT_TRUE(locks.try_lock({"Work", "last"}));
        return lease->lock_id;
    }

    // New leases have their full ttl, and their fences grow.
    void expect_normal_leases(LockManager& locks, const LockKey& key, Fence older) {
        constexpr auto ttl = 400ms;
        SteadyClock::time_point asked;
        Result<Lease> lease = std::unexpected{Refusal{}};
        // Repeated if the machine was too slow to look at the lease in time.
        for (bool in_time = false; !in_time;) {
            asked = SteadyClock::now();
            lease = locks.try_lock(key, {.ttl = ttl});
            ASSERT_TRUE(lease) << lease.error().message();
            EXPECT_GT(lease->fence, older);
            EXPECT_EQ(lease->remaining(), ttl);
            const auto checked = locks.check(key, lease->lock_id);
            const auto stolen = locks.try_lock(key);
            in_time = SteadyClock::now() - asked < ttl;
            if (in_time) {
                EXPECT_TRUE(checked);
                EXPECT_FALSE(stolen);
            } else {
                (void)locks.release(key, lease->lock_id);
                if (stolen) (void)locks.release(key, stolen->lock_id);
            }
        }

        Result<Lease> next = std::unexpected{Refusal{}};
        EXPECT_TRUE(
            eventually([&] { return (next = locks.try_lock(key, {.ttl = 1min})).has_value(); }));
        ASSERT_TRUE(next);
        EXPECT_GE(SteadyClock::now() - asked, ttl);
        EXPECT_GT(next->fence, lease->fence);
        EXPECT_GE(next->store_now, lease->store_now);
        EXPECT_TRUE(is_gone(locks.check(key, lease->lock_id), Gone::taken));
        EXPECT_TRUE(locks.release(key, next->lock_id));
    }

private:
    WithClock& stage_ = GetParam().database();
    std::string name_ = stage_.database().make();
};
INSTANTIATE_TEST_SUITE_P(, Clock,
                         ::testing::Values(On<WithClock>{"sqlite", sqlite_with_clock, {}},
                                           On<WithClock>{"postgres", postgres_with_clock, {}},
                                           On<WithClock>{"mysql", mysql_with_clock, {}},
                                           On<WithClock>{"mariadb", mariadb_with_clock, {}}),
                         by_store());

TEST_P(Clock, SetBackBringsNoDeadLeaseToLife) {
    LockManager locks{open()};
    const LockKey key{"Order", "1"};
    const auto lease = locks.try_lock(key, {.ttl = 300ms});
    ASSERT_TRUE(lease);
    outlive(300ms);
    ASSERT_TRUE(is_gone(locks.check(key, lease->lock_id), Gone::expired));

    set_clock(-1h);
    EXPECT_TRUE(is_gone(locks.check(key, lease->lock_id), Gone::expired));
    EXPECT_TRUE(is_gone(locks.renew(key, lease->lock_id, 1min), Gone::expired));
    EXPECT_TRUE(is_gone(locks.extend(key, lease->lock_id, 1min), Gone::expired));
    EXPECT_TRUE(
        is_gone(locks.try_lock(key, {.ttl = 1min, .lock_id = lease->lock_id}), Gone::expired));
    EXPECT_TRUE(locks.holders(key).empty());
    const auto next = locks.try_lock(key, {.ttl = 1min});
    ASSERT_TRUE(next) << next.error().message();
    EXPECT_GT(next->fence, lease->fence);
    EXPECT_TRUE(is_gone(locks.renew(key, lease->lock_id, 1min), Gone::taken));
}

TEST_P(Clock, SetBackBringsNoDeadLeaseToLifeForANewProcess) {
    const LockKey key{"Order", "1"};
    LockId dead;
    {
        LockManager locks{open()};
        dead = die_while_work_goes_on(locks, key);
    }
    set_clock(-1h);
    LockManager other{open()};
    EXPECT_TRUE(is_gone(other.check(key, dead), Gone::expired));
    EXPECT_TRUE(is_gone(other.renew(key, dead, 1min), Gone::expired));
}

// SQLite's guard uses the machine's clock, which a test cannot set.
class ServerClock : public Clock {};
INSTANTIATE_TEST_SUITE_P(, ServerClock,
                         ::testing::Values(On<WithClock>{"postgres", postgres_with_clock, {}},
                                           On<WithClock>{"mysql", mysql_with_clock, {}},
                                           On<WithClock>{"mariadb", mariadb_with_clock, {}}),
                         by_store());

TEST_P(ServerClock, SetBackLetsNoLateWriterPassTheGuard) {
    LockManager locks{open()};
    const LockKey key{"Order", "1"};
    const LockId dead = die_while_work_goes_on(locks, key);

    set_clock(-1h);
    const auto caller = session();
    caller->run("begin");
    EXPECT_TRUE(is_gone(caller->guard(key, dead), Gone::expired));
    caller->run("rollback");
}

TEST_P(Clock, SetBackNeverTurnsTimeBack) {
    LockManager locks{open()};
    const LockKey key{"Order", "1"};
    auto last = locks.try_lock(key, {.ttl = 1min});
    ASSERT_TRUE(last);
    const Fence fence = last->fence;
    for (const auto offset : {0s, -3600s, -1800s, -7200s, 0s}) {
        set_clock(offset);
        for (int i = 0; i < 3; ++i) {
            const auto now = locks.renew(key, last->lock_id, 1min);
            ASSERT_TRUE(now) << now.error().message();
            EXPECT_GE(now->store_now, last->store_now) << offset.count();
            EXPECT_GE(now->expires_at, last->expires_at);
            const auto checked = locks.check(key, last->lock_id);
            ASSERT_TRUE(checked);
            EXPECT_GE(checked->store_now, now->store_now) << offset.count();
            last = now;
        }
    }
    ASSERT_TRUE(locks.release(key, last->lock_id));
    set_clock(-1h);
    expect_normal_leases(locks, key, fence);
    expect_normal_leases(locks, {"Order", "new"}, 0);
}

TEST_P(Clock, SetBackGivesNormalLeasesToANewProcess) {
    const LockKey key{"Order", "1"};
    Fence fence = 0;
    {
        LockManager locks{open()};
        const auto lease = locks.try_lock(key, {.ttl = 1min});
        ASSERT_TRUE(lease);
        fence = lease->fence;
        ASSERT_TRUE(locks.release(key, lease->lock_id));
    }
    set_clock(-1h);
    LockManager other{open()};
    expect_normal_leases(other, key, fence);
}

TEST_P(Clock, LeapingAheadLetsNobodyTakeALeaseThatOnlyLooksExpired) {
    LockManager locks{open()};
    const LockKey key{"Order", "1"};
    constexpr auto ttl = 6s;
    const auto asked = SteadyClock::now();
    const auto lease = locks.try_lock(key, {.owner = "alice", .ttl = ttl});
    const auto answered = SteadyClock::now();
    ASSERT_TRUE(lease);

    set_clock(1h);
    try {
        const auto stolen = locks.try_lock(key, {.owner = "bob"});
        EXPECT_GT(SteadyClock::now() - asked, ttl) << "the machine was too slow for this test";
        ADD_FAILURE() << (stolen ? "taken over" : stolen.error().message());
    } catch (const StoreFault& fault) {
        EXPECT_EQ(fault.cause(), Cause::clock_leap) << fault.what();
        EXPECT_EQ(fault.effect(), Effect::none);
    }
    // Other keys are not affected.
    expect_normal_leases(locks, {"Order", "new"}, 0);

    Result<Lease> next = std::unexpected{Refusal{}};
    EXPECT_TRUE(eventually([&] {
        try {
            next = locks.try_lock(key, {.owner = "bob", .ttl = 1min});
        } catch (const StoreFault& fault) {
            EXPECT_EQ(fault.cause(), Cause::clock_leap) << fault.what();
        }
        return next.has_value();
    }));
    ASSERT_TRUE(next);
    EXPECT_GE(SteadyClock::now() - asked, ttl);
    EXPECT_LT(SteadyClock::now() - answered, ttl + 30s) << "it was not to be kept much longer";
    EXPECT_GT(next->fence, lease->fence);
    EXPECT_TRUE(is_gone(locks.check(key, lease->lock_id), Gone::taken));
}

TEST_P(Clock, LeapingAheadAndBackGivesNormalLeasesAgain) {
    LockManager locks{open()};
    const LockKey key{"Order", "1"};
    const auto lease = locks.try_lock(key, {.ttl = 1min});
    ASSERT_TRUE(lease);
    ASSERT_TRUE(locks.release(key, lease->lock_id));
    set_clock(1h);
    expect_normal_leases(locks, key, lease->fence);
    set_clock(0s);
    expect_normal_leases(locks, key, lease->fence);
    expect_normal_leases(locks, {"Order", "2"}, 0);
}

class ApplicationClock : public ServerTest {};
INSTANTIATE_TEST_SUITE_P(, ApplicationClock, ::testing::ValuesIn(every_server()), by_store());

TEST_P(ApplicationClock, AndItsTimeZonePlayNoPart) {
    LockManager locks{open_store(url())};
    const auto before = locks.try_lock({"Time", "before"});
    ASSERT_TRUE(before);
    for (const auto& [offset, zone] :
         {std::pair{"-2h", "Pacific/Auckland"}, std::pair{"+2h", "America/New_York"}}) {
        GrantForever child{url(),
                           std::string{offset} + zone + "-",
                           {"LD_PRELOAD=" + WallClock::library(), std::string{"FAKETIME="} + offset,
                            "FAKETIME_DONT_FAKE_MONOTONIC=1", std::string{"TZ="} + zone}};
        ASSERT_TRUE(child.wait_for_grants(10)) << child.log();
        child.kill();
        const auto after = locks.check({"Time", "before"}, before->lock_id);
        ASSERT_TRUE(after);
        for (const Told& told : child.told()) {
            const auto lease = locks.check({"Order", told.id}, told.lock_id);
            if (!lease) continue;  // it was released
            EXPECT_GE(lease->granted_at, before->store_now);
            EXPECT_LE(lease->granted_at, after->store_now);
            EXPECT_EQ(lease->expires_at - lease->granted_at, 1h);
        }
    }
}

}  // namespace
}  // namespace leasehold::faults
