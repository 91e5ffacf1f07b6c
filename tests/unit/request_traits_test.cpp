#include "core/request_traits.hpp"
#include "core/fresh_lock_id.hpp"

#include <gtest/gtest.h>

#include <leasehold/limits.hpp>

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

const LockKey one{"Order", "1"};
const LockKey two{"Order", "2"};

std::vector<Request> one_of_each_kind() {
    return {TryLock{.key = one, .owner = "alice"},
            TryLockAll{.keys = {one, two}, .owner = "alice"},
            Check{},
            Extend{},
            Renew{},
            Release{},
            ReleaseAll{.owner = "alice"},
            Break{.key = one},
            Holders{one},
            List{.limit = 3},
            History{.limit = 4},
            Purge{}};
}

// The names of the kinds for which a predicate is true, joined.
template <class Predicate>
std::string kinds_that(Predicate predicate) {
    std::string names;
    for (const Request& request : one_of_each_kind()) {
        if (predicate(kind_of(request))) names.append(name_of(kind_of(request))).append(" ");
    }
    return names;
}

TEST(RequestTraits, EveryKindHasANameOfItsOwn) {
    std::set<std::string_view> names;
    for (const Request& request : one_of_each_kind()) names.insert(name_of(kind_of(request)));
    EXPECT_EQ(names.size(), enum_size<RequestKind>);
}

TEST(RequestTraits, EveryKindHasOnePurpose) {
    EXPECT_EQ(kinds_that(takes), "try try_all ");
    EXPECT_EQ(kinds_that(prolongs), "extend renew ");
    EXPECT_EQ(kinds_that(ends), "release release_all break ");
    EXPECT_EQ(kinds_that(only_reads), "check holders list history ");
}

TEST(RequestTraits, AHolderNamesItsLeaseByTheLockId) {
    EXPECT_EQ(kinds_that(names_own_lease), "check extend renew release ");
    const LockId id = LockId::random();
    EXPECT_EQ(*lock_id_of(Renew{.lock_id = id}), id);
    EXPECT_EQ(lock_id_of(TryLock{.key = one, .lock_id = id}), nullptr);
}

TEST(RequestTraits, PagesAndPurgesDoNotWorkOnCells) {
    EXPECT_EQ(kinds_that([](RequestKind kind) { return !works_on_cells(kind); }),
              "list history purge ");
}

TEST(RequestTraits, ARequestNamesItsKeysUnlessItMayConcernOthers) {
    EXPECT_EQ(keys_of(TryLockAll{.keys = {one, two}})->size(), 2U);
    EXPECT_EQ(keys_of(Check{.key = one})->front(), one);
    EXPECT_EQ(keys_of(Holders{two})->front(), two);
    EXPECT_FALSE(keys_of(Check{}));
    EXPECT_FALSE(keys_of(ReleaseAll{.owner = "alice", .key = one}));
    EXPECT_FALSE(keys_of(List{}));
}

TEST(RequestTraits, TriesAndReleaseAllAreMadeInAnOwnersName) {
    int owners = 0;
    for (const Request& request : one_of_each_kind()) {
        const std::string* owner = owner_of(request);
        if (owner == nullptr) continue;
        EXPECT_EQ(*owner, "alice");
        ++owners;
    }
    EXPECT_EQ(owners, 3);
}

TEST(RequestTraits, OnlyListsAndHistoriesAskForRows) {
    std::size_t rows = 0;
    for (const Request& request : one_of_each_kind()) rows += rows_asked_for(request);
    EXPECT_EQ(rows, 7U);
}

TEST(RequestTraits, AListOrAReleaseOfAnOwnerFillsABatchWithFewOthers) {
    // They may look through very many rows, however few they return.
    const std::size_t most = Limits{}.batch_requests;
    EXPECT_GE(3 * weight_of(List{.limit = 1}), most);
    EXPECT_GE(3 * weight_of(ReleaseAll{.owner = "alice"}), most);
    EXPECT_EQ(weight_of(Check{LockKey{"Order", "1"}, LockId::random()}), 1U);
    EXPECT_EQ(weight_of(Holders{one}), weight_of(History{.limit = Limits::shared_holders}));
}

TEST(RequestTraits, AKnownLockIdIsLookedUpToo) {
    EXPECT_EQ(count_lookups(TryLock{.key = one}), 2U);
    EXPECT_EQ(count_lookups(TryLock{.key = one, .lock_id = FreshLockId::draw()}), 1U);
    EXPECT_EQ(count_lookups(TryLockAll{.keys = {one, two}}), 4U);
    const std::vector<TryLockId> mixed{FreshLockId::draw(), LockId::random()};
    EXPECT_EQ(count_lookups(TryLockAll{.keys = {one, two}, .lock_ids = mixed}), 3U);
    EXPECT_EQ(count_lookups(Check{.key = one}), 1U);
    EXPECT_EQ(count_lookups(Check{}), 2U);
}

TEST(RequestTraits, APlainRequestWithItsKeyHasAShortcut) {
    EXPECT_NE(shortcut_key(TryLock{.key = one, .ttl = 1min}), nullptr);
    EXPECT_EQ(shortcut_key(TryLock{.key = one, .mode = Mode::shared, .ttl = 1min}), nullptr);
    EXPECT_EQ(shortcut_key(TryLock{.key = one, .ttl = 1min, .since = 1}), nullptr);
    EXPECT_EQ(shortcut_key(TryLock{.key = one, .ttl = until_released}), nullptr);
    EXPECT_NE(shortcut_key(Check{.key = one}), nullptr);
    EXPECT_EQ(shortcut_key(Check{}), nullptr);
    EXPECT_EQ(shortcut_key(Extend{.key = one, .by = 1min}), nullptr);
    EXPECT_NE(shortcut_key(Extend{.key = one, .by = 1min, .max_ttl = 1h}), nullptr);
    EXPECT_EQ(shortcut_key(Release{.key = one, .if_expires_at = Time{}}), nullptr);
    EXPECT_EQ(shortcut_key(Holders{one}), nullptr);
}

}  // namespace
}  // namespace leasehold::testing
