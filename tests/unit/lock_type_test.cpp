#include <gtest/gtest.h>

#include <leasehold/lock_manager.hpp>
#include <leasehold/lock_type.hpp>
#include <leasehold/store.hpp>

#include "unit/manual_clock.hpp"

namespace leasehold::testing {
namespace {

static_assert(mode_for(LockType::exclusive_write, Access::read) == std::nullopt);
static_assert(mode_for(LockType::exclusive_write, Access::write) == Mode::exclusive);
static_assert(mode_for(LockType::exclusive_read, Access::read) == Mode::exclusive);
static_assert(mode_for(LockType::exclusive_read, Access::write) == Mode::exclusive);
static_assert(mode_for(LockType::read_write, Access::read) == Mode::shared);
static_assert(mode_for(LockType::read_write, Access::write) == Mode::exclusive);

TEST(LockType, DecidesWhoMayWorkBesideWhom) {
    struct Row {
        LockType type;
        Access first;
        Access second;
        bool together;
    };
    for (const Row& row : {Row{LockType::exclusive_write, Access::read, Access::read, true},
                           Row{LockType::exclusive_write, Access::read, Access::write, true},
                           Row{LockType::exclusive_write, Access::write, Access::read, true},
                           Row{LockType::exclusive_write, Access::write, Access::write, false},
                           Row{LockType::exclusive_read, Access::read, Access::read, false},
                           Row{LockType::exclusive_read, Access::read, Access::write, false},
                           Row{LockType::exclusive_read, Access::write, Access::read, false},
                           Row{LockType::exclusive_read, Access::write, Access::write, false},
                           Row{LockType::read_write, Access::read, Access::read, true},
                           Row{LockType::read_write, Access::read, Access::write, false},
                           Row{LockType::read_write, Access::write, Access::read, false},
                           Row{LockType::read_write, Access::write, Access::write, false}}) {
        LockManager locks{memory_store_on(ManualClock{})};
        const auto may = [&](const char* owner, Access access) {
            const auto mode = mode_for(row.type, access);
            return !mode ||
                   locks.try_lock({"Order", "1"}, {.owner = owner, .mode = *mode}).has_value();
        };
        ASSERT_TRUE(may("alice", row.first));
        EXPECT_EQ(may("bob", row.second), row.together)
            << "type " << int{static_cast<std::uint8_t>(row.type)} << ", first "
            << int{static_cast<std::uint8_t>(row.first)} << ", second "
            << int{static_cast<std::uint8_t>(row.second)};
    }
}

}  // namespace
}  // namespace leasehold::testing
