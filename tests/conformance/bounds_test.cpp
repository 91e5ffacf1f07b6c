#include <atomic>
#include <utility>

#include "conformance/conformance.hpp"
#include "core/fresh_lock_id.hpp"

// A request that exceeds a limit is a BadRequest, thrown before the store is asked. Its text says
// what is allowed.
namespace leasehold::conformance {
namespace {

class CountingStore final : public Store {
public:
    CountingStore(std::unique_ptr<Store> store, std::atomic<int>& calls)
        : store_{std::move(store)}, calls_{calls} {}

    void apply(std::span<const Request> requests, std::span<Outcome> outcomes) override {
        ++calls_;
        store_->apply(requests, outcomes);
    }
    [[nodiscard]] std::size_t concurrency() const noexcept override {
        return store_->concurrency();
    }
    [[nodiscard]] StoreStatus status() override { return store_->status(); }

private:
    std::unique_ptr<Store> store_;
    std::atomic<int>& calls_;
};

class Bounds : public ConformanceTest {
protected:
    LockManager& locks(Limits limits = {}) {
        locks_ = std::make_unique<LockManager>(
            std::make_unique<CountingStore>(harness().open(), calls_), limits);
        return *locks_;
    }

    // The request is refused without the store, with a text that contains these words.
    void expect_refused(const std::function<void()>& ask, const std::vector<std::string>& words) {
        const int before = calls_;
        try {
            ask();
            ADD_FAILURE() << "it was not refused";
        } catch (const BadRequest& refused) {
            for (const std::string& word : words) {
                EXPECT_NE(std::string{refused.what()}.find(word), std::string::npos)
                    << refused.what() << " does not say " << word;
            }
        }
        EXPECT_EQ(calls_, before) << "the store was touched";
    }

    void expect_not_refused(const std::function<void()>& ask) {
        const int before = calls_;
        EXPECT_NO_THROW(ask());
        EXPECT_GT(calls_, before);
    }

    const LockKey key_{"Order", "1"};
    const LockId id_ = LockId::random();

private:
    std::atomic<int> calls_{0};
    std::unique_ptr<LockManager> locks_;
};

TEST_P(Bounds, TheTtlIsNeitherTooShortNorTooLong) {
    LockManager& locks = this->locks({.min_ttl = 1s, .max_ttl = 10min});
    const auto every_way = [&](Duration ttl) -> std::vector<std::function<void()>> {
        return {
            [&locks, ttl, this] { (void)locks.try_lock(key_, {.owner = "a", .ttl = ttl}); },
            [&locks, ttl, this] { (void)locks.try_lock_all({key_}, {.owner = "a", .ttl = ttl}); },
            [&locks, ttl, this] { (void)locks.renew(key_, id_, ttl); },
            [&locks, ttl, this] { (void)locks.renew(id_, ttl); }};
    };
    for (const Duration ttl : {Duration{999'999us}, Duration{0}, Duration{-1s}, Duration::min()}) {
        for (const auto& ask : every_way(ttl)) expect_refused(ask, {"ttl", "at least 1s"});
    }
    for (const Duration ttl : {Duration{10min + 1us}, Duration{24h}, Duration::max() - 1us}) {
        for (const auto& ask : every_way(ttl)) expect_refused(ask, {"ttl", "at most 10m"});
    }
    for (const Duration ttl : {Duration{1s}, Duration{10min}}) {
        for (const auto& ask : every_way(ttl)) expect_not_refused(ask);
    }
}

TEST_P(Bounds, TheUsualLimitsAreADayAndATenthOfASecond) {
    LockManager& locks = this->locks();
    expect_refused([&] { (void)locks.try_lock(key_, {.ttl = 99ms}); }, {"at least 100ms"});
    expect_refused([&] { (void)locks.try_lock(key_, {.ttl = 24h + 1ms}); }, {"at most 1d"});
    expect_not_refused([&] { (void)locks.try_lock(key_, {.owner = "a", .ttl = 24h}); });
    expect_not_refused([&] { (void)locks.try_lock(key_, {.owner = "a", .ttl = 100ms}); });
}

TEST_P(Bounds, EndlessLeasesMustBeAllowed) {
    LockManager& strict = locks();
    expect_refused([&] { (void)strict.try_lock(key_, {.ttl = until_released}); },
                   {"allow_endless"});
    expect_refused([&] { (void)strict.renew(id_, until_released); }, {"allow_endless"});
    LockManager& lenient = locks({.allow_endless = true});
    expect_not_refused([&] { (void)lenient.try_lock(key_, {.ttl = until_released}); });
}

TEST_P(Bounds, AnExtensionIsMoreThanNothingAndNoLongerThanTheLongestTtl) {
    LockManager& locks = this->locks({.max_ttl = 10min});
    for (const Duration by : {Duration{0}, Duration{-1s}, Duration::min()}) {
        expect_refused([&] { (void)locks.extend(key_, id_, by); }, {"extension"});
        expect_refused([&] { (void)locks.extend(id_, by); }, {"extension"});
    }
    for (const Duration by : {Duration{10min + 1us}, until_released}) {
        expect_refused([&] { (void)locks.extend(id_, by); }, {"extension", "at most 10m"});
    }
    expect_not_refused([&] { (void)locks.extend(id_, 1us); });
    expect_not_refused([&] { (void)locks.extend(id_, 10min); });
}

TEST_P(Bounds, TheNilLockIdNamesNoLease) {
    LockManager& locks = this->locks();
    expect_refused([&] { (void)locks.check(LockId{}); }, {"nil"});
    expect_refused([&] { (void)locks.check(key_, LockId{}); }, {"nil"});
    expect_refused([&] { (void)locks.extend(LockId{}, 1min); }, {"nil"});
    expect_refused([&] { (void)locks.renew(LockId{}, 1min); }, {"nil"});
    expect_refused([&] { (void)locks.release(LockId{}); }, {"nil"});
    expect_refused([&] { (void)locks.try_lock(key_, {.lock_id = LockId{}}); }, {"nil"});
}

TEST_P(Bounds, OwnersAreUtf8WithoutControlCharactersAndNotTooLong) {
    LockManager& locks = this->locks();
    const auto every_way = [&](const std::string& owner) -> std::vector<std::function<void()>> {
        return {[&locks, owner, this] { (void)locks.try_lock(key_, {.owner = owner}); },
                [&locks, owner, this] { (void)locks.try_lock_all({key_}, {.owner = owner}); },
                [&locks, owner] { (void)locks.release_all(owner); },
                [&locks, owner] { (void)locks.list({.owner = owner}); },
                [&locks, owner, this] { (void)locks.break_lock(key_, 1, owner, ""); }};
    };
    for (const auto& ask : every_way(std::string(Limits::owner_bytes + 1, 'o'))) {
        expect_refused(ask, {"owner", "513", "at most 512"});
    }
    for (const auto& ask : every_way(std::string("a\0b", 3))) {
        expect_refused(ask, {"owner", "control character"});
    }
    for (const auto& ask : every_way("two\nlines")) {
        expect_refused(ask, {"owner", "control character"});
    }
    for (const auto& ask : every_way("\xff")) expect_refused(ask, {"owner", "UTF-8"});
    for (const auto& ask : every_way(std::string(Limits::owner_bytes, 'o')))
        expect_not_refused(ask);
}

TEST_P(Bounds, NotesAndReasonsAreUtf8AndNotTooLong) {
    LockManager& locks = this->locks();
    const auto every_way = [&](const std::string& note) -> std::vector<std::function<void()>> {
        return {[&locks, note, this] { (void)locks.try_lock(key_, {.owner = "a", .note = note}); },
                [&locks, note, this] {
                    (void)locks.try_lock_all({key_}, {.owner = "a", .note = note});
                },
                [&locks, note, this] { (void)locks.break_lock(key_, 1, "admin", note); }};
    };
    for (const auto& ask : every_way(std::string(Limits::note_bytes + 1, 'n'))) {
        expect_refused(ask, {"1025", "at most 1024"});
    }
    for (const auto& ask : every_way(std::string("a\0b", 3)))
        expect_refused(ask, {"control character"});
    for (const auto& ask : every_way("\xc3\x28")) expect_refused(ask, {"UTF-8"});
    for (const auto& ask : every_way(std::string(Limits::note_bytes, 'n'))) expect_not_refused(ask);
    for (const auto& ask : every_way("two\nlines\tand more")) expect_not_refused(ask);
}

TEST_P(Bounds, OwnersThatMustBeNamedAre) {
    LockManager& locks = this->locks();
    expect_refused([&] { (void)locks.release_all(""); }, {"owner"});
    expect_refused([&] { (void)locks.release_all("", OwnerScope::below); }, {"owner"});
    expect_refused([&] { (void)locks.break_lock(key_, 1, "", "why"); }, {"named"});
    DistLock dist{locks};
    expect_refused([&] { (void)dist.try_lock("job", "", 1min); }, {"owner"});
    expect_refused([&] { (void)dist.unlock("job", ""); }, {"owner"});
    expect_refused([&] { const Session session{locks, ""}; }, {"owner"});
}

TEST_P(Bounds, TryLockAllTakesAtLeastOneKeyAndNotTooMany) {
    LockManager& locks = this->locks({.keys_at_once = 3});
    const auto keys = [](int count) {
        std::vector<LockKey> orders;
        for (int i = 0; i < count; ++i) orders.emplace_back("Order", std::to_string(i));
        return orders;
    };
    expect_refused([&] { (void)locks.try_lock_all({}); }, {"at least one key"});
    expect_refused([&] { (void)locks.try_lock_all(keys(4)); }, {"4", "at most 3"});
    expect_not_refused([&] { (void)locks.try_lock_all(keys(3), {.owner = "a"}); });
    expect_refused([&] { (void)locks.try_lock_all(keys(2), {.since = 1}); }, {"since"});
    expect_refused([&] { (void)locks.try_lock_all(keys(2), {.lock_id = id_}); }, {"lock_id"});
}

TEST_P(Bounds, PlacesAreFromOneToAThousandAndForSharedLeases) {
    LockManager& locks = this->locks();
    expect_refused([&] { (void)locks.try_lock(key_, {.places = 0}); }, {"at least one place"});
    expect_refused([&] { (void)locks.try_lock(key_, {.places = 1001}); }, {"1001", "at most 1000"});
    expect_refused([&] { (void)locks.try_lock_all({key_}, {.places = 0}); }, {"at least one"});
    expect_refused(
        [&] {
            locks.submit(TryLock{.key = key_, .lock_id = id_, .ttl = 1min, .places = 2},
                         [](const Outcome&) {});
        },
        {"shared leases"});
    expect_not_refused([&] { (void)locks.try_lock(key_, {.places = 1000}); });
}

TEST_P(Bounds, RequestsOfOnesOwnMakingAreHeldToTheSameBounds) {
    LockManager& locks = this->locks();
    const auto submit = [&](Request request) {
        return [&locks, request] {
            locks.submit(request, [](const Outcome&) { ADD_FAILURE() << "it was answered"; });
        };
    };
    const LockKey other{"Order", "2"};
    expect_refused(submit(TryLock{.key = key_, .lock_id = id_, .ttl = 25h}), {"at most"});
    expect_refused(submit(TryLock{.key = key_, .ttl = 1min}), {"nil"});
    expect_refused(submit(TryLockAll{.keys = {other, key_}, .lock_ids = {id_, id_}, .ttl = 1min}),
                   {"sorted"});
    expect_refused(submit(TryLockAll{.keys = {key_, key_}, .lock_ids = {id_, id_}, .ttl = 1min}),
                   {"different"});
    expect_refused(submit(TryLockAll{.keys = {key_, other}, .lock_ids = {id_}, .ttl = 1min}),
                   {"lock id"});
    expect_refused(submit(TryLockAll{.keys = {key_, other}, .lock_ids = {id_, id_}, .ttl = 1min}),
                   {"of its own"});
    expect_refused(submit(Extend{.lock_id = id_, .by = 0s}), {"extension"});
    for (const Duration bound : {Duration{0}, Duration{-1us}, Duration::min()}) {
        expect_refused(submit(Extend{.lock_id = id_, .by = 1s, .max_ttl = bound}), {"max_ttl"});
    }
    expect_refused(submit(Purge{.rows = 0}), {"at least one"});
}

TEST_P(Bounds, PagesHaveRowsAndNotTooMany) {
    LockManager& locks = this->locks({.page_rows = 10});
    expect_refused([&] { (void)locks.list({.limit = 0}); }, {"at least one row"});
    expect_refused([&] { (void)locks.history({.limit = 0}); }, {"at least one row"});
    expect_refused([&] { (void)locks.list({.limit = 11}); }, {"11", "at most 10"});
    expect_refused([&] { (void)locks.history({.limit = 11}); }, {"11", "at most 10"});
    expect_not_refused([&] { (void)locks.list({.limit = 10}); });
    expect_not_refused([&] { (void)locks.history({.limit = 10}); });
}

// Tries with the longest texts: each on its own key, or all on the same key if they are shared.
std::vector<Request> long_leases(std::size_t count, Mode mode) {
    std::vector<Request> requests;
    for (std::size_t i = 0; i < count; ++i) {
        std::string owner = "owner " + std::to_string(i) + "/";
        owner.resize(Limits::owner_bytes, 'o');
        const std::string id = mode == Mode::shared ? "all" : std::to_string(1000 + i);
        requests.emplace_back(TryLock{.key = {"Long", id},
                                      .lock_id = LockId::random(),
                                      .owner = std::move(owner),
                                      .mode = mode,
                                      .ttl = 5min,
                                      .note = std::string(Limits::note_bytes, 'n')});
    }
    return requests;
}

void take(Store& store, const std::vector<Request>& requests) {
    std::vector<Outcome> outcomes(requests.size());
    store.apply(requests, outcomes);
    for (const Outcome& outcome : outcomes) ASSERT_TRUE(std::holds_alternative<Lease>(outcome));
}

TEST_P(Bounds, ARefusalNamesTheHoldersThatFitAndCountsAll) {
    constexpr std::size_t readers = 20;
    const auto store = harness().open();
    take(*store, long_leases(readers, Mode::shared));
    LockManager& locks = this->locks();
    const auto refused = locks.try_lock({"Long", "all"}, {.owner = "writer"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Refusal::Kind::held);
    EXPECT_EQ(refused.error().holders_in_all, readers);
    EXPECT_GE(refused.error().holders.size(), 1U);
    EXPECT_LE(refused.error().holders.size() * Limits::note_bytes, Limits::named_holders_bytes);
    EXPECT_TRUE(refused.error().message().ends_with("and 19 more")) << refused.error().message();

    const auto none_of_two = locks.try_lock_all({{"Long", "all"}, {"Long", "other"}}, {});
    ASSERT_FALSE(none_of_two);
    EXPECT_EQ(none_of_two.error().holders_in_all, readers);
    EXPECT_LE(none_of_two.error().holders.size() * Limits::note_bytes, Limits::named_holders_bytes);
}

TEST_P(Bounds, APageEndsWhereItWouldBecomeTooLarge) {
    constexpr std::size_t leases = 180;
    const auto store = harness().open();
    const std::vector<Request> requests = long_leases(leases, Mode::exclusive);
    take(*store, requests);
    LockManager& locks = this->locks();
    List query{.type = "Long", .limit = leases};
    const HolderPage first = locks.list(query);
    EXPECT_TRUE(first.cut);
    EXPECT_LE(first.size() * Limits::note_bytes, Limits::page_bytes);
    query.after = first.back();
    const HolderPage second = locks.list(query);
    EXPECT_FALSE(second.cut);
    EXPECT_EQ(first.size() + second.size(), leases);
    EXPECT_EQ(second.back().key, std::get<TryLock>(requests.back()).key);
    EXPECT_FALSE(locks.list({.type = "Long", .limit = 10}).cut);

    for (std::size_t i = 0; i < leases; ++i) {
        const auto& taken = std::get<TryLock>(requests[i]);
        (void)must(locks.release(taken.key, taken.lock_id));
    }
    const HistoryPage past = locks.history({.limit = leases});
    EXPECT_TRUE(past.cut);
    EXPECT_LT(past.size(), leases);
    const HistoryPage earlier = locks.history({.before = past.back().sequence, .limit = leases});
    EXPECT_EQ(past.size() + earlier.size(), leases);
}

TEST_P(Bounds, TheHoldersOfAKeyEndWhereTheyWouldBecomeTooMany) {
    const auto store = harness().open();
    take(*store, long_leases(180, Mode::shared));
    const HolderPage holders = this->locks().holders({"Long", "all"});
    EXPECT_TRUE(holders.cut);
    EXPECT_LE(holders.size() * Limits::note_bytes, Limits::page_bytes);
}

TEST_P(Bounds, TheDefaultTtlCanBeChosen) {
    const Lease lease = must(locks({.default_ttl = 42s}).try_lock(key_));
    EXPECT_EQ(lease.expires_at - lease.granted_at, 42s);
}

LEASEHOLD_ON_EVERY_STORE(Bounds);

// Stores in which reading or ending very many rows could delay others.
class ManyRows : public SqlConformanceTest {
protected:
    static std::vector<Request> tries(const std::string& type, std::size_t count,
                                      const std::string& owner) {
        std::vector<Request> requests;
        for (std::size_t i = 0; i < count; ++i) {
            requests.emplace_back(TryLock{.key = {type, std::to_string(10'000 + i)},
                                          .lock_id = FreshLockId::draw(),
                                          .owner = owner,
                                          .ttl = 5min});
        }
        return requests;
    }

    static std::vector<Request> releases(const std::vector<Request>& taken) {
        std::vector<Request> requests;
        for (const Request& one : taken) {
            const auto& lease = std::get<TryLock>(one);
            requests.emplace_back(Release{.key = lease.key, .lock_id = lease.lock_id});
        }
        return requests;
    }

    // All leases, and the number of pages that were read.
    std::pair<std::vector<Holder>, int> listed(List query) {
        std::vector<Holder> found;
        for (int pages = 1;; ++pages) {
            const HolderPage page = locks().list(query);
            found.insert(found.end(), page.begin(), page.end());
            if (!page.may_continue(query.limit)) return {found, pages};
            query.after = page.last();
        }
    }
};

TEST_P(ManyRows, OfWhichFewMatchAreLookedThroughPageByPage) {
    const auto store = harness().open();
    const auto taken = tries("Dead", Limits::rows_looked_through + 100, "alice");
    take(*store, taken);
    take(*store, releases(taken));
    take(*store, tries("Live", 1, "bob"));

    const HolderPage first = locks().list({.limit = 10});
    EXPECT_TRUE(first.empty());
    EXPECT_TRUE(first.cut);
    EXPECT_EQ(first.last().key, (LockKey{"Dead", std::to_string(9'999 + 2'000)}));
    const auto [all, pages] = listed({.limit = 10});
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all.front().owner, "bob");
    EXPECT_EQ(pages, 2);

    // These are found at once.
    for (const List& query : {List{.type = "Live"}, List{.owner = "bob"},
                              List{.owner = "bob", .scope = OwnerScope::below}}) {
        const HolderPage page = locks().list(query);
        EXPECT_EQ(page.size(), 1U);
        EXPECT_FALSE(page.cut);
    }
    EXPECT_TRUE(listed({.type = "Dead", .limit = 10}).first.empty());
    EXPECT_TRUE(listed({.owner = "alice", .limit = 10}).first.empty());
    EXPECT_TRUE(must(locks().release_all("alice")).empty());

    // Leases that have ended make the owner too large for one transaction as well.
    take(*store, tries("Later", 2, "alice"));
    const Request all_of_alice = ReleaseAll{.owner = "alice"};
    Outcome outcome;
    store->apply({&all_of_alice, 1}, {&outcome, 1});
    const auto* fault = std::get_if<StoreFault>(&outcome);
    ASSERT_NE(fault, nullptr);
    EXPECT_EQ(fault->cause(), StoreFault::Cause::too_large);
    EXPECT_EQ(fault->effect(), StoreFault::Effect::none);
    EXPECT_EQ(listed({.owner = "alice", .limit = 10}).first.size(), 2U);
    EXPECT_EQ(must(locks().release_all("alice")).size(), 2U);
    EXPECT_TRUE(listed({.owner = "alice", .limit = 10}).first.empty());
    EXPECT_EQ(must(locks().release_all("bob")).size(), 1U);
}

TEST_P(ManyRows, OfAnOwnerEndInSeveralTransactions) {
    const auto store = harness().open();
    constexpr std::size_t many = Limits::released_at_once + 100;
    take(*store, tries("Order", many, "alice/tab-1"));
    take(*store, tries("Other", 1, "bob"));

    const Request all = ReleaseAll{.owner = "alice", .scope = OwnerScope::below};
    Outcome outcome;
    store->apply({&all, 1}, {&outcome, 1});
    const auto* fault = std::get_if<StoreFault>(&outcome);
    ASSERT_NE(fault, nullptr);
    EXPECT_EQ(fault->cause(), StoreFault::Cause::too_large);
    EXPECT_EQ(fault->effect(), StoreFault::Effect::none);
    EXPECT_EQ(listed({.owner = "alice", .scope = OwnerScope::below, .limit = 1000}).first.size(),
              many);

    const auto released = must(locks().release_all("alice", OwnerScope::below));
    EXPECT_EQ(released.size(), many);
    EXPECT_EQ(listed({.limit = 1000}).first.size(), 1U);
}

LEASEHOLD_ON_EVERY_SQL_STORE(ManyRows);

}  // namespace
}  // namespace leasehold::conformance
