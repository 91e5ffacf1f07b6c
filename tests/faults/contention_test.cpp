// Open transactions of other programs on the same rows, and our own transactions that were cut off.
#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <random>

#include "faults/databases.hpp"
#include "support/tcp_gate.hpp"

namespace leasehold::faults {
namespace {

// Far longer than a request takes on a busy machine, and far shorter than any timeout of a
// database.
constexpr auto promptly = 6s;

class Contention : public ServerTest {
protected:
    // A lease that has expired and whose row is still in the table.
    static Lease expired(LockManager& locks, const LockKey& key) {
        const auto lease = locks.try_lock(key, {.owner = "past", .ttl = 100ms});
        EXPECT_TRUE(eventually([&] { return !locks.check(key, lease->lock_id); }));
        return *lease;
    }

    // A batch of tries on these keys, in one call of the store.
    static std::vector<Outcome> try_at_once(Store& store, const std::vector<LockKey>& keys) {
        std::vector<Request> requests;
        for (const LockKey& key : keys) {
            requests.emplace_back(
                TryLock{.key = key, .lock_id = LockId::random(), .owner = "batch", .ttl = 1min});
        }
        std::vector<Outcome> outcomes(requests.size());
        store.apply(requests, outcomes);
        return outcomes;
    }

    static std::vector<LockKey> keys_around(const LockKey& key) {
        return {
            {"Order", "0-before"}, {"Order", "zz-after"}, key, {"Invoice", "1"}, {"Ticket", "1"}};
    }

    // All keys except `key` are granted, `key` is refused, and all answers come promptly.
    static void expect_only_refused(Store& store, const LockKey& key) {
        const std::vector<LockKey> keys = keys_around(key);
        const auto asked = SteadyClock::now();
        const std::vector<Outcome> outcomes = try_at_once(store, keys);
        EXPECT_LT(SteadyClock::now() - asked, promptly);
        for (std::size_t i = 0; i < keys.size(); ++i) {
            EXPECT_EQ(std::holds_alternative<Refusal>(outcomes[i]), keys[i] == key)
                << keys[i].to_string();
            EXPECT_EQ(std::holds_alternative<Lease>(outcomes[i]), keys[i] != key)
                << keys[i].to_string();
        }
    }
};
INSTANTIATE_TEST_SUITE_P(, Contention, ::testing::ValuesIn(every_server()), by_store());

TEST_P(Contention, OnOneExpiredKeyDelaysNoOther) {
    const auto store = open_store(url());
    LockManager locks{open_store(url())};
    const LockKey key{"Order", "1"};
    expired(locks, key);
    const auto stranger = connect();
    stranger->begin_and_lock(key);
    expect_only_refused(*store, key);
    stranger->run("rollback");
    EXPECT_TRUE(locks.try_lock(key));
}

TEST_P(Contention, OnAHeldKeyDelaysNoOtherAndNamesTheHolder) {
    const auto store = open_store(url());
    LockManager locks{open_store(url())};
    const LockKey key{"Order", "1"};
    ASSERT_TRUE(locks.try_lock(key, {.owner = "alice"}));
    const auto stranger = connect();
    stranger->begin_and_lock(key);
    expect_only_refused(*store, key);
    const auto asked = SteadyClock::now();
    const auto refused = locks.try_lock(key, {.owner = "bob"});
    EXPECT_LT(SteadyClock::now() - asked, promptly);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Refusal::Kind::held);
    EXPECT_EQ(refused.error().holders.front().owner, "alice");
    stranger->run("rollback");
}

TEST_P(Contention, OnAReleasedKeyDelaysNoOther) {
    const auto store = open_store(url());
    LockManager locks{open_store(url())};
    const LockKey key{"Order", "1"};
    ASSERT_TRUE(locks.release(key, locks.try_lock(key).value().lock_id));
    const auto stranger = connect();
    stranger->begin_and_lock(key);
    expect_only_refused(*store, key);
    stranger->run("rollback");
    EXPECT_TRUE(locks.try_lock(key));
}

TEST_P(Contention, OnAKeyThatIsJustBeingInsertedDelaysNoOther) {
    const auto store = open_store(url());
    LockManager locks{open_store(url())};
    const LockKey key{"Order", "1"};
    const auto stranger = connect();
    // As another server would leave it that was paused before its commit.
    ASSERT_TRUE(locks.try_lock({"Order", "model"}));
    const std::string expiry =
        stranger->run("select expiration_time from locks where id = 'model'").front().front();
    stranger->run("begin");
    stranger->run("insert into locks (type, id, lockid, expiration_time) values ('Order', '1', '" +
                  LockId::random().to_string() + "', '" + expiry + "')");
    expect_only_refused(*store, key);
    stranger->run("rollback");
    EXPECT_TRUE(locks.try_lock(key));
}

TEST_P(Contention, KeepsARenewalThatWaitedPastTheExpiryRefused) {
    Limits patient;
    patient.busy_patience = 10s;
    LockManager locks{open_store(url()), patient};
    const LockKey key{"Order", "1"};
    constexpr auto ttl = 700ms;
    const auto lease = locks.try_lock(key, {.ttl = ttl});
    ASSERT_TRUE(lease);
    const auto dead_at = SteadyClock::now() + ttl;

    const auto stranger = connect();
    stranger->begin_and_lock(key);
    auto renewal =
        std::async(std::launch::async, [&] { return locks.renew(key, lease->lock_id, 1h); });
    ASSERT_TRUE(eventually([&] { return SteadyClock::now() > dead_at + 50ms; }));
    stranger->run("rollback");
    EXPECT_TRUE(is_gone(renewal.get(), Gone::expired));
    EXPECT_TRUE(is_gone(locks.check(key, lease->lock_id), Gone::expired));
}

TEST_P(Contention, ShortensNoLeaseThatWasGrantedAfterIt) {
    LockManager locks{open_store(url())};
    LockManager other{open_store(url())};
    const LockKey key{"Order", "1"};
    constexpr auto ttl = 3s;
    expired(locks, key);
    const auto stranger = connect();
    stranger->begin_and_lock(key);
    auto granted = std::async(std::launch::async, [&] {
        Result<Lease> lease = std::unexpected{Refusal{}};
        EXPECT_TRUE(
            eventually([&] { return (lease = locks.try_lock(key, {.ttl = ttl})).has_value(); }));
        return lease;
    });
    EXPECT_EQ(granted.wait_for(500ms), std::future_status::timeout);
    const auto unlocked = SteadyClock::now();
    stranger->run("rollback");
    const auto lease = granted.get();
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->remaining(), ttl);
    // The lease is in the table too: the other manager cannot take the key earlier.
    EXPECT_TRUE(eventually([&] { return other.try_lock(key).has_value(); }));
    EXPECT_GE(SteadyClock::now() - unlocked, ttl);
}

TEST_P(Contention, OfCrossingTransactionsNeverSurfacesAsAFault) {
    constexpr int managers = 3;
    constexpr int threads_each = 2;
    constexpr int keys = 6;
    std::vector<std::unique_ptr<LockManager>> all;
    for (int i = 0; i < managers; ++i) {
        all.push_back(std::make_unique<LockManager>(open_store(url())));
    }
    constexpr int enough = 50;
    std::atomic<int> granted = 0, refused = 0, faults = 0;
    const auto began = SteadyClock::now();
    const auto goes_on = [&] {
        const auto passed = SteadyClock::now() - began;
        return passed < 3s || (passed < 60s && (granted < enough || refused < enough));
    };
    const auto cross = [&](LockManager& locks, int number) {
        std::mt19937 random{static_cast<unsigned>(number)};
        const std::string owner = "owner-" + std::to_string(number);
        while (goes_on()) {
            std::vector<LockKey> wanted;
            for (int i = 0; i < 3; ++i)
                wanted.emplace_back("Order", std::to_string(random() % keys));
            std::ranges::shuffle(wanted, random);
            try {
                const auto mode = random() % 3 == 0 ? Mode::shared : Mode::exclusive;
                const auto leases = locks.try_lock_all(wanted, {.owner = owner, .mode = mode});
                ++(leases ? granted : refused);
                if (random() % 2 == 0) {
                    (void)locks.try_lock(wanted.back(), {.owner = owner});
                }
                if (random() % 4 != 0) (void)locks.release_all(owner);
                if (random() % 50 == 0) (void)locks.purge();
            } catch (const StoreFault& fault) {
                ++faults;
                ADD_FAILURE() << fault.what();
                return;
            }
        }
        (void)locks.release_all(owner);
    };
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < managers * threads_each; ++i) {
            threads.emplace_back(
                [&, i] { cross(*all[static_cast<std::size_t>(i % managers)], i); });
        }
    }
    EXPECT_EQ(faults, 0);
    EXPECT_GE(granted, enough);
    EXPECT_GE(refused, enough);
    EXPECT_TRUE(all.front()->list().empty());
}

class LostTransaction : public Contention {
protected:
    // Sends a try of two keys that have rows through the gate, and expects a fault. `fail` is
    // called before the request, `when_sent` as soon as the request has gone to the server.
    void lose(const std::function<void()>& fail, const std::function<void()>& when_sent) {
        LockManager locks{open_store(database().url(name(), gate_.port()) + "?io_timeout_ms=3000")};
        for (const LockKey& key : keys_) expired(locks, key);
        fail();
        const std::size_t bytes = gate_.client_bytes();
        auto lost = std::async(std::launch::async, [&] {
            EXPECT_THROW((void)locks.try_lock_all(keys_, {.owner = "lost"}), StoreFault);
        });
        EXPECT_TRUE(eventually([&] { return gate_.client_bytes() > bytes; }));
        when_sent();
        lost.get();
    }

    const std::vector<LockKey> keys_{{"Order", "1"}, {"Order", "2"}};
    testing::TcpGate gate_{"127.0.0.1", database().port()};
};
INSTANTIATE_TEST_SUITE_P(, LostTransaction, ::testing::ValuesIn(every_server()), by_store());

TEST_P(LostTransaction, LeavesNoLockBehindWhenItsConnectionBreaks) {
    LockManager other{open_store(url())};
    lose([&] { gate_.cut_before_answer(); }, [] {});
    EXPECT_TRUE(
        eventually([&] { return other.try_lock_all(keys_, {.owner = "next"}).has_value(); }, 8s));
}

TEST_P(LostTransaction, IsEndedByTheServerWhenItsConnectionOnlyFallsSilent) {
    LockManager other{open_store(url())};
    // The server does not learn that the connection has ended.
    lose([&] { gate_.hold_answers(); }, [&] { gate_.hold(); });
    EXPECT_TRUE(
        eventually([&] { return other.try_lock_all(keys_, {.owner = "next"}).has_value(); }));
}

class Deadlock : public Contention {};
INSTANTIATE_TEST_SUITE_P(, Deadlock, ::testing::Values(on_mysql(), on_mariadb()), by_store());

// After a deadlock the server, or its cluster, has rolled the whole transaction back.
TEST_P(Deadlock, ThatCostsTheCallerItsTransactionIsAFaultAndNoRefusal) {
    LockManager locks{open_store(url())};
    const LockKey key{"Order", "1"};
    const auto lease = locks.try_lock(key, {.ttl = 1min});
    ASSERT_TRUE(lease);
    const auto caller = connect();
    caller->run(
        "create trigger deadlock before insert on lock_history for each row "
        "signal sqlstate '40001' set mysql_errno = 1213, message_text = 'Deadlock found'");
    caller->run("start transaction");
    try {
        (void)caller->release(key, lease->lock_id);
        FAIL() << "it was answered";
    } catch (const StoreFault& fault) {
        EXPECT_EQ(fault.effect(), Effect::none);
        EXPECT_NE(std::string{fault.what()}.find("rolled your transaction back"),
                  std::string::npos);
    }
    caller->run("rollback");
    EXPECT_TRUE(locks.check(key, lease->lock_id));
}

// The error happens inside a statement that would have committed. Nothing was done, and the fault
// says so.
TEST_P(Deadlock, OrAnotherErrorOfAReleaseBeforeItsCommitHasNoEffect) {
    LockManager locks{open_store(url())};
    std::vector<std::pair<LockKey, LockId>> leases;
    for (const std::string id : {"1", "2"}) {
        const LockKey key{"Order", id};
        const auto lease = locks.try_lock(key, {.ttl = 1min});
        ASSERT_TRUE(lease);
        leases.emplace_back(key, lease->lock_id);
    }
    const auto other = connect();
    const auto store = open_store(url());
    for (const std::string number : {"1213", "1205", "1644"}) {
        other->run("drop trigger if exists deadlock");
        other->run(
            "create trigger deadlock before insert on lock_history for each row "
            "signal sqlstate '45000' set mysql_errno = " +
            number + ", message_text = 'in the way'");
        for (const std::size_t size : {1U, 2U}) {
            std::vector<Request> requests;
            for (std::size_t i = 0; i < size; ++i) {
                requests.emplace_back(Release{leases[i].first, leases[i].second});
            }
            std::vector<Outcome> outcomes(size);
            try {
                store->apply(requests, outcomes);
                for (const Outcome& outcome : outcomes) {
                    EXPECT_EQ(std::get<Refusal>(outcome).kind, Refusal::Kind::busy) << number;
                }
            } catch (const StoreFault& fault) {
                EXPECT_EQ(fault.effect(), Effect::none) << number;
                EXPECT_EQ(number, "1644");
            }
            for (const auto& [key, lock_id] : leases) EXPECT_TRUE(locks.check(key, lock_id));
        }
    }
    other->run("drop trigger deadlock");
    for (const auto& [key, lock_id] : leases) EXPECT_TRUE(locks.release(key, lock_id));
}

class ContentionInAFile : public DatabaseTest {};
INSTANTIATE_TEST_SUITE_P(, ContentionInAFile, ::testing::Values(every_database().front()),
                         by_store());

TEST_P(ContentionInAFile, IsRefusedPromptlyWhileAnApplicationWrites) {
    Limits limits;
    LockManager locks{open_store(url()), limits};
    const LockKey held{"Order", "held"}, free{"Order", "free"};
    const auto lease = locks.try_lock(held, {.owner = "alice"});
    ASSERT_TRUE(lease);
    const auto application = connect();
    application->run("begin immediate");

    const auto asked = SteadyClock::now();
    const auto busy = locks.try_lock(free, {.owner = "bob"});
    EXPECT_LT(SteadyClock::now() - asked, limits.busy_patience + promptly);
    ASSERT_FALSE(busy);
    EXPECT_EQ(busy.error().kind, Refusal::Kind::busy);
    // Requests that change nothing are answered while the other program writes.
    EXPECT_TRUE(locks.check(held, lease->lock_id));
    EXPECT_EQ(locks.try_lock(held, {.owner = "bob"}).error().kind, Refusal::Kind::held);

    application->run("commit");
    EXPECT_TRUE(locks.try_lock(free, {.owner = "bob"}));
}

}  // namespace
}  // namespace leasehold::faults
