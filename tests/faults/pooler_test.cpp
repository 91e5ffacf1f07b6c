// PostgreSQL behind a real PgBouncer.
#include <fstream>
#include <future>
#include <optional>
#include <stop_token>

#include "faults/databases.hpp"
#include "stores/postgres/pooler.hpp"

namespace leasehold::faults {
namespace {

class PrivatePgbouncer {
public:
    PrivatePgbouncer(std::uint16_t server, const std::string& settings) {
        constexpr int ports_to_try = 5;
        for (int attempt = 1; !start(server, settings); ++attempt) {
            if (attempt == ports_to_try) throw std::runtime_error{"pgbouncer does not start"};
        }
    }

    [[nodiscard]] std::string url(const std::string& database) const {
        return "postgres://postgres@127.0.0.1:" + std::to_string(port_) + "/" + database;
    }

private:
    // Returns false if PgBouncer ended because another process has taken the port.
    bool start(std::uint16_t server, const std::string& settings) {
        port_ = testing::free_port();
        const auto file = folder_.path() / "pgbouncer.ini";
        std::ofstream{file}
            << "[databases]\n* = host=127.0.0.1 port=" << server
            << " user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " << port_
            << "\nauth_type = any\nunix_socket_dir =\n"
            << settings;
        folder_.give_to("postgres");
        process_.emplace(testing::Command{.arguments = {"/usr/sbin/pgbouncer", file.string()},
                                          .user = "postgres",
                                          .folder = folder_.path(),
                                          .log = folder_.path() / "log"});
        bool answers = false;
        const bool known = eventually([&] {
            if (!process_->running()) return true;
            try {
                (void)connect_to_postgres(url("postgres"))->run("select 1");
                answers = true;
            } catch (const std::runtime_error&) {
                return false;
            }
            return true;
        });
        return known && answers;
    }

    testing::TemporaryFolder folder_{"leasehold-pgbouncer"};
    std::uint16_t port_ = 0;
    std::optional<testing::ChildProcess> process_;
};

class Pooler : public ServerTest {
protected:
    [[nodiscard]] PrivatePgbouncer pooler(const std::string& settings) {
        return PrivatePgbouncer{database().port(), settings};
    }
};
INSTANTIATE_TEST_SUITE_P(, Pooler, ::testing::Values(on_postgres()), by_store());

void expect_refused(const std::string& url) {
    try {
        (void)open_store(url);
        FAIL() << "it was opened";
    } catch (const StoreFault& fault) {
        EXPECT_EQ(fault.cause(), Cause::configuration) << fault.what();
        EXPECT_EQ(fault.effect(), Effect::none) << fault.what();
        EXPECT_TRUE(std::string_view{fault.what()}.contains("pool_mode=session")) << fault.what();
    }
}

TEST_P(Pooler, ThatLendsSessionsForATransactionIsRefusedBeforeAnythingIsChanged) {
    for (const std::string sessions : {"1", "20"}) {
        const auto pgbouncer = pooler("pool_mode = transaction\ndefault_pool_size = " + sessions);
        expect_refused(pgbouncer.url(name()));
        const auto other = connect_to_postgres(pgbouncer.url(name()));
        EXPECT_EQ(other->run("show enable_seqscan"), (Rows{{"on"}}));
        EXPECT_EQ(other->run("select to_regclass('locks') is null"), (Rows{{"t"}}));
    }
}

TEST_P(Pooler, ThatLendsSessionsForAStatementIsRefusedInTheSameWords) {
    for (const std::string sessions : {"1", "20"}) {
        const auto pgbouncer = pooler("pool_mode = statement\ndefault_pool_size = " + sessions);
        expect_refused(pgbouncer.url(name()));
    }
}

TEST_P(Pooler, ThatLendsSessionsIsRefusedAmongOtherClientsToo) {
    const auto pgbouncer = pooler("pool_mode = transaction\ndefault_pool_size = 3");
    std::vector<std::jthread> clients;
    for (int i = 0; i < 3; ++i) {
        clients.emplace_back([&](const std::stop_token& stop) {
            const auto session = connect_to_postgres(pgbouncer.url(name()));
            while (!stop.stop_requested()) session->run("select 1");
        });
    }
    for (int i = 0; i < 5; ++i) expect_refused(pgbouncer.url(name()));
}

// PgBouncer lends the session that was returned last. Here two clients return theirs so that the
// probe's transaction gets one of them, and every statement beside it gets ours again.
TEST_P(Pooler, ThatReturnsTheSameSessionsInEveryRoundIsFoundOut) {
    const auto pgbouncer = pooler("pool_mode = transaction\ndefault_pool_size = 3");
    const std::string url = pgbouncer.url(name());
    const auto first = connect_to_postgres(url);
    const auto second = connect_to_postgres(url);
    const auto ours = postgres::connect_to(url, 10s);
    postgres::Conversation talk{ours.get(), 10s};
    const auto interfere = [&] {
        first->run("begin");
        second->run("begin");
        first->run("rollback");
        second->run("rollback");
        return postgres::connect_to(url, 10s);
    };
    EXPECT_THROW((void)postgres::require_own_session(talk, interfere, 10s), StoreFault);
}

TEST_P(Pooler, WithASessionForEachConnectionIsAsGoodAsNone) {
    const auto pgbouncer = pooler("pool_mode = session\ndefault_pool_size = 20");
    LockManager locks{open_store(pgbouncer.url(name()) + "?durability=strict")};
    LockManager others{open_store(pgbouncer.url(name()))};
    EXPECT_EQ(locks.status().warnings, std::vector<std::string>{});
    const auto lease = locks.try_lock({"Order", "1"}, {.owner = "alice", .ttl = 1min});
    ASSERT_TRUE(lease);
    EXPECT_FALSE(others.try_lock({"Order", "1"}, {.owner = "bob"}));
    EXPECT_TRUE(locks.release(lease->key, lease->lock_id));
    EXPECT_TRUE(others.try_lock({"Order", "1"}, {.owner = "bob"}));
}

// A pooler that lends the session of a watch to others would lose its LISTEN and its locks. Whether
// it does so is not known, so waiters ask by themselves.
TEST_P(Pooler, LetsWaitersAskInsteadOfWatching) {
    const auto pgbouncer = pooler("pool_mode = session\ndefault_pool_size = 20");
    const auto store = open_store(pgbouncer.url(name()));
    const auto watch = store->open_watch();
    const std::vector<LockKey> keys{{"Order", "1"}};
    std::stop_source stop;
    auto found =
        std::async(std::launch::async, [&] { return watch->wait(keys, stop.get_token()); });

    LockManager direct{open_store(url())};
    LockManager waiter{open_store(pgbouncer.url(name()))};
    const auto lease = direct.try_lock(keys.front(), {.owner = "alice"}).value();
    auto waits = std::async(std::launch::async,
                            [&] { return waiter.lock_for(keys.front(), 1h, {.owner = "bob"}); });
    ASSERT_TRUE(direct.release(lease.key, lease.lock_id));
    EXPECT_EQ(waits.get().value().owner, "bob");
    EXPECT_EQ(connect()->run("select count(*) from pg_locks where locktype = 'advisory'"),
              (Rows{{"0"}}));
    stop.request_stop();
    EXPECT_EQ(found.get(), std::vector<LockKey>{}) << "a watch returns a new key at once";
}

TEST_P(Pooler, WithASingleSessionIsUsedWithAWarning) {
    const auto pgbouncer = pooler("pool_mode = session\ndefault_pool_size = 1");
    // The pooler keeps its only session for the store from now on.
    LockManager locks{ask_until_answered([&] { return open_store(pgbouncer.url(name())); })};
    EXPECT_TRUE(locks.try_lock({"Order", "1"}, {.owner = "alice"}));
    ASSERT_EQ(locks.status().warnings.size(), 1U);
    EXPECT_TRUE(locks.status().warnings.front().contains("pooler"));
}

TEST_P(Pooler, ThatLendsSessionsServesTheGuard) {
    const auto pgbouncer = pooler("pool_mode = transaction");
    LockManager locks{open_store(url())};
    const auto lease = locks.try_lock({"Order", "1"}, {.owner = "alice", .ttl = 1min});
    ASSERT_TRUE(lease);
    const auto application = connect_to_postgres(pgbouncer.url(name()));
    application->run("create table orders (id text)");
    application->run("begin");
    EXPECT_TRUE(application->guard(lease->key, lease->lock_id));
    application->run("insert into orders values ('1')");
    EXPECT_TRUE(application->release(lease->key, lease->lock_id));
    application->run("commit");
    application->run("begin");
    EXPECT_TRUE(is_gone(application->guard(lease->key, lease->lock_id), Gone::released));
    application->run("rollback");
    EXPECT_EQ(application->run("select id from orders"), (Rows{{"1"}}));
}

// The presented lease is a setting of the transaction, not of the session, which other clients use
// later.
TEST_P(Pooler, ThatLendsSessionsKeepsAPresentedLeaseInItsTransaction) {
    const auto pgbouncer = pooler("pool_mode = transaction\ndefault_pool_size = 1");
    LockManager locks{open_store(url())};
    const auto lease = locks.try_lock({"Order", "1"}, {.owner = "alice", .ttl = 1min});
    ASSERT_TRUE(lease);
    const auto application = connect_to_postgres(pgbouncer.url(name()));
    const auto other = connect_to_postgres(pgbouncer.url(name()));
    application->run("create table orders (id text, text text)");
    application->run("insert into orders values ('1', 'old')");
    (void)open_protection(url())->protect({.name = "orders", .key = "Order/{id}"});
    const std::string write = "update orders set text = 'new'";
    EXPECT_THROW(application->run(write), std::runtime_error);
    application->run("begin");
    EXPECT_TRUE(application->guard(lease->key, lease->lock_id));
    application->run(write);
    application->run("commit");
    EXPECT_THROW(other->run(write), std::runtime_error);
    EXPECT_THROW(application->run(write), std::runtime_error);
    EXPECT_EQ(other->run("select text from orders"), (Rows{{"new"}}));
}

}  // namespace
}  // namespace leasehold::faults
