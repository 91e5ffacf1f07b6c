#include <atomic>
#include <future>
#include <random>
#include <thread>

#include "conformance/conformance.hpp"

// The guard, with other requests while its transaction is open, and with many guards at once.
namespace leasehold::conformance {
namespace {

class GuardRaces : public SqlConformanceTest {
protected:
    void open_transaction_on(const Lease& lease) {
        transaction_ = harness().begin();
        ASSERT_TRUE(granted(transaction_->guard(lease.key, lease.lock_id)));
    }

    const LockKey key_{"Order", "1"};
    std::unique_ptr<CallerTransaction> transaction_;
};

TEST_P(GuardRaces, ARenewalIsBusyWhileTheLeaseIsGuardedAndGoesThroughAfterwards) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .ttl = 5min}));
    open_transaction_on(lease);
    const auto renewed = locks().renew(lease.lock_id, 1h);
    if (!renewed) {
        EXPECT_EQ(renewed.error().kind, Refusal::Kind::busy) << renewed.error().message();
    }
    transaction_->commit();
    EXPECT_TRUE(about(must(locks().renew(lease.lock_id, 1h)).remaining(), 1h));
}

TEST_P(GuardRaces, ARenewalDuringAGuardedTransactionIsNotLost) {
    const auto patient = manager({.busy_patience = 20s});
    const Lease lease = must(patient->try_lock(key_, {.owner = "alice", .ttl = 5min}));
    open_transaction_on(lease);
    auto renewal =
        std::async(std::launch::async, [&] { return patient->renew(lease.lock_id, 1h); });
    EXPECT_NE(renewal.wait_for(100ms), std::future_status::deferred);
    transaction_->commit();
    EXPECT_TRUE(about(must(renewal.get()).remaining(), 1h));
    EXPECT_TRUE(about(must(locks().check(lease.lock_id)).remaining(), 1h));
}

TEST_P(GuardRaces, AShareOfAKeyThatIsSharedIsBusyOrGrantedAndNeverHeld) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .mode = Mode::shared}));
    open_transaction_on(lease);
    const auto share = locks().try_lock(key_, {.owner = "bob", .mode = Mode::shared});
    if (!share) {
        EXPECT_EQ(share.error().kind, Refusal::Kind::busy) << share.error().message();
    }
    transaction_->commit();
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "bob", .mode = Mode::shared})));
}

TEST_P(GuardRaces, ReleaseBreakAndReleaseAllWaitOrAreBusyAndEndNothing) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    const Lease other = must(locks().try_lock({"Order", "2"}, {.owner = "alice"}));
    open_transaction_on(lease);
    const auto expect_busy = [](const auto& result) {
        ASSERT_FALSE(result.has_value());
        EXPECT_EQ(result.error().kind, Refusal::Kind::busy) << result.error().message();
    };
    expect_busy(locks().release(lease.lock_id));
    expect_busy(locks().break_lock(key_, lease.fence, "admin", ""));
    expect_busy(locks().release_all("alice"));
    transaction_->write("order", "saved");
    transaction_->commit();
    EXPECT_TRUE(granted(locks().check(lease.lock_id)));
    EXPECT_TRUE(granted(locks().check(other.lock_id)));
    EXPECT_EQ(must(locks().release_all("alice")).size(), 2U);
}

TEST_P(GuardRaces, ALeaseThatEndsWhileAnotherTransactionIsOnItIsRefusedAfterwards) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    open_transaction_on(lease);
    EXPECT_TRUE(granted(transaction_->release(key_, lease.lock_id)));
    auto second = std::async(std::launch::async, [&] {
        const auto transaction = harness().begin();
        return transaction->guard(key_, lease.lock_id);
    });
    EXPECT_NE(second.wait_for(100ms), std::future_status::deferred);
    transaction_->commit();
    EXPECT_TRUE(gone(second.get(), Gone::released));
}

TEST_P(GuardRaces, AGuardThatWaitedPastTheExpiryIsRefused) {
    const Guarded first = guard_briefly(harness(), locks(), key_, 400ms);
    auto second = std::async(std::launch::async, [&] {
        const auto transaction = harness().begin();
        const auto guarded = transaction->guard(key_, first.lease.lock_id);
        // If two guards can be open at once, this one need not have waited.
        return guarded.has_value() && guarded->store_now >= guarded->expires_at;
    });
    wait_out(500ms);
    first.transaction->commit();
    EXPECT_FALSE(second.get()) << "a dead lease was guarded";
}

TEST_P(GuardRaces, ReentrantAskingOfAGuardedLeaseNeverDeadlocks) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice"}));
    open_transaction_on(lease);
    const auto again = locks().try_lock(key_, {.owner = "alice", .ttl = 1h});
    if (again) {
        EXPECT_EQ(again->lock_id, lease.lock_id);
    }
    (void)locks().try_lock_all({key_, {"Order", "2"}}, {.owner = "alice"});
    transaction_->write("order", "saved");
    transaction_->commit();
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "alice"})));
}

// The lease stays alive throughout: every request about it must find it, in either mode.
TEST_P(GuardRaces, ALeaseThatIsBeingConvertedIsNeverUnknown) {
    const Lease lease = must(locks().try_lock(key_, {.owner = "alice", .mode = Mode::shared}));
    const auto checker = manager();
    const auto connection = harness().connect();
    std::atomic<bool> stop{false};
    std::jthread converting{[&] {
        while (!stop) {
            for (const Mode mode : {Mode::exclusive, Mode::shared}) {
                (void)locks().try_lock(key_, {.owner = "alice", .mode = mode});
            }
        }
    }};
    const auto not_gone = [](const Result<Lease>& answer) {
        return answer || answer.error().kind == Refusal::Kind::busy;
    };
    const auto end = std::chrono::steady_clock::now() + 2s;
    while (std::chrono::steady_clock::now() < end && !HasFailure()) {
        for (int i = 0; i < 20; ++i) {
            const auto checked = checker->check(key_, lease.lock_id);
            EXPECT_TRUE(not_gone(checked)) << checked.error().message();
        }
        connection->begin();
        const auto guarded = connection->guard(key_, lease.lock_id);
        connection->rollback();
        EXPECT_TRUE(not_gone(guarded)) << guarded.error().message();
    }
    stop = true;
}

// Edits of random length under a short lease. Some come too late and must not be saved.
TEST_P(GuardRaces, ACounterChangedUnderGuardNeverLosesAnUpdateEvenWithExpiryInTheMiddle) {
    constexpr int editors = 12;
    constexpr auto lease_time = 150ms;
    const auto began = std::chrono::steady_clock::now();
    std::atomic<int> saved{0};
    std::atomic<int> too_late{0};
    const auto goes_on = [&] {
        const auto passed = std::chrono::steady_clock::now() - began;
        return passed < 3s || (passed < 60s && (saved == 0 || too_late == 0));
    };
    std::vector<std::string> problems(editors);
    (void)locks();
    {
        std::vector<std::jthread> threads;
        for (int editor = 0; editor < editors; ++editor) {
            threads.emplace_back([&, editor] {
                try {
                    const auto mine = manager();
                    const auto connection = harness().connect();
                    std::mt19937 random{static_cast<unsigned>(editor)};
                    while (goes_on()) {
                        const auto lease = mine->try_lock(key_, {.ttl = lease_time});
                        if (!lease) {
                            std::this_thread::sleep_for(1ms);
                            continue;
                        }
                        // The editor thinks for this long.
                        std::this_thread::sleep_for(std::chrono::milliseconds{
                            std::uniform_int_distribution{0, 1}(random) == 0 ? 0 : 170});
                        connection->begin();
                        if (!connection->guard(key_, lease->lock_id)) {
                            connection->rollback();
                            ++too_late;
                            continue;
                        }
                        const std::string value = connection->read("counter");
                        connection->write("counter",
                                          std::to_string(value.empty() ? 1 : std::stoi(value) + 1));
                        (void)connection->release(key_, lease->lock_id);
                        connection->commit();
                        ++saved;
                    }
                } catch (const std::exception& problem) {
                    problems[static_cast<std::size_t>(editor)] = problem.what();
                }
            });
        }
    }
    for (const std::string& problem : problems) EXPECT_EQ(problem, "");
    EXPECT_EQ(harness().connect()->read("counter"), std::to_string(saved));
    EXPECT_GT(saved, 0);
    EXPECT_GT(too_late, 0);
}

TEST_P(GuardRaces, ManyGuardsOfDifferentKeysNeverDisturbEachOther) {
    constexpr int editors = 8;
    constexpr int edits = 15;
    std::vector<std::string> problems(editors);
    (void)locks();
    {
        std::vector<std::jthread> threads;
        for (int editor = 0; editor < editors; ++editor) {
            threads.emplace_back([&, editor] {
                try {
                    const std::string name = "record " + std::to_string(editor);
                    const auto mine = manager();
                    const auto connection = harness().connect();
                    for (int i = 1; i <= edits; ++i) {
                        std::optional<Lease> lease;
                        if (!eventually([&] {
                                auto asked = mine->try_lock({"Order", name}, {.owner = name});
                                if (asked) lease = *std::move(asked);
                                return lease.has_value();
                            })) {
                            throw std::runtime_error{"a free key was never granted"};
                        }
                        connection->begin();
                        (void)must(connection->guard(lease->key, lease->lock_id));
                        connection->write(name, std::to_string(i));
                        (void)must(connection->release(lease->key, lease->lock_id));
                        connection->commit();
                    }
                } catch (const std::exception& problem) {
                    problems[static_cast<std::size_t>(editor)] = problem.what();
                }
            });
        }
    }
    for (const std::string& problem : problems) EXPECT_EQ(problem, "");
    for (int editor = 0; editor < editors; ++editor) {
        EXPECT_EQ(harness().connect()->read("record " + std::to_string(editor)),
                  std::to_string(edits));
    }
}

LEASEHOLD_ON_EVERY_SQL_STORE(GuardRaces);

}  // namespace
}  // namespace leasehold::conformance
