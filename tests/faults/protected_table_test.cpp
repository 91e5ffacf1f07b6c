// The database, or the writing process, is killed between a guarded write to a protected table and
// its commit. Afterwards the table is protected as before, and no session has presented a lease.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

#include "faults/databases.hpp"

namespace leasehold::faults {
namespace {

const std::string write_1 = "update orders set text = 'new' where id = 1";
const std::string write_2 = "update orders set text = 'new' where id = 2";

void make_protected_orders(Session& session, const std::string& url) {
    session.run("create table orders (id integer not null primary key, text varchar(20))");
    session.run("insert into orders values (1, 'old'), (2, 'old')");
    (void)open_protection(url)->protect({.name = "orders", .key = "Order/{id}"});
}

// The database's message, or nothing if the row was written.
std::string failure_of(Session& session, const std::string& sql) {
    try {
        session.run(sql);
        return {};
    } catch (const std::runtime_error& error) {
        return error.what();
    }
}

::testing::AssertionResult refused(Session& session, const std::string& sql) {
    const std::string failure = failure_of(session, sql);
    if (failure.contains("leasehold: Order/1 is held by alice until ")) {
        return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << sql << ": " << failure;
}

// The holder can still present the lease, and write.
void expect_holder_can_write(Session& session, const Lease& lease) {
    session.run("begin");
    EXPECT_TRUE(session.guard(lease.key, lease.lock_id));
    EXPECT_EQ(failure_of(session, write_1), "");
    session.run("commit");
    EXPECT_EQ(session.run("select text from orders where id = 1"), (Rows{{"new"}}));
    EXPECT_TRUE(refused(session, write_1));
}

// Each test has a server of its own, because recovery takes longer with more databases.
class ProtectedTableOfAKilledServer : public ::testing::TestWithParam<On<Server>> {
protected:
    Server& server() { return *server_; }
    std::string url() const { return server_->url("locks"); }

private:
    std::unique_ptr<Server> server_ = GetParam().make({});
};
INSTANTIATE_TEST_SUITE_P(, ProtectedTableOfAKilledServer, ::testing::ValuesIn(every_server()),
                         by_store());

TEST_P(ProtectedTableOfAKilledServer, StaysProtectedAndForgetsWhoPresentedALease) {
    LockManager locks{open_store(url())};
    auto writer = server().connect("locks");
    make_protected_orders(*writer, url());
    const Lease lasting = locks.try_lock({"Order", "1"}, {.owner = "alice", .ttl = 1h}).value();
    const Lease brief = locks.try_lock({"Order", "2"}, {.owner = "alice", .ttl = 5s}).value();
    writer->run("begin");
    ASSERT_TRUE(writer->guard(brief.key, brief.lock_id));
    ASSERT_TRUE(writer->guard(lasting.key, lasting.lock_id));
    ASSERT_EQ(failure_of(*writer, write_1), "");
    ASSERT_EQ(failure_of(*writer, write_2), "");
    server().kill();
    server().start();

    const auto shell = server().connect("locks");
    EXPECT_EQ(shell->run("select text from orders order by id"), (Rows{{"old"}, {"old"}}));
    EXPECT_TRUE(refused(*shell, write_1));
    shell->run("begin");
    EXPECT_TRUE(refused(*shell, write_1));
    shell->run("rollback");
    if (std::string_view{GetParam().store} != "postgres") {
        EXPECT_EQ(shell->run("select * from lock_presented where type = 'Order'"), Rows{});
    }
    EXPECT_TRUE(open_protection(url())->problems().empty());
    // The lease expired during the crash, so it does not keep others out.
    EXPECT_TRUE(eventually([&] { return failure_of(*shell, write_2).empty(); }));
    shell->run("begin");
    EXPECT_TRUE(is_gone(shell->guard(brief.key, brief.lock_id), Gone::expired));
    shell->run("rollback");
    expect_holder_can_write(*shell, lasting);
}

class ProtectedTableAndTwoPhases : public ::testing::TestWithParam<On<Server>> {};
INSTANTIATE_TEST_SUITE_P(, ProtectedTableAndTwoPhases, ::testing::Values(on_postgres()),
                         by_store());

// PREPARE TRANSACTION ends the transaction for its session.
TEST_P(ProtectedTableAndTwoPhases, PresentingEndsWhenTheTransactionIsPrepared) {
    const auto server = GetParam().make({.settings = {"max_prepared_transactions=2"}});
    LockManager locks{open_store(server->url("locks"))};
    const auto session = server->connect("locks");
    make_protected_orders(*session, server->url("locks"));
    const Lease lease = locks.try_lock({"Order", "1"}, {.owner = "alice", .ttl = 1h}).value();
    session->run("begin");
    ASSERT_TRUE(session->guard(lease.key, lease.lock_id));
    session->run("insert into orders values (3, 'new')");
    session->run("prepare transaction 'first'");
    EXPECT_TRUE(refused(*session, write_1));
    EXPECT_FALSE(locks.release(lease.key, lease.lock_id)) << "the key is guarded until it ends";
    session->run("commit prepared 'first'");
    EXPECT_TRUE(refused(*session, write_1));
    EXPECT_TRUE(locks.release(lease.key, lease.lock_id));
    EXPECT_EQ(failure_of(*session, write_1), "");
}

class ProtectedTableOfAKilledProcess : public DatabaseTest {};
INSTANTIATE_TEST_SUITE_P(, ProtectedTableOfAKilledProcess, ::testing::ValuesIn(every_database()),
                         by_store());

TEST_P(ProtectedTableOfAKilledProcess, StaysProtectedAndForgetsWhoPresentedALease) {
    auto shell = connect();
    auto locks = std::make_unique<LockManager>(open_store(url()));
    make_protected_orders(*shell, url());
    const Lease lease = locks->try_lock({"Order", "1"}, {.owner = "alice", .ttl = 1h}).value();
    // A process that has an SQLite file open must not fork.
    locks.reset();
    shell.reset();

    int written[2];
    ASSERT_EQ(pipe(written), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        try {
            const auto writer = connect();
            writer->run("begin");
            const bool ok = writer->guard(lease.key, lease.lock_id).has_value() &&
                            failure_of(*writer, write_1).empty();
            if (write(written[1], ok ? "y" : "n", 1) == 1) pause();
        } catch (const std::exception&) {
        }
        _exit(1);
    }
    close(written[1]);
    char answer = 'n';
    EXPECT_EQ(read(written[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    close(written[0]);
    ASSERT_EQ(kill(child, SIGKILL), 0);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);

    shell = connect();
    // The server notices after a moment that the process has gone.
    std::string failure;
    EXPECT_TRUE(eventually([&] {
        failure = failure_of(*shell, write_1);
        return failure.contains("leasehold: Order/1 is held by alice until ");
    })) << failure;
    EXPECT_EQ(shell->run("select text from orders where id = 1"), (Rows{{"old"}}));
    EXPECT_TRUE(open_protection(url())->problems().empty());
    expect_holder_can_write(*shell, lease);
}

}  // namespace
}  // namespace leasehold::faults
