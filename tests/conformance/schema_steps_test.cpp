#include <future>

#include "conformance/conformance.hpp"
#include "conformance/every_request.hpp"
#include "core/grant.hpp"

// A process of a later version adds a step to the schema while a process of this version is
// connected.
namespace leasehold::conformance {
namespace {

const std::string later_version = "schema version " + std::to_string(schema_version + 1);

class SchemaSteps : public OnStore<StoreHarness> {
protected:
    [[nodiscard]] static ::testing::AssertionResult is_clear(const StoreFault& fault) {
        const std::string_view text = fault.what();
        if (fault.cause() == StoreFault::Cause::configuration &&
            fault.effect() == StoreFault::Effect::none && text.contains(later_version) &&
            text.contains("use a newer Leasehold")) {
            return ::testing::AssertionSuccess();
        }
        return ::testing::AssertionFailure() << "not clear: " << text;
    }

    [[nodiscard]] static ::testing::AssertionResult is_refused_clearly(Store& store,
                                                                       const Request& request) {
        Outcome outcome;
        try {
            store.apply({&request, 1}, {&outcome, 1});
        } catch (const StoreFault& fault) {
            return is_clear(fault);
        }
        if (const auto* fault = std::get_if<StoreFault>(&outcome)) return is_clear(*fault);
        return ::testing::AssertionFailure() << "answered, outcome " << outcome.index();
    }
};

LEASEHOLD_ON(every_database(), SchemaSteps);

TEST_P(SchemaSteps, AProcessOfTheOldVersionGetsAClearFaultForEveryRequest) {
    const auto old = harness().open();
    LockManager filler{harness().open()};
    const Lease lease = must(filler.try_lock({"Order", "1"}, {.owner = "alice", .ttl = 1h}));
    ASSERT_TRUE(
        filler.try_lock({"Order", "2"}, {.owner = "carol", .mode = Mode::shared, .ttl = 1h}));
    // The old store knows the rows, and has prepared its statements.
    for (const auto& [name, request] : every_request(lease)) {
        if (name.starts_with("re") || name.starts_with("break")) continue;
        Outcome outcome;
        old->apply({&request, 1}, {&outcome, 1});
        EXPECT_FALSE(std::holds_alternative<StoreFault>(outcome)) << name;
    }

    const auto later = harness().open_later_version();
    const std::string before = harness().dump();
    for (const auto& [name, request] : every_request(lease)) {
        EXPECT_TRUE(is_refused_clearly(*old, request)) << name;
    }
    EXPECT_EQ(harness().dump(), before);
    EXPECT_THROW((void)harness().open(), StoreFault);
}

TEST_P(SchemaSteps, TheLaterVersionKeepsLeasesFencesAndHistory) {
    const LockKey held{"Order", "1"}, shared{"Order", "2"}, ended{"Order", "3"};
    auto old = std::make_unique<LockManager>(harness().open());
    const Lease alice = must(old->try_lock(held, {.owner = "alice", .ttl = 1h, .note = "form"}));
    const Lease carol =
        must(old->try_lock(shared, {.owner = "carol", .mode = Mode::shared, .ttl = 1h}));
    const Lease gone = must(old->try_lock(ended, {.owner = "dave", .ttl = 1h}));
    ASSERT_TRUE(old->release(ended, gone.lock_id));
    old.reset();
    LockManager later{harness().open_later_version()};
    const Lease alive = must(later.check(held, alice.lock_id));
    EXPECT_EQ(alive.fence, alice.fence);
    EXPECT_EQ(alive.expires_at, alice.expires_at);
    EXPECT_EQ(alive.note, "form");
    EXPECT_TRUE(conformance::held(later.try_lock(held, {.owner = "bob"}), {"alice"}));
    EXPECT_TRUE(granted(later.renew(shared, carol.lock_id, 2h)));
    EXPECT_TRUE(conformance::gone(later.check(ended, gone.lock_id), Gone::released));
    EXPECT_GT(must(later.try_lock(ended, {.owner = "erin"})).fence, gone.fence);
    EXPECT_TRUE(granted(later.release(held, alice.lock_id)));
    // A second process of the later version has nothing to do.
    LockManager second{harness().open_later_version()};
    EXPECT_TRUE(conformance::gone(second.check(held, alice.lock_id), Gone::released));
}

TEST_P(SchemaSteps, LeasesOfVersion1LiveOnAndBelongToCallersWithoutAToken) {
    const LockKey held{"Order", "1"}, shared{"Order", "2"}, ended{"Order", "3"};
    auto first = std::make_unique<LockManager>(harness().open());
    const Lease alice = must(first->try_lock(held, {.owner = "alice", .ttl = 1h, .note = "form"}));
    const Lease carol =
        must(first->try_lock(shared, {.owner = "carol", .mode = Mode::shared, .ttl = 1h}));
    const Lease gone = must(first->try_lock(ended, {.owner = "dave", .ttl = 1h}));
    ASSERT_TRUE(first->release(ended, gone.lock_id));
    first.reset();
    harness().become_version_1();

    const auto store = harness().open();
    const auto ask = [&](const LockKey& key, const std::string& owner, Mode mode,
                         const std::string& token_id) {
        const Request request = TryLock{.key = key,
                                        .lock_id = LockId::random(),
                                        .owner = owner,
                                        .mode = mode,
                                        .ttl = 1h,
                                        .token_id = token_id};
        Outcome outcome;
        store->apply({&request, 1}, {&outcome, 1});
        const auto* const lease = std::get_if<Lease>(&outcome);
        return lease != nullptr ? lease->lock_id : LockId{};
    };
    EXPECT_EQ(ask(held, "alice", Mode::exclusive, "shop"), LockId{});
    EXPECT_EQ(ask(held, "alice", Mode::exclusive, ""), alice.lock_id);
    EXPECT_NE(ask(shared, "carol", Mode::shared, "shop"), carol.lock_id);
    EXPECT_EQ(ask(shared, "carol", Mode::shared, ""), carol.lock_id);
    EXPECT_TRUE(conformance::gone(locks().check(ended, gone.lock_id), Gone::released));
    EXPECT_GT(must(locks().try_lock(ended, {.owner = "erin"})).fence, gone.fence);
    EXPECT_TRUE(granted(locks().release(held, alice.lock_id)));
    EXPECT_EQ(locks().history({.key = held}).front().lease.note, "form");
}

TEST_P(SchemaSteps, ManyProcessesOfTheLaterVersionMigrateAtOnce) {
    (void)harness().open();
    std::vector<std::future<std::unique_ptr<Store>>> openers;
    for (int i = 0; i < 8; ++i) {
        openers.push_back(
            std::async(std::launch::async, [&] { return harness().open_later_version(); }));
    }
    for (std::size_t i = 0; i < openers.size(); ++i) {
        LockManager locks{openers[i].get()};
        EXPECT_TRUE(granted(locks.try_lock({"Order", std::to_string(i)}, {.owner = "alice"})));
    }
}

class GuardsAndSchemaSteps : public OnStore<SqlHarness> {};

LEASEHOLD_ON_EVERY_SQL_STORE(GuardsAndSchemaSteps);

TEST_P(GuardsAndSchemaSteps, AGuardOfTheOldVersionGetsAClearFaultAndLeavesTheTransaction) {
    const LockKey key{"Order", "1"};
    const Lease lease = must(locks().try_lock(key, {.owner = "alice", .ttl = 1h}));
    const auto later = harness().open_later_version();
    const auto transaction = harness().begin();
    const auto fault_of = [](auto ask) -> std::string {
        try {
            (void)ask();
        } catch (const StoreFault& fault) {
            EXPECT_EQ(fault.cause(), StoreFault::Cause::configuration);
            return fault.what();
        }
        return "it was answered";
    };
    for (const LockKey& asked : {key, LockKey{"Order", "unknown"}}) {
        EXPECT_TRUE(fault_of([&] {
                        return transaction->guard(asked, lease.lock_id);
                    }).contains(later_version));
        EXPECT_TRUE(fault_of([&] {
                        return transaction->release(asked, lease.lock_id);
                    }).contains(later_version));
    }
    transaction->write("order", "text");
    transaction->commit();
    EXPECT_EQ(harness().begin()->read("order"), "text");
}

}  // namespace
}  // namespace leasehold::conformance
