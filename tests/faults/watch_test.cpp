// The connection on which PostgreSQL notifies of releases is lost.
#include <future>

#include "faults/databases.hpp"
#include "support/tcp_gate.hpp"

namespace leasehold::faults {
namespace {

class Watch : public ServerTest {
protected:
    // The advisory locks of all watches.
    [[nodiscard]] std::string marks() {
        return connect()
            ->run(
                "select count(*) from pg_locks where locktype = 'advisory' and classid = "
                "1818583411 and database = (select oid from pg_database where datname = "
                "current_database())")
            .at(0)
            .at(0);
    }

    const std::vector<LockKey> keys_{{"Order", "1"}, {"Order", "2"}};
};
INSTANTIATE_TEST_SUITE_P(, Watch, ::testing::Values(on_postgres()), by_store());

TEST_P(Watch, WhoseConnectionIsCutLeavesNothingBehindAndIsReplaced) {
    LockManager direct{open_store(url())};
    const auto lease = direct.try_lock(keys_.front()).value();
    testing::TcpGate gate{"127.0.0.1", database().port()};
    const auto store = open_store(database().url(name(), gate.port()));
    const auto watch = store->open_watch();
    ASSERT_EQ(watch->wait(keys_, {}), keys_);
    EXPECT_EQ(marks(), "3") << "one for each key, and one for all";

    gate.cut();
    EXPECT_THROW((void)watch->wait(keys_, {}), StoreFault);
    EXPECT_TRUE(eventually([&] { return marks() == "0"; }));

    const auto another = store->open_watch();
    ASSERT_EQ(another->wait(keys_, {}), keys_);
    ASSERT_TRUE(direct.release(lease.key, lease.lock_id));
    EXPECT_EQ(another->wait(keys_, {}), std::vector{lease.key});
}

TEST_P(Watch, ThatCannotConnectEndsWhenItIsStopped) {
    testing::TcpGate gate{"127.0.0.1", database().port()};
    const auto store = open_store(database().url(name(), gate.port()) + "?io_timeout_ms=600000");
    gate.hold();
    const auto watch = store->open_watch();
    std::stop_source stop;
    auto found =
        std::async(std::launch::async, [&] { return watch->wait(keys_, stop.get_token()); });
    EXPECT_TRUE(eventually([&] { return gate.connections() >= 2; }));
    stop.request_stop();
    EXPECT_TRUE(found.get().empty());
    gate.pass_everything();
}

TEST_P(Watch, LeavesNothingBehindWhenTheLastWaiterHasGone) {
    LockManager direct{open_store(url())};
    ASSERT_TRUE(direct.try_lock(keys_.front(), {.owner = "alice"}));
    {
        LockManager waiter{open_store(url())};
        std::stop_source stop;
        auto waits = std::async(std::launch::async, [&] {
            return waiter.lock_for(keys_.front(), 1h, {.owner = "bob"}, stop.get_token());
        });
        EXPECT_TRUE(eventually([&] { return marks() == "2"; }));
        stop.request_stop();
        EXPECT_FALSE(waits.get());
    }
    EXPECT_TRUE(eventually([&] { return marks() == "0"; }));
}

// NOTIFY takes a lock of the whole server until its transaction has committed. So a transaction of
// somebody else that waits for its standby keeps others from notifying.
TEST_P(Watch, ThatCannotBeNotifiedDelaysNoRelease) {
    // A release that waited for the notification would wait this long.
    const std::string options = "options=-csynchronous_commit%3Dlocal&io_timeout_ms=600000";
    LockManager holder{open_store(url(options))};
    LockManager waiter{open_store(url(options))};
    const auto lease = holder.try_lock(keys_.front(), {.owner = "alice"}).value();
    auto waits = std::async(std::launch::async,
                            [&] { return waiter.lock_for(keys_.front(), 1h, {.owner = "bob"}); });
    EXPECT_TRUE(eventually([&] { return marks() == "2"; }));

    const auto admin = connect();
    admin->run("create table work (id integer)");
    const auto set_standby = [&](const std::string& name) {
        admin->run("alter system set synchronous_standby_names = '" + name + "'");
        admin->run("select pg_reload_conf()");
        return eventually(
            [&] { return connect()->run("show synchronous_standby_names") == Rows{{name}}; });
    };
    ASSERT_TRUE(set_standby("nobody"));
    auto stranger = std::async(std::launch::async, [&] {
        connect()->run(
            "with done as (insert into work values (1) returning id) "
            "select pg_notify('work', '') from done");
    });
    EXPECT_TRUE(eventually([&] {
        return admin->run("select count(*) from pg_stat_activity where wait_event = 'SyncRep'") ==
               Rows{{"1"}};
    }));

    auto released =
        std::async(std::launch::async, [&] { return holder.release(lease.key, lease.lock_id); });
    EXPECT_EQ(released.wait_for(60s), std::future_status::ready);
    EXPECT_EQ(waits.wait_for(60s), std::future_status::ready);
    EXPECT_EQ(stranger.wait_for(0s), std::future_status::timeout);
    EXPECT_TRUE(set_standby(""));
    EXPECT_TRUE(released.get());
    EXPECT_EQ(waits.get().value().owner, "bob");
    stranger.get();
}

}  // namespace
}  // namespace leasehold::faults
