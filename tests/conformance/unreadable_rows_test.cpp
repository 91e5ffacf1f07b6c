#include "conformance/conformance.hpp"
#include "conformance/every_request.hpp"

// The database contains a number that is neither a mode nor a way for a lease to end.
namespace leasehold::conformance {
namespace {

constexpr int unknown_number = 7;

::testing::AssertionResult is_clear(const StoreFault& fault, const std::string& field) {
    const std::string_view text = fault.what();
    if (fault.cause() == StoreFault::Cause::internal &&
        fault.effect() == StoreFault::Effect::none &&
        text.contains("unknown \"" + field + "\" 7")) {
        return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << "not clear: " << text;
}

class UnreadableRows : public OnStore<StoreHarness> {
protected:
    // Whether the request is about the damaged key, or reads all keys.
    [[nodiscard]] static bool meets_the_row(const std::string& request) {
        return request != "try" && request != "try with a fresh lock id" &&
               request != "shared try" && request != "try all" && request != "purge" &&
               !request.starts_with("history");
    }

    void expect_faults(const std::string& field, const Lease& lease) {
        const auto store = harness().open();
        const std::string before = harness().dump();
        for (const auto& [name, request] : every_request(lease)) {
            if (!meets_the_row(name)) continue;
            Outcome outcome;
            store->apply({&request, 1}, {&outcome, 1});
            const auto* fault = std::get_if<StoreFault>(&outcome);
            if (fault == nullptr) {
                ADD_FAILURE() << name << ": answered, outcome " << outcome.index();
                continue;
            }
            EXPECT_TRUE(is_clear(*fault, field)) << name;
        }
        EXPECT_EQ(harness().dump(), before);
    }
};

LEASEHOLD_ON(every_database(), UnreadableRows);

TEST_P(UnreadableRows, AnUnknownModeIsAFaultForEveryRequestOnTheKey) {
    const Lease lease = must(locks().try_lock({"Order", "1"}, {.owner = "alice", .ttl = 1h}));
    harness().overwrite("mode", unknown_number);
    expect_faults("mode", lease);
}

TEST_P(UnreadableRows, AnUnknownEndIsAFaultForEveryRequestOnTheKey) {
    const Lease lease = must(locks().try_lock({"Order", "1"}, {.owner = "alice", .ttl = 1h}));
    harness().overwrite("ended", unknown_number);
    expect_faults("ended", lease);
}

TEST_P(UnreadableRows, OfEndedLeasesAreNeitherTakenNorShownAsHistory) {
    for (const std::string field : {"mode", "ended"}) {
        const LockKey key{"Order", field};
        const Lease lease = must(locks().try_lock(key, {.owner = "alice", .ttl = 1h}));
        ASSERT_TRUE(locks().release(key, lease.lock_id));
        harness().overwrite(field, unknown_number);
        LockManager other{harness().open()};
        EXPECT_THROW((void)other.try_lock(key, {.owner = "bob"}), StoreFault) << field;
        EXPECT_THROW((void)other.check(key, lease.lock_id), StoreFault) << field;
        EXPECT_THROW((void)other.history({.key = key}), StoreFault) << field;
        harness().overwrite(field, 0);
    }
}

TEST_P(UnreadableRows, AreFaultsOnlyForTheirOwnRequestsOfABatch) {
    const Lease damaged = must(locks().try_lock({"Order", "1"}, {.owner = "alice", .ttl = 1h}));
    harness().overwrite("mode", unknown_number);
    const Lease sound = must(locks().try_lock({"Order", "2"}, {.owner = "alice", .ttl = 1h}));
    const auto store = harness().open();
    const std::vector<Request> requests{
        Renew{.key = sound.key, .lock_id = sound.lock_id, .ttl = 2h},
        Renew{.key = damaged.key, .lock_id = damaged.lock_id, .ttl = 2h},
        List{},
        Holders{.key = sound.key},
    };
    std::vector<Outcome> outcomes(requests.size());
    store->apply(requests, outcomes);
    EXPECT_TRUE(std::holds_alternative<Lease>(outcomes[0]));
    EXPECT_TRUE(std::holds_alternative<StoreFault>(outcomes[1]));
    EXPECT_TRUE(std::holds_alternative<StoreFault>(outcomes[2]));
    EXPECT_TRUE(std::holds_alternative<HolderPage>(outcomes[3]));
}

TEST_P(UnreadableRows, AreLeftByAPurgeThatGoesOnBehindThem) {
    for (const std::string id : {"1", "2", "3"}) {
        if (id == "2") harness().overwrite("mode", unknown_number);
        ASSERT_TRUE(locks().try_lock({"Order", id}, {.owner = "alice", .ttl = 1s}));
    }
    harness().let_pass(72h);
    LockManager other{harness().open()};
    EXPECT_EQ(other.purge(), 2U);
    EXPECT_THROW((void)other.holders({"Order", "1"}), StoreFault);
}

class GuardsOfUnreadableRows : public OnStore<SqlHarness> {};

LEASEHOLD_ON_EVERY_SQL_STORE(GuardsOfUnreadableRows);

TEST_P(GuardsOfUnreadableRows, AreFaultsThatLeaveTheTransaction) {
    for (const std::string column : {"mode", "ended"}) {
        const LockKey key{"Order", column};
        const Lease lease = must(locks().try_lock(key, {.owner = "alice", .ttl = 1h}));
        harness().overwrite(column, unknown_number);
        const auto transaction = harness().begin();
        try {
            (void)transaction->guard(key, lease.lock_id);
            ADD_FAILURE() << column << ": it was answered";
        } catch (const StoreFault& fault) {
            EXPECT_TRUE(is_clear(fault, column));
        }
        transaction->write("order", column);
        transaction->commit();
        EXPECT_EQ(harness().begin()->read("order"), column);
        harness().overwrite(column, 0);
    }
}

}  // namespace
}  // namespace leasehold::conformance
