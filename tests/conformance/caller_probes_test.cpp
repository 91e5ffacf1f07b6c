#include <atomic>
#include <optional>

#include "conformance/situation.hpp"

// Situations in a caller's own transaction in which the pattern's published code was seen to fail.
namespace leasehold::conformance {
namespace {

class CallerSituations : public InSituation<SqlHarness> {};

TEST_P(CallerSituations, ATryInsideTheCallersTransactionMakesNobodyElseWait) {
    const Lease mine = must(locks().try_lock(key_, {.owner = "A"}));
    const auto transaction = harness().begin();
    ASSERT_TRUE(granted(transaction->guard(key_, mine.lock_id)));
    // The answer came before the transaction ended, so the try did not wait for it.
    EXPECT_TRUE(held(manager()->try_lock(key_, {.owner = "B"}), {"A"}));
    transaction->commit();
}

TEST_P(CallerSituations, ARefusalDoesNotPoisonTheCallersTransaction) {
    (void)must(locks().try_lock(key_, {.owner = "A"}));
    const auto transaction = harness().begin();
    transaction->write("record", "1");
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "B"}), {"A"}));
    EXPECT_TRUE(gone(transaction->guard(key_, LockId::random()), Gone::unknown));
    transaction->write("record", "2");
    transaction->commit();
    EXPECT_EQ(harness().connect()->read("record"), "2");
}

TEST_P(CallerSituations, CallersInTransactionsStarveNobody) {
    std::atomic<int> answered{0};
    (void)locks();
    eight([&](int i, LockManager&) {
        const auto transaction = harness().begin();
        transaction->write("record " + std::to_string(i), "written");
        // All of them ask one manager, which has one connection.
        (void)locks().try_lock({"Order", std::to_string(i)}, {.owner = "caller"});
        ++answered;
        transaction->commit();
    });
    EXPECT_EQ(answered, 8);
}

TEST_P(CallerSituations, ReleasedWithTheSaveNoEditIsLost) {
    std::atomic<int> saved{0};
    eight([&](int, LockManager& locks) {
        const auto connection = harness().connect();
        for (int edit = 0; edit < 5; ++edit) {
            std::optional<Lease> lease;
            if (!eventually([&] {
                    auto asked = locks.try_lock(key_);
                    if (asked) lease = *std::move(asked);
                    return lease.has_value();
                })) {
                throw std::runtime_error{"the key was never granted"};
            }
            connection->begin();
            (void)must(connection->guard(key_, lease->lock_id));
            const std::string value = connection->read("counter");
            connection->write("counter", std::to_string(value.empty() ? 1 : std::stoi(value) + 1));
            (void)must(connection->release(key_, lease->lock_id));
            connection->commit();
            ++saved;
        }
    });
    EXPECT_EQ(saved, 40);
    EXPECT_EQ(harness().connect()->read("counter"), "40");
}

TEST_P(CallerSituations, TheCallersConnectionIsLeftAsItWas) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "A"}));
    const auto connection = harness().connect();
    connection->begin();
    (void)must(connection->guard(key_, lease.lock_id));
    (void)must(connection->release(key_, lease.lock_id));
    connection->commit();
    // Outside a transaction, a statement commits by itself again.
    connection->write("record", "by itself");
    EXPECT_EQ(harness().connect()->read("record"), "by itself");
}

LEASEHOLD_ON_EVERY_SQL_STORE(CallerSituations);

}  // namespace
}  // namespace leasehold::conformance
