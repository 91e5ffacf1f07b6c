#include <algorithm>
#include <random>

#include "conformance/conformance.hpp"

// Live leases in the order of their keys' bytes, page by page.
namespace leasehold::conformance {
namespace {

class Listing : public ConformanceTest {
protected:
    // Reads all pages of a listing, and checks that no page is longer than requested.
    std::vector<Holder> all_pages(List query) {
        std::vector<Holder> all;
        for (;;) {
            const HolderPage page = locks().list(query);
            EXPECT_LE(page.size(), query.limit);
            if (page.empty()) return all;
            all.insert(all.end(), page.begin(), page.end());
            query.after = page.back();
        }
    }

    static std::vector<LockKey> keys_of(std::span<const Holder> holders) {
        std::vector<LockKey> keys;
        for (const Holder& holder : holders) keys.push_back(holder.key);
        return keys;
    }
};

TEST_P(Listing, IsEmptyAtFirst) {
    EXPECT_TRUE(locks().list().empty());
    EXPECT_TRUE(locks().holders({"Order", "1"}).empty());
}

TEST_P(Listing, IsInTheOrderOfBytesByTypeThenId) {
    std::vector<LockKey> keys{{"Order", "10"},      {"Order", "9"},     {"Order", "1"},
                              {"Order", "B"},       {"Order", "a"},     {"Order", "\u00e4"},
                              {"Order", "z"},       {"Order", "a "},    {"Order", "\U0001f512"},
                              {"Order", "\uffee"},  {"order", "1"},     {"Orders", "0"},
                              {"Order ", "0"},      {"A", "zz"},        {"\u00c4", "0"},
                              {"Order", "a\u0301"}, {"Order", "\u00e1"}};
    for (const LockKey& key : keys) (void)must(locks().try_lock(key));
    std::ranges::sort(keys);
    EXPECT_EQ(keys_of(locks().list()), keys);
    for (const std::size_t limit : {1U, 2U, 5U, 17U, 100U}) {
        EXPECT_EQ(keys_of(all_pages({.limit = limit})), keys) << limit;
    }
}

TEST_P(Listing, ShowsWhatAHolderIsAllowedToBeSeenOf) {
    const Lease lease =
        must(locks().try_lock({"Order", "1"}, {.owner = "alice", .note = "editing"}));
    const auto all = locks().list();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all.front(), holder_of(lease));
}

TEST_P(Listing, HasOnlyLiveLeases) {
    (void)must(locks().try_lock({"Order", "expires"}, {.ttl = 1min}));
    (void)must(locks().try_lock({"Order", "lives"}, {.ttl = 10min}));
    const Lease released = must(locks().try_lock({"Order", "released"}));
    EXPECT_TRUE(granted(locks().release(released.lock_id)));
    const Lease broken = must(locks().try_lock({"Order", "broken"}));
    (void)must(locks().break_lock(broken.key, broken.fence, "admin", ""));
    (void)must(
        locks().try_lock({"Order", "reader"}, {.owner = "a", .mode = Mode::shared, .ttl = 1min}));
    (void)must(
        locks().try_lock({"Order", "reader"}, {.owner = "b", .mode = Mode::shared, .ttl = 10min}));
    let_pass(2min);
    EXPECT_EQ(ids_of(locks().list()), (std::vector<std::string>{"lives", "reader"}));
    EXPECT_EQ(owners_of(locks().holders({"Order", "reader"})), std::vector<std::string>{"b"});
}

TEST_P(Listing, TellsTheReadersOfAKeyOneByOneAcrossPages) {
    for (const char* id : {"1", "2", "3"}) {
        for (int reader = 0; reader < 7; ++reader) {
            (void)must(locks().try_lock({"Order", id}, {.owner = "reader " + std::to_string(reader),
                                                        .mode = Mode::shared}));
        }
    }
    for (const std::size_t limit : {1U, 2U, 3U, 7U, 8U, 100U}) {
        const auto all = all_pages({.limit = limit});
        ASSERT_EQ(all.size(), 21U) << limit;
        EXPECT_TRUE(std::ranges::is_sorted(all, {}, &Holder::key));
        auto fences = all;
        std::ranges::sort(fences, {}, [](const Holder& h) { return std::pair{h.key, h.fence}; });
        EXPECT_EQ(std::ranges::adjacent_find(fences), fences.end()) << "one came twice";
    }
}

TEST_P(Listing, OfOneType) {
    (void)must(locks().try_lock({"Order", "1"}));
    (void)must(locks().try_lock({"order", "2"}));
    (void)must(locks().try_lock({"Order", "3"}));
    (void)must(locks().try_lock({"Order ", "4"}));
    (void)must(locks().try_lock({"Orders", "5"}));
    (void)must(locks().try_lock({"Order", "6"}, {.mode = Mode::shared}));
    EXPECT_EQ(ids_of(locks().list({.type = "Order"})), (std::vector<std::string>{"1", "3", "6"}));
    EXPECT_EQ(ids_of(all_pages({.type = "Order", .limit = 1})),
              (std::vector<std::string>{"1", "3", "6"}));
    EXPECT_TRUE(locks().list({.type = "Or"}).empty());
}

TEST_P(Listing, OfOneOwnerOrBelowOne) {
    int id = 0;
    for (const char* owner :
         {"alice", "alice/1", "alice/2", "alicex", "alice0", "Alice", "bob", ""}) {
        (void)must(locks().try_lock({"Order", std::to_string(++id)}, {.owner = owner}));
        (void)must(locks().try_lock({"Order", std::to_string(++id)},
                                    {.owner = owner, .mode = Mode::shared}));
    }
    EXPECT_EQ(owners_of(locks().list({.owner = "alice"})),
              (std::vector<std::string>{"alice", "alice"}));
    const auto below = all_pages({.owner = "alice", .scope = OwnerScope::below, .limit = 2});
    auto owners = owners_of(below);
    std::ranges::sort(owners);
    EXPECT_EQ(owners, (std::vector<std::string>{"alice", "alice", "alice/1", "alice/1", "alice/2",
                                                "alice/2"}));
    EXPECT_TRUE(std::ranges::is_sorted(below, {}, &Holder::key));
    EXPECT_EQ(locks().list({.type = "Order", .owner = "bob"}).size(), 2U);
    EXPECT_TRUE(locks().list({.type = "Customer", .owner = "bob"}).empty());
}

TEST_P(Listing, APageFollowsAHolderThatIsGoneByNow) {
    for (int i = 1; i <= 6; ++i) {
        (void)must(
            locks().try_lock({"Order", std::to_string(i)}, {.owner = "o" + std::to_string(i)}));
    }
    const auto first = locks().list({.limit = 3});
    EXPECT_EQ(must(locks().release_all("o3")).size(), 1U);
    EXPECT_EQ(ids_of(locks().list({.after = first.back(), .limit = 3})),
              (std::vector<std::string>{"4", "5", "6"}));
}

TEST_P(Listing, HundredsOfKeysComeInOrderPageByPage) {
    std::vector<LockKey> keys;
    for (int i = 0; i < 600; ++i) keys.emplace_back("Order", std::to_string(i));
    std::ranges::shuffle(keys, std::mt19937{7});
    for (std::size_t at = 0; at < keys.size(); at += 200) {
        const std::vector<LockKey> some(keys.begin() + static_cast<std::ptrdiff_t>(at),
                                        keys.begin() + static_cast<std::ptrdiff_t>(at + 200));
        (void)must(locks().try_lock_all(some));
    }
    std::ranges::sort(keys);
    EXPECT_EQ(keys_of(all_pages({.limit = 37})), keys);
    EXPECT_EQ(keys_of(all_pages({.limit = 1000})), keys);
}

TEST_P(Listing, EveryPageCarriesTheStoresTimeAndAnEmptyOneToo) {
    const LockKey key{"Order", "1"};
    Time latest{};
    const auto expect_later = [&latest](Time store_now) {
        EXPECT_GE(store_now, latest);
        latest = std::max(latest, store_now);
    };
    const auto look_at_everything = [&] {
        expect_later(locks().holders(key).store_now);
        expect_later(locks().list().store_now);
        expect_later(locks().history().store_now);
        expect_later(locks().history({.key = key}).store_now);
    };
    look_at_everything();
    EXPECT_GT(latest, Time{});
    const Lease lease = must(locks().try_lock(key, {.ttl = 1h}));
    expect_later(lease.store_now);
    look_at_everything();
    let_pass(2h);
    look_at_everything();
    EXPECT_TRUE(locks().list().empty());
    expect_later(must(locks().try_lock(key, {.owner = "bob"})).store_now);
    expect_later(must(locks().release_all("bob")).front().store_now);
    look_at_everything();
}

LEASEHOLD_ON_EVERY_STORE(Listing);

}  // namespace
}  // namespace leasehold::conformance
