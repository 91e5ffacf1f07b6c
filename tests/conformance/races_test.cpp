#include <algorithm>
#include <atomic>
#include <barrier>
#include <exception>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

#include "conformance/conformance.hpp"

// Many threads and the handles of several processes on few keys.
namespace leasehold::conformance {
namespace {

class Races : public ConformanceTest {
protected:
    static constexpr std::size_t handle_count = 4;

    // Runs the work in many threads, which share a few handles, and waits for all of them.
    void crowd(std::size_t threads, const std::function<void(std::size_t, LockManager&)>& work) {
        // The managers are patient, because a busy machine may suspend a thread in the middle of a
        // transaction.
        while (handles_.size() < handle_count) handles_.push_back(manager({.busy_patience = 20s}));
        std::mutex mutex;
        std::set<std::string> problems;  // guarded by mutex
        {
            std::vector<std::jthread> running;
            running.reserve(threads);
            for (std::size_t i = 0; i < threads; ++i) {
                running.emplace_back([&, i] {
                    try {
                        work(i, *handles_[i % handle_count]);
                    } catch (const std::exception& problem) {
                        const std::lock_guard lock{mutex};
                        problems.insert(problem.what());
                    }
                });
            }
        }
        EXPECT_EQ(problems, std::set<std::string>{});
    }
    void crowd(const std::function<void(std::size_t, LockManager&)>& work) {
        crowd(harness().crowd(), work);
    }

    // All threads work at once, round after round. One thread runs `between` while the others wait.
    void rounds(std::size_t count, const std::function<void()>& between,
                const std::function<void(std::size_t, LockManager&)>& work) {
        const std::size_t threads = std::min<std::size_t>(harness().crowd(), 32);
        std::barrier start{static_cast<std::ptrdiff_t>(threads)};
        std::barrier prepared{static_cast<std::ptrdiff_t>(threads)};
        crowd(threads, [&](std::size_t i, LockManager& locks) {
            std::exception_ptr problem;
            const auto keep_problem = [&](const std::function<void()>& step) {
                try {
                    step();
                } catch (...) {
                    problem = std::current_exception();
                }
            };
            // A thread with a problem continues, so that no other thread waits for it.
            for (std::size_t round = 0; round < count; ++round) {
                start.arrive_and_wait();
                if (i == 0) keep_problem(between);
                prepared.arrive_and_wait();
                keep_problem([&] { work(i, locks); });
            }
            if (problem) std::rethrow_exception(problem);
        });
    }

    // Tries until it is granted. Throws if that takes too long.
    static Lease insist(LockManager& locks, const LockKey& key, const LockOptions& options = {}) {
        std::optional<Lease> lease;
        if (!eventually([&] {
                auto asked = locks.try_lock(key, options);
                if (asked) lease = *std::move(asked);
                return lease.has_value();
            })) {
            throw std::runtime_error{"the key was never granted"};
        }
        return *std::move(lease);
    }

private:
    std::vector<std::unique_ptr<LockManager>> handles_;
};

// Not atomic as a whole: an update is lost if two threads are in here at once.
class Counter {
public:
    void increment() {
        const int seen = value_.load(std::memory_order_relaxed);
        std::this_thread::yield();
        value_.store(seen + 1, std::memory_order_relaxed);
    }
    [[nodiscard]] int value() const { return value_.load(); }

private:
    std::atomic<int> value_{0};
};

TEST_P(Races, ACounterChangedUnderTheLockNeverLosesAnUpdate) {
    const std::vector<LockKey> keys{{"Counter", "1"}, {"Counter", "2"}, {"Counter", "3"}};
    std::vector<Counter> counters(keys.size());
    std::vector<std::atomic<Fence>> fences(keys.size());
    crowd([&](std::size_t i, LockManager& locks) {
        const std::size_t which = i % keys.size();
        for (int edit = 0; edit < 2; ++edit) {
            const Lease lease = insist(locks, keys[which], {.ttl = 1h});
            counters[which].increment();
            EXPECT_GT(lease.fence, fences[which].exchange(lease.fence));
            EXPECT_TRUE(granted(locks.release(keys[which], lease.lock_id)));
        }
    });
    int total = 0;
    for (const Counter& counter : counters) total += counter.value();
    EXPECT_EQ(total, static_cast<int>(2 * harness().crowd()));
}

TEST_P(Races, WritersAndReadersAreNeverInTogether) {
    const LockKey key{"Document", "1"};
    std::atomic<int> readers{0};
    std::atomic<int> writers{0};
    std::atomic<int> together{0};
    crowd(std::min<std::size_t>(harness().crowd(), 200), [&](std::size_t i, LockManager& locks) {
        const bool writes = i % 4 == 0;
        const Lease lease =
            insist(locks, key, {.mode = writes ? Mode::exclusive : Mode::shared, .ttl = 1h});
        std::atomic<int>& mine = writes ? writers : readers;
        const int before = mine++;
        if (writes ? before > 0 || readers > 0 : writers > 0) ++together;
        std::this_thread::yield();
        --mine;
        EXPECT_TRUE(granted(locks.release(key, lease.lock_id)));
    });
    EXPECT_EQ(together, 0);
}

TEST_P(Races, NeverMoreAreInThanThereArePlaces) {
    const LockKey key{"Job", "encode"};
    constexpr int places = 3;
    std::atomic<int> inside{0};
    std::atomic<int> too_many{0};
    crowd(std::min<std::size_t>(harness().crowd(), 100), [&](std::size_t, LockManager& locks) {
        const Lease lease = insist(locks, key, {.places = places, .ttl = 1h});
        if (++inside > places) ++too_many;
        std::this_thread::yield();
        --inside;
        EXPECT_TRUE(granted(locks.release(key, lease.lock_id)));
    });
    EXPECT_EQ(too_many, 0);
}

TEST_P(Races, AFreeKeyHasExactlyOneWinner) {
    int round = 0;
    std::atomic<int> winners{0};
    std::vector<int> history;
    constexpr std::size_t count = 20;
    rounds(
        count,
        [&] {
            if (round++ > 0) history.push_back(winners);
            winners = 0;
        },
        [&](std::size_t, LockManager& locks) {
            if (locks.try_lock({"Free", std::to_string(round)})) ++winners;
        });
    history.push_back(winners);
    EXPECT_EQ(history, std::vector<int>(count, 1));
}

TEST_P(Races, AnExpiredKeyIsTakenOverByExactlyOne) {
    const LockKey key{"Expired", "1"};
    std::mutex mutex;
    std::vector<Lease> won;  // guarded by mutex
    std::vector<std::size_t> winners;
    Fence last = 0;
    constexpr std::size_t count = 20;
    const auto look = [&] {
        winners.push_back(won.size());
        for (const Lease& lease : won) {
            EXPECT_TRUE(granted(locks().check(key, lease.lock_id))) << "the winner's lease is gone";
            EXPECT_GT(lease.fence, last);
            last = lease.fence;
        }
        won.clear();
    };
    (void)must(locks().try_lock(key, {.ttl = 5min}));
    bool first = true;
    rounds(
        count,
        [&] {
            if (!std::exchange(first, false)) look();
            harness().let_pass(6min);
        },
        [&](std::size_t, LockManager& locks) {
            if (auto lease = locks.try_lock(key, {.ttl = 5min})) {
                const std::lock_guard lock{mutex};
                won.push_back(*std::move(lease));
            }
        });
    look();
    EXPECT_EQ(winners, std::vector<std::size_t>(count, 1));
}

TEST_P(Races, OneOwnersRequestsAllGetTheSameLease) {
    int round = 0;
    std::mutex mutex;
    std::set<LockId> ids;            // guarded by mutex
    std::set<std::string> refusals;  // guarded by mutex
    std::vector<std::size_t> different;
    constexpr std::size_t count = 20;
    rounds(
        count,
        [&] {
            if (round++ > 0) different.push_back(ids.size());
            ids.clear();
        },
        [&](std::size_t i, LockManager& locks) {
            if (i >= 8) return;
            const auto lease = locks.try_lock({"Same", std::to_string(round)}, {.owner = "alice"});
            const std::lock_guard lock{mutex};
            if (lease)
                ids.insert(lease->lock_id);
            else
                refusals.insert(lease.error().message());
        });
    different.push_back(ids.size());
    EXPECT_EQ(refusals, std::set<std::string>{});
    EXPECT_EQ(different, std::vector<std::size_t>(count, 1));
}

TEST_P(Races, OneLockIdAskedForManyTimesIsOneLease) {
    const LockKey key{"Retried", "1"};
    const LockId id = LockId::random();
    std::mutex mutex;
    std::set<Fence> fences;  // guarded by mutex
    crowd(16, [&](std::size_t, LockManager& locks) {
        const Lease lease = insist(locks, key, {.ttl = 1h, .lock_id = id});
        const std::lock_guard lock{mutex};
        fences.insert(lease.fence);
    });
    EXPECT_EQ(fences.size(), 1U);
}

TEST_P(Races, ManyWhoWantSeveralKeysInCrossingOrdersAllGetThem) {
    std::vector<LockKey> keys;
    for (int i = 0; i < 6; ++i) keys.emplace_back("Crossing", std::to_string(i));
    std::vector<Counter> counters(keys.size());
    crowd(std::min<std::size_t>(harness().crowd(), 64), [&](std::size_t i, LockManager& locks) {
        // Three neighbours in a circle, forwards or backwards.
        std::vector<std::size_t> wanted{i % 6, (i + 1) % 6, (i + 2) % 6};
        if (i % 2 == 0) std::ranges::reverse(wanted);
        std::vector<LockKey> mine;
        for (const std::size_t key : wanted) mine.push_back(keys[key]);
        std::vector<Lease> leases;
        if (!eventually([&] {
                auto asked = locks.try_lock_all(mine, {.ttl = 1h});
                if (asked) leases = *std::move(asked);
                return !leases.empty();
            })) {
            throw std::runtime_error{"the keys were never granted"};
        }
        for (const std::size_t key : wanted) counters[key].increment();
        for (const Lease& lease : leases) {
            EXPECT_TRUE(granted(locks.release(lease.key, lease.lock_id)));
        }
    });
    int total = 0;
    for (const Counter& counter : counters) total += counter.value();
    EXPECT_EQ(total, static_cast<int>(3 * std::min<std::size_t>(harness().crowd(), 64)));
    EXPECT_TRUE(locks().list().empty());
}

TEST_P(Races, ExtensionsThatOverlapAllCount) {
    const LockKey key{"Extended", "1"};
    const Lease lease = must(locks().try_lock(key, {.ttl = 10min}));
    constexpr int extensions = 20;
    crowd(extensions, [&](std::size_t, LockManager& locks) {
        EXPECT_TRUE(granted(locks.extend(key, lease.lock_id, 1min)));
    });
    EXPECT_EQ(must(locks().check(lease.lock_id)).expires_at, lease.expires_at + 1min * extensions);
}

TEST_P(Races, ALeaseReleasedByManyIsReleasedOnce) {
    const LockKey key{"Released", "1"};
    const Lease lease = must(locks().try_lock(key, {.owner = "alice"}));
    std::atomic<int> released{0};
    std::atomic<int> told{0};
    crowd(16, [&](std::size_t, LockManager& locks) {
        const auto result = locks.release(key, lease.lock_id);
        if (result)
            ++released;
        else if (gone(result, Gone::released))
            ++told;
    });
    EXPECT_EQ(released, 1);
    EXPECT_EQ(told, 15);
    EXPECT_EQ(locks().history({.key = key}).size(), 1U);
}

// Every second store releases the even keys and extends the odd ones in its batch; the others do
// the opposite.
TEST_P(Races, WhatIsProlongedAndReleasedInTheSameBatchesEndsOnce) {
    constexpr std::size_t rounds = 10, keys = 8, stores = 3;
    std::vector<std::unique_ptr<Store>> opened;
    for (std::size_t i = 0; i < stores; ++i) opened.push_back(harness().open());
    for (std::size_t round = 0; round < rounds; ++round) {
        std::vector<Lease> leases;
        for (std::size_t i = 0; i < keys; ++i) {
            leases.push_back(must(locks().try_lock({"Order", std::to_string(i)}, {.ttl = 1h})));
        }
        std::vector<std::atomic<int>> released(keys);
        {
            std::vector<std::jthread> running;
            for (std::size_t store = 0; store < stores; ++store) {
                running.emplace_back([&, store] {
                    std::vector<Request> requests;
                    for (std::size_t i = 0; i < keys; ++i) {
                        const auto& [key, id] = std::tie(leases[i].key, leases[i].lock_id);
                        if ((i + store) % 2 == 0) {
                            requests.emplace_back(Release{key, id});
                        } else {
                            requests.emplace_back(Extend{key, id, 1min, 2h, {}});
                        }
                    }
                    std::vector<Outcome> outcomes(keys);
                    EXPECT_NO_THROW(opened[store]->apply(requests, outcomes));
                    for (std::size_t i = 0; i < keys; ++i) {
                        if (!std::holds_alternative<Lease>(outcomes[i])) continue;
                        EXPECT_EQ(std::get<Lease>(outcomes[i]).lock_id, leases[i].lock_id);
                        released[i] += std::holds_alternative<Release>(requests[i]) ? 1 : 0;
                    }
                });
            }
        }
        // Releases the leases that another transaction kept from being released.
        for (std::size_t i = 0; i < keys; ++i) {
            released[i] += locks().release(leases[i].key, leases[i].lock_id).has_value() ? 1 : 0;
            EXPECT_EQ(released[i], 1) << i;
        }
    }
    EXPECT_EQ(locks().history({.limit = 1000}).size(), rounds * keys);
}

TEST_P(Races, NewKeysOfManyNeverGetInEachOthersWay) {
    crowd(16, [&](std::size_t i, LockManager& locks) {
        for (int n = 0; n < 10; ++n) {
            const LockKey key{"New", std::to_string(i) + "." + std::to_string(n)};
            const Lease lease = must(locks.try_lock(key));
            EXPECT_TRUE(granted(locks.release(key, lease.lock_id)));
        }
    });
}

TEST_P(Races, EveryHandleMayBeTheFirstToOpenTheStore) {
    // Opened at the same time, each of them makes the tables or finds them.
    std::vector<std::unique_ptr<LockManager>> opened(8);
    std::vector<std::string> problems(opened.size());
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < opened.size(); ++i) {
            threads.emplace_back([&, i] {
                try {
                    opened[i] = manager();
                } catch (const std::exception& problem) {
                    problems[i] = problem.what();
                }
            });
        }
    }
    EXPECT_EQ(problems, std::vector<std::string>(opened.size()));
    for (const auto& handle : opened) {
        if (handle) {
            EXPECT_TRUE(handle->list().empty());
        }
    }
}

LEASEHOLD_ON_EVERY_STORE(Races);

}  // namespace
}  // namespace leasehold::conformance
