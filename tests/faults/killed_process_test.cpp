#include <map>

#include "faults/databases.hpp"
#include "faults/grant_forever.hpp"

namespace leasehold::faults {
namespace {

constexpr std::size_t grants_before_a_kill = 60;

class KilledProcess : public DatabaseTest {};
INSTANTIATE_TEST_SUITE_P(, KilledProcess, ::testing::ValuesIn(every_database()), by_store());

// Every lease is in the state that the child printed.
void verify(LockManager& locks, const std::vector<Told>& lines) {
    std::map<std::string, Told> last;
    for (const Told& told : lines) last.insert_or_assign(told.id, told);
    for (const auto& [id, told] : last) {
        const auto lease = locks.check({"Order", id}, told.lock_id);
        if (told.what == "released") {
            EXPECT_TRUE(is_gone(lease, Gone::released)) << id;
        } else if (lease) {
            EXPECT_EQ(lease->fence, told.fence) << id;
        } else {
            // The child was killed between the release and its line.
            EXPECT_TRUE(id == lines.back().id && is_gone(lease, Gone::released))
                << id << ": " << lease.error().message();
        }
    }
}

TEST_P(KilledProcess, TakesNothingBackThatItSaidToHaveAndLeavesNothingHalfDone) {
    for (const char* const prefix : {"first-", "second-", "third-"}) {
        GrantForever one{url(), std::string{prefix} + "a-"};
        GrantForever other{url(), std::string{prefix} + "b-"};
        ASSERT_TRUE(one.wait_for_grants(grants_before_a_kill)) << one.log();
        ASSERT_TRUE(other.wait_for_grants(grants_before_a_kill)) << other.log();
        one.kill();
        other.kill();

        LockManager locks{open_store(url())};
        verify(locks, one.told());
        verify(locks, other.told());
        const auto lease = locks.try_lock({"Order", std::string{prefix} + "after"});
        EXPECT_TRUE(lease) << lease.error().message();
    }
}

class KilledProcessOnSqlite : public DatabaseTest {};
INSTANTIATE_TEST_SUITE_P(, KilledProcessOnSqlite, ::testing::Values(every_database().front()),
                         by_store());

TEST_P(KilledProcessOnSqlite, LeavesTheFileSound) {
    for (int i = 0; i < 5; ++i) {
        GrantForever child{url(), std::to_string(i) + "-"};
        ASSERT_TRUE(child.wait_for_grants(grants_before_a_kill)) << child.log();
        child.kill();
        EXPECT_EQ(connect()->run("pragma integrity_check"), (Rows{{"ok"}}));
    }
}

}  // namespace
}  // namespace leasehold::faults
