#include <gtest/gtest.h>

#include <leasehold/request.hpp>
#include <leasehold/stores/memory.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "core/fresh_lock_id.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

// A memory store without a LockManager: it keeps house only when the test says so.
class MemoryHousekeeping : public ::testing::Test {
protected:
    static constexpr Duration retention = 24h;

    Outcome ask(const Request& request) {
        Outcome outcome;
        store_->apply({&request, 1}, {&outcome, 1});
        return outcome;
    }

    // Takes this many new keys, one by one or with a try for several, and releases them.
    void take_and_release(int keys, int at_once = 1) {
        for (int i = 0; i < keys; i += at_once) {
            TryLockAll wanted{.ttl = 1h};
            for (int j = 0; j < at_once; ++j) {
                wanted.keys.emplace_back("Order", std::to_string(1'000'000'000 + taken_++));
                wanted.lock_ids.push_back(FreshLockId::draw());
            }
            if (at_once == 1) {
                const TryLock one{.key = wanted.keys[0], .lock_id = wanted.lock_ids[0], .ttl = 1h};
                ASSERT_TRUE(std::holds_alternative<Lease>(ask(one)));
            } else {
                ASSERT_TRUE(std::holds_alternative<std::vector<Lease>>(ask(wanted)));
            }
            for (std::size_t j = 0; j < wanted.keys.size(); ++j) {
                const Release one{.key = wanted.keys[j], .lock_id = wanted.lock_ids[j]};
                ASSERT_TRUE(std::holds_alternative<Lease>(ask(one)));
            }
            pass(1us);
        }
    }

    // Housekeeping until there is nothing more to do now. Returns the number of pieces.
    int keep_house() {
        int pieces = 1;
        while (store_->keep_house()) ++pieces;
        return pieces;
    }

    // How many keys the store would still have forgotten now, had it kept house perfectly.
    std::size_t purge() {
        std::size_t forgotten = 0;
        for (;;) {
            const auto purged = std::get<Purged>(ask(Purge{}));
            forgotten += purged.forgotten;
            if (purged.complete) return forgotten;
        }
    }

    void pass(Duration time) { now_ += time; }

    Time now_ = Time{} + std::chrono::years{50};
    std::unique_ptr<Store> store_ = memory::open({.retention = retention}, [this] { return now_; });
    int taken_ = 0;
};

TEST_F(MemoryHousekeeping, NoGrantPaysForForgetting) {
    take_and_release(2'000);
    pass(retention + 1h);
    take_and_release(2'000);
    take_and_release(2'000, 20);
    EXPECT_EQ(purge(), 2'000U);
}

TEST_F(MemoryHousekeeping, KeepsUpWithNewKeysWhateverTheyAreTakenWith) {
    for (const int at_once : {1, 20}) {
        take_and_release(2'000, at_once);
        (void)keep_house();
        pass(retention + 1h);
        take_and_release(2'000, at_once);
        (void)keep_house();
        // Four buckets for each new key are nearly all of the table.
        EXPECT_LT(purge(), 200U) << at_once;
        pass(retention + 1h);
        EXPECT_EQ(purge(), 2'000U) << at_once;
    }
}

TEST_F(MemoryHousekeeping, WithoutNewKeysForgetsTheOldOnesInTime) {
    take_and_release(2'000);
    (void)keep_house();
    pass(retention + 1h);
    for (int round = 0; round < 100; ++round) (void)keep_house();
    EXPECT_EQ(purge(), 0U);
}

TEST_F(MemoryHousekeeping, AFloodOfNewKeysDoesNotOutrunIt) {
    constexpr int in_a_round = 4'000;
    for (int round = 0; round < 20; ++round) {
        take_and_release(in_a_round, 20);
        pass(retention / 2);
        (void)keep_house();
    }
    // The keys of the last two rounds are kept; housekeeping may be a round behind.
    pass(retention);
    EXPECT_LE(purge(), 3U * in_a_round);
}

TEST_F(MemoryHousekeeping, APieceLooksAtFewKeys) {
    constexpr int keys = 60'000;
    take_and_release(keys, 20);
    pass(retention + 1h);
    // At most 1,024 buckets of the 32 shards, which have more than 1,024 each.
    EXPECT_GE(keep_house(), 64);
    EXPECT_EQ(purge(), 0U);
}

}  // namespace
}  // namespace leasehold::testing
