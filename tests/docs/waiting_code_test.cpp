#include "docs/waiting_code.hpp"

#include <gtest/gtest.h>

#include <leasehold/leasehold.hpp>
#include <leasehold/stores/memory.hpp>
#include <thread>

namespace leasehold::docs {
namespace {

TEST(WaitingPage, TakesWaitsHoldsAndReleases) {
    LockManager locks{memory::open()};
    std::vector<std::string> written;
    std::string shown;
    std::vector<std::string> worked_on;
    boost::asio::io_context context;
    use_as_in_waiting_page(
        locks, {"first", "second"}, [&](const std::string& text) { shown = text; },
        [&](const LockKey& key) {
            EXPECT_EQ(locks.holders(key).size(), 1U);
            worked_on.push_back(key.to_string());
        },
        [&](const std::string& item, Fence fence) {
            EXPECT_EQ(locks.holders({"Job", "nightly"}).items.at(0).fence, fence);
            written.push_back(item);
        },
        [](Fence) { std::this_thread::yield(); }, context);
    context.run();
    EXPECT_EQ(shown, "");
    EXPECT_EQ(written, (std::vector<std::string>{"first", "second"}));
    EXPECT_TRUE(locks.holders({"Job", "nightly"}).empty());
    EXPECT_EQ(locks.holders({"Job", "encode"}).size(), 1U);
    EXPECT_EQ(worked_on, (std::vector<std::string>{"Order/1", "Account/1", "Account/2",
                                                   "Job/import", "Order/3"}));
    EXPECT_TRUE(locks.holders({"Order", "1"}).empty());
    EXPECT_TRUE(locks.holders({"Account", "2"}).empty());
    EXPECT_TRUE(locks.holders({"Job", "import"}).empty());
    EXPECT_TRUE(locks.holders({"Order", "3"}).empty());
}

}  // namespace
}  // namespace leasehold::docs
