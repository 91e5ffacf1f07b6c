#include "core/names_in_use.hpp"

#include <gtest/gtest.h>

#include <leasehold/lock_manager.hpp>

#include <vector>

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

const LockKey order_a{"Order", "a"}, order_b{"Order", "b"};
const LockId id_1 = LockId::random(), id_2 = LockId::random();

bool clash(const Request& first, const Request& second) {
    NamesInUse in_use;
    std::vector<NamesInUse::Name> names;
    NamesInUse::append(first, names);
    in_use.add(names);
    std::vector<NamesInUse::Name> others;
    NamesInUse::append(second, others);
    const bool result = in_use.clash(others);
    in_use.remove(names);
    EXPECT_FALSE(in_use.clash(others));
    return result;
}

Request try_of(const LockKey& key, const std::string& owner, std::optional<LockId> id = {}) {
    return try_request(key, {.owner = owner, .lock_id = id}, {});
}

TEST(NamesInUse, RequestsOfOneKeyClashAndOfTwoKeysDoNot) {
    EXPECT_TRUE(clash(try_of(order_a, "alice"), try_of(order_a, "bob")));
    EXPECT_FALSE(clash(try_of(order_a, "alice"), try_of(order_b, "bob")));
    EXPECT_TRUE(clash(Renew{.key = order_a, .lock_id = id_1, .ttl = 1s},
                      Release{.key = order_a, .lock_id = id_2}));
    EXPECT_FALSE(clash(Renew{.key = order_a, .lock_id = id_1, .ttl = 1s},
                       Release{.key = order_b, .lock_id = id_2}));
}

TEST(NamesInUse, SeveralKeysClashWithEachOfThem) {
    const Request all = try_all_request({order_a, order_b}, {}, {});
    EXPECT_TRUE(clash(all, try_of(order_b, "")));
    EXPECT_TRUE(clash(try_of(order_a, ""), all));
    EXPECT_FALSE(clash(all, try_of(LockKey{"Order", "c"}, "")));
}

TEST(NamesInUse, ReadersOfAKeyDoNotClash) {
    const Request check = Check{.key = order_a, .lock_id = id_1};
    EXPECT_FALSE(clash(check, check));
    EXPECT_FALSE(clash(check, Holders{order_a}));
    EXPECT_TRUE(clash(check, Release{.key = order_a, .lock_id = id_1}));
    EXPECT_TRUE(clash(Release{.key = order_a, .lock_id = id_1}, check));
}

TEST(NamesInUse, ALockIdWithoutItsKeyClashesWithItself) {
    EXPECT_TRUE(clash(try_of(order_a, "alice", id_1), Release{.lock_id = id_1}));
    EXPECT_TRUE(clash(Renew{.key = order_a, .lock_id = id_1, .ttl = 1s}, Release{.lock_id = id_1}));
    EXPECT_FALSE(clash(Release{.lock_id = id_1}, Release{.lock_id = id_2}));
}

TEST(NamesInUse, TheEndOfAnOwnersLeasesClashesWithItsTriesAndThoseBelow) {
    EXPECT_TRUE(clash(ReleaseAll{.owner = "alice/1"}, try_of(order_a, "alice/1/tab")));
    EXPECT_TRUE(clash(try_of(order_a, "alice/1"), ReleaseAll{.owner = "alice"}));
    EXPECT_TRUE(clash(ReleaseAll{.owner = "alice"}, ReleaseAll{.owner = "alice"}));
    EXPECT_FALSE(clash(try_of(order_a, "alice"), ReleaseAll{.owner = "bob"}));
    EXPECT_FALSE(clash(try_of(order_a, "alice"), try_of(order_b, "alice")));
}

}  // namespace
}  // namespace leasehold::testing
