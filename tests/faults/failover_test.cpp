// A PostgreSQL with a standby: the primary dies under load and the standby takes its place.
#include <leasehold/open_store.hpp>

#include <future>

#include "faults/databases.hpp"
#include "faults/under_load.hpp"
#include "support/tcp_gate.hpp"

namespace leasehold::faults {
namespace {

class Failover : public ::testing::TestWithParam<On<Server>> {
protected:
    Failover() { wait_until("select count(*) from pg_stat_replication"); }

    void make_synchronous() {
        admin_->run("alter system set synchronous_standby_names = 'standby'");
        admin_->run("select pg_reload_conf()");
        wait_until("select count(*) from pg_stat_replication where sync_state = 'sync'");
    }

    void wait_until(const std::string& counts_one) {
        ASSERT_TRUE(eventually([&] { return admin_->run(counts_one)[0][0] == "1"; })) << counts_one;
    }

    // Names both servers; libpq connects to the primary.
    [[nodiscard]] std::string url() const {
        return "postgres://postgres@127.0.0.1:" + std::to_string(primary_.port()) +
               ",127.0.0.1:" + std::to_string(standby_.port()) + "/locks?io_timeout_ms=2000";
    }

    // The violations that the checker finds after clients have worked through a failover.
    std::vector<std::string> violations_of_a_failover(
        const std::function<void(const WaitForGrants&)>& before_the_crash) {
        return violations_under_load(url(), standby_.url(), [&](const auto& wait_for_grants) {
            before_the_crash(wait_for_grants);
            primary_.kill();
            between_.cut();
            standby_.promote();
        });
    }

    testing::PrivatePostgres primary_;
    testing::TcpGate between_{"127.0.0.1", primary_.port()};
    testing::PrivatePostgres standby_{testing::PrivatePostgres::StandbyOf{between_.port()}};
    std::unique_ptr<Session> admin_ = connect_to_postgres(primary_.url());
};
INSTANTIATE_TEST_SUITE_P(, Failover, ::testing::Values(on_postgres()), by_store());

TEST_P(Failover, ToASynchronousStandbyLosesNothing) {
    make_synchronous();
    const auto found = violations_of_a_failover([](const auto&) {});
    EXPECT_TRUE(found.empty()) << found.size() << " violations, the first:\n" << found.front();
}

// Nothing is promised for this case. The test shows what happens, and that the laboratory notices
// it.
TEST_P(Failover, ToAnAsynchronousStandbyThatLagsLosesGrants) {
    const auto found = violations_of_a_failover([this](const auto& wait_for_grants) {
        between_.hold();
        wait_for_grants();
    });
    EXPECT_FALSE(found.empty());
    std::cout << found.size() << " violations\n";
}

TEST_P(Failover, ACommitWhoseWaitForTheStandbyIsCancelledIsUnknownAndNotGranted) {
    make_synchronous();
    LockManager locks{open_store(primary_.url())};
    ASSERT_TRUE(locks.try_lock({"Order", "0"}));
    between_.hold();
    const LockId lock_id = LockId::random();
    auto asked = std::async(std::launch::async, [&] {
        return locks.try_lock({"Order", "1"}, {.owner = "alice", .ttl = 5min, .lock_id = lock_id});
    });
    ASSERT_TRUE(eventually([&] {
        return !admin_
                    ->run(
                        "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = "
                        "'SyncRep'")
                    .empty();
    }));
    try {
        (void)asked.get();
        ADD_FAILURE() << "answered, although it may be lost with the primary";
    } catch (const StoreFault& fault) {
        EXPECT_EQ(fault.effect(), Effect::unknown) << fault.what();
    }
    between_.pass_everything();
    const auto again = ask_until_answered([&] {
        return locks.try_lock({"Order", "1"}, {.owner = "alice", .ttl = 5min, .lock_id = lock_id});
    });
    ASSERT_TRUE(again);
    EXPECT_EQ(again->lock_id, lock_id);
}

}  // namespace
}  // namespace leasehold::faults
