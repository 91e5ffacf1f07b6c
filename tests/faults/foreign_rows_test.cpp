// Rows that other programs wrote into the tables, with keys that Leasehold would have refused.
#include "faults/databases.hpp"

namespace leasehold::faults {
namespace {

class ForeignRows : public ServerTest {
protected:
    void SetUp() override {
        const auto session = connect();
        for (const std::string& key : impossible_keys) {
            std::string locks =
                "insert into locks (type, id, lockid, expiration_time, owner) values (";
            std::string history =
                "insert into lock_history (type, id, lockid, owner, mode, fence, granted_at, "
                "expiration_time, ended, ended_at, ended_by, ended_why, note) values (";
            ++rows_;
            for (std::string* sql : {&locks, &history}) {
                sql->append(key).append(", 'foreign ").append(std::to_string(rows_)).append("', ");
            }
            session->run(locks.append("'2096-10-02 07:06:40', 'alice')"));
            session->run(history.append(
                "'alice', 0, 1, 4000000000000000, 4000000000000000, 2, 4000000000000000, '', '', "
                "'')"));
        }
    }

    LockManager& locks() { return locks_; }

private:
    // Empty, with a control character, and not UTF-8.
    const std::vector<std::string> impossible_keys{"'', '2'", "'Order', ''", "'Order', x'31320a'",
                                                   "'Order', x'ff'", "x'00', '1'"};
    std::size_t rows_ = 0;
    LockManager locks_{open_store(url())};
};
INSTANTIATE_TEST_SUITE_P(, ForeignRows, ::testing::Values(on_mysql(), on_mariadb()), by_store());

TEST_P(ForeignRows, AreNotListedAndHideNoOther) {
    std::vector<std::string> ids{"1", "12", "13", "2"};
    for (const std::string& id : ids) ASSERT_TRUE(locks().try_lock({"Order", id}, {.ttl = 1min}));

    std::vector<std::string> listed;
    List page{.limit = 2};
    for (auto found = locks().list(page); !found.empty(); found = locks().list(page)) {
        EXPECT_EQ(found.size(), 2U);
        for (const Holder& holder : found) listed.emplace_back(holder.key.id());
        page.after = found.back();
    }
    EXPECT_EQ(listed, ids);
}

TEST_P(ForeignRows, AreNeverLeftByRequestsAboutLeasesThatAreNotThere) {
    const auto session = connect();
    session->run("delete from locks");
    const auto store = open_store(url());
    for (const std::size_t size : {1U, 3U}) {
        std::vector<Request> requests;
        for (std::size_t i = 0; i < size; ++i) {
            const std::string id = std::to_string(i);
            requests.emplace_back(Renew{LockKey{"Renew", id}, LockId::random(), 1min});
            requests.emplace_back(Extend{LockKey{"Extend", id}, LockId::random(), 1min});
            requests.emplace_back(Release{LockKey{"Release", id}, LockId::random()});
            requests.emplace_back(Check{LockKey{"Check", id}, LockId::random()});
        }
        for (const Request& request : requests) {
            Outcome outcome;
            store->apply({&request, 1}, {&outcome, 1});
            EXPECT_EQ(std::get<Refusal>(outcome).kind, Refusal::Kind::gone);
        }
        std::vector<Outcome> outcomes(requests.size());
        store->apply(requests, outcomes);
        for (const Outcome& outcome : outcomes) {
            EXPECT_EQ(std::get<Refusal>(outcome).kind, Refusal::Kind::gone);
        }
    }
    EXPECT_EQ(session->run("select count(*) from locks").front().front(), "0");
}

TEST_P(ForeignRows, AreNoHistoryAndHideNoOther) {
    const auto lease = locks().try_lock({"Order", "1"}, {.ttl = 1min});
    ASSERT_TRUE(locks().release({"Order", "1"}, lease->lock_id));
    const auto past = locks().history({.limit = 3});
    ASSERT_EQ(past.size(), 1U);
    EXPECT_EQ(past.front().lease.fence, lease->fence);
}

TEST_P(ForeignRows, AreLeftByAPurgeThatGoesOnBehindThem) {
    ASSERT_TRUE(locks().try_lock({"Order", "1"}, {.owner = "alice", .ttl = 1min}));
    const auto released = locks().release_all("alice");
    ASSERT_TRUE(released);
    EXPECT_EQ(released->size(), 1U);

    const auto store = open_store(url("retention_s=1"));
    const Request purge = Purge{.rows = 1};
    EXPECT_TRUE(eventually([&] {
        Outcome purged;
        store->apply({&purge, 1}, {&purged, 1});
        return std::get<Purged>(purged).forgotten > 0;
    }));
    EXPECT_EQ(connect()->run("select count(*) from locks where owner = 'alice'").front().front(),
              "5");
}

}  // namespace
}  // namespace leasehold::faults
