#include "stores/memory/id_index.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace leasehold::memory {
namespace {

TEST(IdIndex, FindsNothingWhereNothingIs) {
    IdIndex index;
    EXPECT_EQ(index.find(LockId::random()), nullptr);
    index.remove(LockId::random());
}

TEST(IdIndex, KeepsTheFirstKeyOfAnId) {
    IdIndex index;
    const LockKey one{"Order", "1"}, two{"Order", "2"};
    const LockId id = LockId::random();
    index.add(id, one);
    index.add(id, two);
    EXPECT_EQ(index.find(id), &one);
    index.remove(id);
    EXPECT_EQ(index.find(id), nullptr);
}

// Ids that differ in their last bits only all want places beside each other, and some of them those
// at the end of the table and at its beginning.
std::vector<LockId> crowded_ids() {
    std::vector<LockId> ids;
    for (const char* end : {"00", "01", "02", "0e", "0f", "10", "1f", "3e", "3f", "ff"}) {
        for (const char* start : {"0", "1", "2", "3"}) {
            const std::string text = std::string{start} + "0000000-0000-8000-8000-0000000000" + end;
            ids.push_back(LockId::parse(text).value());
        }
    }
    return ids;
}

TEST(IdIndex, DoesWhatAMapDoes) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random{seed};
    std::vector<LockId> ids = crowded_ids();
    for (int i = 0; i < 100; ++i) ids.push_back(LockId::random());
    const LockKey one{"Order", "1"}, two{"Order", "2"};

    IdIndex index;
    std::map<LockId, const LockKey*> map;
    for (int step = 0; step < 20'000; ++step) {
        const LockId id = ids[random() % ids.size()];
        if (random() % 2 == 0) {
            const LockKey& key = random() % 2 == 0 ? one : two;
            index.add(id, key);
            map.try_emplace(id, &key);
        } else {
            index.remove(id);
            map.erase(id);
        }
        const LockId asked = ids[random() % ids.size()];
        const auto expected = map.find(asked);
        ASSERT_EQ(index.find(asked), expected != map.end() ? expected->second : nullptr);
    }
    for (const LockId& id : ids) {
        const auto expected = map.find(id);
        ASSERT_EQ(index.find(id), expected != map.end() ? expected->second : nullptr);
    }
}

}  // namespace
}  // namespace leasehold::memory
