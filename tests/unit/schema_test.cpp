#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "core/grant.hpp"
#include "core/lock_tables.hpp"
#include "core/schema.hpp"

namespace leasehold {
namespace {

// Writes down what is done to it.
class RecordedMigration final : public SchemaMigration {
public:
    explicit RecordedMigration(std::size_t version) : version_{version} {}

    std::size_t version() override { return version_; }
    void lock() override {
        done.emplace_back("lock");
        if (found_when_locked) version_ = *found_when_locked;
    }
    void step(std::size_t version) override {
        done.push_back("step " + std::to_string(version));
        if (version == failing_step) throw StoreFault{StoreFault::Effect::none, {}, "disk full"};
        version_ = version + 1;
    }
    void unlock() override { done.emplace_back("unlock"); }
    void abandon() noexcept override { done.emplace_back("abandon"); }

    std::vector<std::string> done;
    std::optional<std::size_t> found_when_locked;
    std::optional<std::size_t> failing_step;

private:
    std::size_t version_;
};

using Done = std::vector<std::string>;

TEST(SchemaMigration, RunsTheMissingStepsInOrderBetweenLockAndUnlock) {
    RecordedMigration migration{1};
    migrate("test", 3, migration);
    EXPECT_EQ(migration.done, (Done{"lock", "step 1", "step 2", "unlock"}));
}

TEST(SchemaMigration, DoesNotLockWhereNothingIsToBeDone) {
    RecordedMigration migration{3};
    migrate("test", 3, migration);
    EXPECT_EQ(migration.done, Done{});
}

TEST(SchemaMigration, RunsNothingWhereAnotherProcessWasFaster) {
    RecordedMigration migration{1};
    migration.found_when_locked = 3;
    migrate("test", 3, migration);
    EXPECT_EQ(migration.done, (Done{"lock", "unlock"}));
}

TEST(SchemaMigration, RefusesANewerVersionAndSaysWhatToDo) {
    RecordedMigration migration{4};
    try {
        migrate("test", 3, migration);
        FAIL() << "it was migrated";
    } catch (const StoreFault& fault) {
        EXPECT_EQ(fault.cause(), StoreFault::Cause::configuration);
        EXPECT_STREQ(fault.what(),
                     "test: the store has schema version 4, this Leasehold knows version 3; use a "
                     "newer Leasehold");
    }
    EXPECT_EQ(migration.done, (Done{"lock", "abandon"}));
}

TEST(SchemaMigration, IsAbandonedWhereAStepFails) {
    RecordedMigration migration{0};
    migration.failing_step = 1;
    EXPECT_THROW(migrate("test", 3, migration), StoreFault);
    EXPECT_EQ(migration.done, (Done{"lock", "step 0", "step 1", "abandon"}));
}

constexpr std::tuple some_fields{
    LeaseField{.name = "owner", .of = [](auto& lease) -> auto& { return lease.owner; }},
    LeaseField{.name = "department",
               .of = [](auto& lease) -> auto& { return lease.note; },
               .since = 2,
               .max_bytes = 64},
    LeaseField{.name = "seen_at",
               .of = [](auto& lease) -> auto& { return lease.granted_at; },
               .column = "seen",
               .since = 2},
    LeaseField{
        .name = "weight", .of = [](auto& lease) -> auto& { return lease.fence; }, .since = 3},
};
constexpr ColumnTypes some_types{
    .text = "text({bytes})", .integer = "integer", .time = "timestamp"};

TEST(SchemaStep, AddsTheFieldsOfItsVersionToEveryTableWithLeases) {
    EXPECT_EQ(schema_step(some_fields, 2, some_types),
              (std::vector<std::string>{
                  "alter table locks add column department text(64)",
                  "alter table lock_shares add column department text(64)",
                  "alter table lock_history add column department text(64)",
                  "alter table locks add column seen timestamp",
                  "alter table lock_shares add column seen timestamp",
                  "alter table lock_history add column seen timestamp",
              }));
    EXPECT_EQ(schema_step(some_fields, 3, some_types).front(),
              "alter table locks add column weight integer");
    EXPECT_TRUE(schema_step(some_fields, 4, some_types).empty());
}

TEST(SchemaStep, FollowsTheFirstStepOfEveryStore) {
    const SchemaSteps steps = steps_from({"create table locks"}, some_types);
    ASSERT_EQ(steps.size(), schema_version);
    EXPECT_EQ(steps.front(), std::vector<std::string>{"create table locks"});
}

}  // namespace
}  // namespace leasehold
