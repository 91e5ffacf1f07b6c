#include <algorithm>
#include <future>

#include "conformance/conformance.hpp"

// Many readers or one writer, and the lock types that use them.
namespace leasehold::conformance {
namespace {

class Shared : public ConformanceTest {
protected:
    Lease share(const std::string& owner, Duration ttl = 5min) {
        return must(locks().try_lock(key_, {.owner = owner, .mode = Mode::shared, .ttl = ttl}));
    }

    const LockKey key_{"Report", "2026"};
};

TEST_P(Shared, ManyShareAKeyEachWithALeaseOfItsOwn) {
    std::vector<Lease> leases;
    for (const char* owner : {"alice", "bob", "carol"}) {
        leases.push_back(share(owner));
        EXPECT_EQ(leases.back().mode, Mode::shared);
    }
    EXPECT_LT(leases[0].fence, leases[1].fence);
    EXPECT_LT(leases[1].fence, leases[2].fence);
    for (const Lease& lease : leases) {
        EXPECT_EQ(holder_of(must(locks().check(key_, lease.lock_id))), holder_of(lease));
        EXPECT_EQ(holder_of(must(locks().check(lease.lock_id))), holder_of(lease));
    }
    auto holders = locks().holders(key_).items;
    std::ranges::sort(holders, {}, &Holder::fence);
    EXPECT_EQ(owners_of(holders), (std::vector<std::string>{"alice", "bob", "carol"}));
}

TEST_P(Shared, AnonymousReadersCountOneByOne) {
    const Lease first = share("");
    const Lease second = share("");
    EXPECT_NE(first.lock_id, second.lock_id);
    EXPECT_EQ(locks().holders(key_).size(), 2U);
    EXPECT_TRUE(granted(locks().release(first.lock_id)));
    EXPECT_TRUE(held(locks().try_lock(key_), {""}));
    EXPECT_TRUE(granted(locks().release(second.lock_id)));
    EXPECT_TRUE(granted(locks().try_lock(key_)));
}

TEST_P(Shared, AWriterIsRefusedWithAllReaders) {
    const Lease alice = share("alice");
    (void)share("bob");
    const auto refused = locks().try_lock(key_, {.owner = "carol"});
    ASSERT_TRUE(held(refused, {"alice", "bob"}));
    EXPECT_TRUE(std::ranges::count(refused.error().holders, holder_of(alice)) == 1);
}

TEST_P(Shared, AReaderIsRefusedByTheWriter) {
    (void)must(locks().try_lock(key_, {.owner = "alice"}));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "bob", .mode = Mode::shared}), {"alice"}));
}

TEST_P(Shared, TheWriterGetsTheKeyWhenTheLastReaderIsGone) {
    const Lease alice = share("alice");
    const Lease bob = share("bob");
    EXPECT_TRUE(granted(locks().release(alice.lock_id)));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "carol"}), {"bob"}));
    EXPECT_TRUE(granted(locks().release(bob.lock_id)));
    const Lease carol = must(locks().try_lock(key_, {.owner = "carol"}));
    EXPECT_GT(carol.fence, bob.fence);
}

TEST_P(Shared, EachReaderExpiresByItself) {
    const Lease brief = share("alice", 1min);
    const Lease lasting = share("bob", 10min);
    let_pass(2min);
    EXPECT_TRUE(gone(locks().check(key_, brief.lock_id), Gone::expired));
    EXPECT_TRUE(gone(locks().check(brief.lock_id), Gone::expired));
    EXPECT_TRUE(granted(locks().check(key_, lasting.lock_id)));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "carol"}), {"bob"}));
    let_pass(10min);
    const Lease carol = must(locks().try_lock(key_, {.owner = "carol"}));
    EXPECT_TRUE(gone(locks().check(key_, brief.lock_id), Gone::taken, "carol"));
    EXPECT_TRUE(gone(locks().check(key_, lasting.lock_id), Gone::taken, "carol"));
    EXPECT_TRUE(granted(locks().check(carol.lock_id)));
}

TEST_P(Shared, AReaderThatJoinsTakesNothingFromOneThatExpired) {
    const Lease brief = share("alice", 1min);
    let_pass(2min);
    (void)share("bob");
    EXPECT_TRUE(gone(locks().check(key_, brief.lock_id), Gone::expired));
    EXPECT_EQ(owners_of(locks().holders(key_)), std::vector<std::string>{"bob"});
}

TEST_P(Shared, ReadersExtendRenewAndReleaseOnlyTheirOwn) {
    const Lease alice = share("alice", 1min);
    const Lease bob = share("bob", 1min);
    EXPECT_EQ(must(locks().extend(key_, alice.lock_id, 10min)).expires_at,
              alice.expires_at + 10min);
    EXPECT_EQ(must(locks().check(bob.lock_id)).expires_at, bob.expires_at);
    EXPECT_TRUE(about(must(locks().renew(bob.lock_id, 30min)).remaining(), 30min));
    EXPECT_EQ(must(locks().check(alice.lock_id)).expires_at, alice.expires_at + 10min);
    EXPECT_TRUE(granted(locks().release(key_, alice.lock_id)));
    EXPECT_TRUE(gone(locks().check(alice.lock_id), Gone::released));
    EXPECT_TRUE(granted(locks().check(bob.lock_id)));
}

TEST_P(Shared, OneReaderIsBrokenTheOthersStay) {
    const Lease alice = share("alice");
    const Lease bob = share("bob");
    const Lease broken = must(locks().break_lock(key_, alice.fence, "admin", "urgent"));
    EXPECT_EQ(holder_of(broken), holder_of(alice));
    EXPECT_TRUE(gone(locks().check(key_, alice.lock_id), Gone::broken, "admin", "urgent"));
    EXPECT_TRUE(granted(locks().check(key_, bob.lock_id)));
}

TEST_P(Shared, AnExclusiveLeaseThatExpiredIsTakenByReaders) {
    const Lease writer = must(locks().try_lock(key_, {.owner = "alice", .ttl = 1min}));
    let_pass(2min);
    (void)share("bob");
    (void)share("carol");
    EXPECT_TRUE(gone(locks().check(key_, writer.lock_id), Gone::taken, "bob"));
    EXPECT_EQ(locks().holders(key_).size(), 2U);
}

TEST_P(Shared, AThousandReadersFitAndOneMoreIsRefused) {
    // As one batch of requests, to the store itself.
    const auto store = harness().open();
    std::vector<Request> requests;
    for (std::size_t i = 0; i < Limits::shared_holders + 1; ++i) {
        requests.emplace_back(TryLock{.key = key_,
                                      .lock_id = LockId::random(),
                                      .owner = "reader " + std::to_string(i),
                                      .mode = Mode::shared,
                                      .ttl = 5min});
    }
    std::vector<Outcome> outcomes(requests.size());
    for (std::size_t at = 0; at < requests.size(); at += 250) {
        const std::size_t size = std::min<std::size_t>(250, requests.size() - at);
        store->apply(std::span{requests}.subspan(at, size), std::span{outcomes}.subspan(at, size));
    }
    for (std::size_t i = 0; i < Limits::shared_holders; ++i) {
        ASSERT_TRUE(std::holds_alternative<Lease>(outcomes[i])) << i;
    }
    const auto* refusal = std::get_if<Refusal>(&outcomes.back());
    ASSERT_NE(refusal, nullptr);
    EXPECT_EQ(refusal->kind, Refusal::Kind::held);
    EXPECT_EQ(refusal->holders.size(), Limits::named_holders);
    EXPECT_EQ(refusal->holders_in_all, Limits::shared_holders);

    // One holder leaves, and another one gets its place.
    EXPECT_EQ(must(locks().release_all("reader 500")).size(), 1U);
    EXPECT_TRUE(granted(locks().try_lock(key_, {.owner = "late", .mode = Mode::shared})));
    EXPECT_EQ(locks().holders(key_).size(), Limits::shared_holders);
}

TEST_P(Shared, LockTypesSayWhichModeAnAccessNeeds) {
    const auto read = [&](LockType type, const std::string& owner) {
        const auto mode = mode_for(type, Access::read);
        return !mode || granted(locks().try_lock(key_, {.owner = owner, .mode = *mode}));
    };
    const auto write = [&](LockType type, const std::string& owner) {
        const auto mode = mode_for(type, Access::write);
        return granted(locks().try_lock(key_, {.owner = owner, .mode = mode.value()})) == true;
    };
    EXPECT_TRUE(write(LockType::exclusive_write, "alice"));
    EXPECT_TRUE(read(LockType::exclusive_write, "bob"));
    EXPECT_FALSE(write(LockType::exclusive_write, "bob"));
    EXPECT_EQ(must(locks().release_all("alice")).size(), 1U);

    EXPECT_TRUE(read(LockType::exclusive_read, "alice"));
    EXPECT_FALSE(read(LockType::exclusive_read, "bob"));
    EXPECT_EQ(must(locks().release_all("alice")).size(), 1U);

    EXPECT_TRUE(read(LockType::read_write, "alice"));
    EXPECT_TRUE(read(LockType::read_write, "bob"));
    EXPECT_FALSE(write(LockType::read_write, "carol"));
}

LEASEHOLD_ON_EVERY_STORE(Shared);

// A key with a number of places.
class Places : public ConformanceTest {
protected:
    Result<Lease> take(const std::string& owner, std::size_t places = 3, Duration ttl = 5min) {
        return locks().try_lock(key_, {.owner = owner, .places = places, .ttl = ttl});
    }
    std::vector<Lease> fill() {
        return {must(take("alice")), must(take("bob")), must(take("carol"))};
    }

    const LockKey key_{"Job", "encode"};
};

TEST_P(Places, AsManyAsThereAreAreGrantedAndOneMoreIsRefusedWithTheHolders) {
    const std::vector<Lease> leases = fill();
    EXPECT_LT(leases[0].fence, leases[1].fence);
    EXPECT_LT(leases[1].fence, leases[2].fence);
    EXPECT_EQ(leases[2].mode, Mode::shared);
    EXPECT_TRUE(held(take("dave"), {"alice", "bob", "carol"}));
    EXPECT_EQ(locks().holders(key_).size(), 3U);
}

TEST_P(Places, APlaceIsFreeOnceItIsReleasedBrokenOrExpired) {
    const std::vector<Lease> leases = fill();
    EXPECT_TRUE(granted(locks().release(key_, leases[0].lock_id)));
    const Lease dave = must(take("dave"));
    EXPECT_GT(dave.fence, leases[2].fence);
    EXPECT_TRUE(held(take("erin"), {"bob", "carol", "dave"}));
    (void)must(locks().break_lock(key_, leases[1].fence, "admin", "stuck"));
    (void)must(take("erin", 3, 1min));
    EXPECT_TRUE(held(take("frank"), {"carol", "dave", "erin"}));
    let_pass(2min);
    EXPECT_TRUE(granted(take("frank")));
    EXPECT_TRUE(granted(locks().check(key_, leases[2].lock_id)));
}

TEST_P(Places, AnOwnerGetsItsOwnPlaceBackAlsoIfAllAreTaken) {
    const std::vector<Lease> leases = fill();
    const Lease again = must(take("bob"));
    EXPECT_EQ(again.lock_id, leases[1].lock_id);
    EXPECT_EQ(again.fence, leases[1].fence);
    EXPECT_EQ(locks().holders(key_).size(), 3U);
}

TEST_P(Places, AnonymousHoldersTakeAPlaceEach) {
    (void)must(take("", 2));
    (void)must(take("", 2));
    EXPECT_TRUE(held(take("", 2), {"", ""}));
}

TEST_P(Places, AnExclusiveLeaseTakesAllOfThem) {
    const Lease place = must(take("alice"));
    EXPECT_TRUE(held(locks().try_lock(key_, {.owner = "bob"}), {"alice"}));
    EXPECT_TRUE(granted(locks().release(key_, place.lock_id)));
    (void)must(locks().try_lock(key_, {.owner = "bob"}));
    EXPECT_TRUE(held(take("alice"), {"bob"}));
}

TEST_P(Places, SeveralKeysAreTakenTogetherOrNotAtAll) {
    const LockKey other{"Job", "upload"};
    const auto both = [&](const std::string& owner) {
        return locks().try_lock_all({key_, other}, {.owner = owner, .places = 2});
    };
    (void)must(both("alice"));
    (void)must(locks().try_lock(other, {.owner = "bob", .places = 2}));
    EXPECT_TRUE(held(both("carol"), {"alice", "bob"}));
    EXPECT_EQ(owners_of(locks().holders(key_)), std::vector<std::string>{"alice"});
}

TEST_P(Places, ARepeatedTryGetsTheSamePlaceAndTakesNoSecond) {
    const TryLock request{
        .key = key_, .lock_id = LockId::random(), .mode = Mode::shared, .ttl = 5min, .places = 1};
    const auto store = harness().open();
    for (int i = 0; i < 2; ++i) {
        const std::vector<Request> batch{request};
        std::vector<Outcome> outcome(1);
        store->apply(batch, outcome);
        ASSERT_TRUE(std::holds_alternative<Lease>(outcome[0]));
        EXPECT_EQ(std::get<Lease>(outcome[0]).lock_id, request.lock_id);
    }
    EXPECT_EQ(locks().holders(key_).size(), 1U);
}

TEST_P(Places, AWaiterIsGrantedTheNextFreePlace) {
    const std::vector<Lease> leases = fill();
    auto waiter = std::async(std::launch::async, [&] {
        return locks().lock_for(key_, 1h, {.owner = "dave", .places = 3});
    });
    (void)must(locks().release(key_, leases[1].lock_id));
    EXPECT_EQ(must(waiter.get()).owner, "dave");
    EXPECT_EQ(locks().holders(key_).size(), 3U);
}

LEASEHOLD_ON_EVERY_STORE(Places);

}  // namespace
}  // namespace leasehold::conformance
