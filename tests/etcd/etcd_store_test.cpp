#include <leasehold/stores/etcd.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <leasehold/leasehold.hpp>

#include "core/fresh_lock_id.hpp"
#include "core/grant.hpp"
#include "server/certificates.hpp"
#include "stores/etcd/txn.hpp"
#include "support/private_etcd.hpp"
#include "support/tcp_gate.hpp"

namespace leasehold::etcd {
namespace {

using namespace std::chrono_literals;
using Effect = StoreFault::Effect;
using Cause = StoreFault::Cause;
using leasehold::testing::ask_http;
using leasehold::testing::PrivateEtcd;
using leasehold::testing::shared_etcd;
using leasehold::testing::TcpGate;

// Moves for all stores that are given it, beside the real one.
class MovedClock {
public:
    void let_pass(Duration duration) { moved_ += duration.count(); }
    [[nodiscard]] std::function<SteadyClock::time_point()> ahead_by(Duration offset) const {
        return [this, offset] { return SteadyClock::now() + offset + Duration{moved_.load()}; };
    }

private:
    std::atomic<Duration::rep> moved_{0};
};

// Lets something happen while a store works: the store asks for the time between its steps.
class DuringTheCall {
public:
    [[nodiscard]] std::function<SteadyClock::time_point()> on(
        std::function<SteadyClock::time_point()> clock) {
        return [this, clock = std::move(clock)] {
            if (what_ && moments_before_-- == 0) std::exchange(what_, nullptr)();
            return clock();
        };
    }
    // When the time has been asked for as often.
    void let_happen(int moments_before, std::function<void()> what) {
        moments_before_ = moments_before;
        what_ = std::move(what);
    }
    // Nothing happens any more. Whether it has happened.
    bool end() { return !std::exchange(what_, nullptr); }

private:
    std::function<void()> what_;
    int moments_before_ = 0;
};

class EtcdStore : public ::testing::Test {
protected:
    EtcdStore() {
        static int made = 0;
        target_.endpoints = {{.port = shared_etcd().port()}};
        target_.prefix = "own-" + std::to_string(++made);
    }

    [[nodiscard]] std::unique_ptr<LockManager> manager(Duration clock_offset = {},
                                                       Limits limits = {}) {
        return std::make_unique<LockManager>(
            open(target_, {.io_timeout = 20s}, clock_.ahead_by(clock_offset)), limits);
    }

    [[nodiscard]] static std::int64_t revision() {
        const std::string answer =
            ask_http(shared_etcd().port(), "/v3/kv/range", R"({"key":"AA=="})");
        const std::string before = R"("revision":")";
        return std::stoll(answer.substr(answer.find(before) + before.size()));
    }

    Cluster target_;
    MovedClock clock_;
    const LockKey key_{"Order", "1"};
};

TEST_F(EtcdStore, SaysWhatItIs) {
    const auto store = open(target_);
    EXPECT_TRUE(store->status().name.starts_with("etcd 3.")) << store->status().name;
    EXPECT_EQ(store->status().durability, Durability::strong);
    EXPECT_GT(store->concurrency(), 1U);
}

TEST_F(EtcdStore, TellsItsStatusAtOnceWhileEtcdIsPaused) {
    PrivateEtcd etcd;
    const auto store = open({.endpoints = {{.port = etcd.port()}}}, {.io_timeout = 5s});
    etcd.pause();
    const auto asked = SteadyClock::now();
    EXPECT_TRUE(store->status().name.starts_with("etcd 3."));
    EXPECT_LT(SteadyClock::now() - asked, 100ms);
    etcd.resume();
}

TEST_F(EtcdStore, AThousandTriesAreAFewTransactions) {
    const auto store = open(target_);
    std::vector<Request> requests;
    for (int i = 0; i < 1000; ++i) {
        requests.emplace_back(TryLock{.key = {"Order", std::to_string(i)},
                                      .lock_id = FreshLockId::draw(),
                                      .owner = "alice",
                                      .ttl = 5min});
    }
    std::vector<Outcome> outcomes(requests.size());
    const std::int64_t before = revision();
    store->apply(requests, outcomes);
    for (const Outcome& outcome : outcomes) ASSERT_TRUE(std::holds_alternative<Lease>(outcome));
    // Ten, and the clock may have been written beside.
    EXPECT_LE(revision() - before, 12);
}

TEST_F(EtcdStore, AThousandKeysAreTakenAndReleasedTogether) {
    const auto locks = manager({}, {.keys_at_once = 1000});
    std::vector<LockKey> keys;
    for (int i = 0; i < 1000; ++i) keys.emplace_back("Order", std::to_string(i));
    ASSERT_TRUE(locks->try_lock({"Order", "500"}, {.owner = "bob"}));
    EXPECT_FALSE(locks->try_lock_all(keys, {.owner = "alice"}));
    EXPECT_EQ(locks->list({.limit = 1000}).size(), 1U);
    EXPECT_EQ(locks->release_all("bob").value().size(), 1U);
    const auto leases = locks->try_lock_all(keys, {.owner = "alice"});
    ASSERT_TRUE(leases);
    EXPECT_EQ(leases->size(), 1000U);
    const std::int64_t before = revision();
    EXPECT_EQ(locks->release_all("alice").value().size(), 1000U);
    EXPECT_GT(revision(), before);
    EXPECT_TRUE(locks->list().empty());
    EXPECT_EQ(locks->history({.limit = 1000}).size(), 1000U);
}

// A megabyte and a half is what etcd takes by default.
TEST_F(EtcdStore, AllOfAnOwnerIsReleasedEvenIfItIsTooMuchForOneTransaction) {
    const auto locks = manager();
    std::vector<LockKey> keys;
    for (int i = 0; i < 1500; ++i) {
        keys.emplace_back("Order", std::string(400, 'x') + std::to_string(i));
    }
    for (std::size_t at = 0; at < keys.size(); at += 100) {
        const std::vector<LockKey> some(keys.begin() + static_cast<std::ptrdiff_t>(at),
                                        keys.begin() + static_cast<std::ptrdiff_t>(at) + 100);
        ASSERT_TRUE(locks->try_lock_all(
            some, {.owner = "alice/tab-" + std::to_string(at), .note = std::string(1000, 'n')}));
    }
    ASSERT_TRUE(locks->try_lock(key_, {.owner = "bob"}));
    const auto released = locks->release_all("alice", OwnerScope::below);
    ASSERT_TRUE(released);
    EXPECT_EQ(released->size(), keys.size());
    EXPECT_EQ(locks->list({.limit = 1000}).size(), 1U);
    EXPECT_EQ(locks->release_all("alice", OwnerScope::below).value().size(), 0U);
}

TEST_F(EtcdStore, SaysThatSomeWereReleasedWhenTheConnectionEndsAmongThem) {
    TcpGate gate{"127.0.0.1", shared_etcd().port()};
    Cluster through = target_;
    through.endpoints = {{.port = gate.port()}};
    const auto store = open(through, {.io_timeout = 20s});
    const auto other = manager();
    constexpr std::size_t keys = 800;
    for (std::size_t at = 0; at < keys; at += 100) {
        std::vector<LockKey> some;
        for (std::size_t i = at; i < at + 100; ++i) {
            some.emplace_back("Order", std::to_string(i + 1000));
        }
        ASSERT_TRUE(other->try_lock_all(some, {.owner = "alice", .note = std::string(1000, 'n')}));
    }
    const Request try_bobs =
        TryLock{.key = key_, .lock_id = LockId::random(), .owner = "bob", .ttl = 1h};
    const LockId bobs = std::get<TryLock>(try_bobs).lock_id;
    Outcome outcome;
    store->apply({&try_bobs, 1}, {&outcome, 1});
    ASSERT_TRUE(std::holds_alternative<Lease>(outcome));
    const Request all = ReleaseAll{.owner = "alice"};
    // What it sends for the first few hundred of them.
    gate.cut_after_client_bytes(3'000'000);
    store->apply({&all, 1}, {&outcome, 1});
    const auto* fault = std::get_if<StoreFault>(&outcome);
    ASSERT_NE(fault, nullptr);
    EXPECT_EQ(fault->effect(), Effect::unknown);
    // A page of long notes ends before its limit.
    std::size_t left = 0;
    List query{.owner = "alice", .limit = 1000};
    for (auto page = other->list(query); !page.empty(); page = other->list(query)) {
        left += page.size();
        query.after = page.back();
    }
    EXPECT_GT(left, 0U);
    EXPECT_LT(left, keys);

    // Its older knowledge of other rows is not taken for their present state.
    ASSERT_TRUE(other->release(key_, bobs));
    const Request check = Check{key_, bobs};
    store->apply({&check, 1}, {&outcome, 1});
    EXPECT_TRUE(std::holds_alternative<Refusal>(outcome));

    store->apply({&all, 1}, {&outcome, 1});
    ASSERT_TRUE(std::holds_alternative<std::vector<Lease>>(outcome));
    EXPECT_EQ(std::get<std::vector<Lease>>(outcome).size(), left);
    EXPECT_TRUE(other->list({.owner = "alice"}).empty());
}

// Rows of many keys are compared several at a time, and one that is gone is in no range.
TEST_F(EtcdStore, ALeaseWhoseRowWasForgottenIsNotTakenForAliveAmongMany) {
    const auto store = open(target_);
    const auto other = open(target_, {.retention = 0s});
    const auto take_all = [&] {
        TryLockAll all{.owner = "alice", .ttl = until_released};
        for (int i = 1000; i < 1200; ++i) {
            all.keys.emplace_back("Order", std::to_string(i));
            all.lock_ids.push_back(FreshLockId::draw());
        }
        const Request request = all;
        Outcome outcome;
        store->apply({&request, 1}, {&outcome, 1});
        return std::get<std::vector<Lease>>(outcome);
    };
    const std::vector<Lease> before = take_all();
    const Lease& released = before[7];
    const std::vector<Request> forget{Release{released.key, released.lock_id}, Purge{}};
    std::vector<Outcome> outcomes(forget.size());
    other->apply(forget, outcomes);
    EXPECT_GT(std::get<Purged>(outcomes[1]).forgotten, 0U);

    const std::vector<Lease> after = take_all();
    EXPECT_EQ(after[6].lock_id, before[6].lock_id);
    EXPECT_NE(after[7].lock_id, released.lock_id);
    EXPECT_GT(after[7].fence, released.fence);
}

TEST_F(EtcdStore, ClocksThatAreFarApartAgreeOnTheTime) {
    const auto one = manager(1000h);
    const auto other = manager(-100s);
    const auto lease = one->try_lock(key_, {.owner = "alice", .ttl = 1min});
    ASSERT_TRUE(lease);
    const auto seen = other->check(key_, lease->lock_id);
    ASSERT_TRUE(seen);
    EXPECT_LT(std::chrono::abs(seen->store_now - lease->store_now), 20s);
    EXPECT_FALSE(other->try_lock(key_, {.owner = "bob"}));
    clock_.let_pass(2min);
    EXPECT_TRUE(other->try_lock(key_, {.owner = "bob"}));
    EXPECT_FALSE(one->check(key_, lease->lock_id));
}

TEST_F(EtcdStore, TimeDoesNotPassWhileNobodyLooks) {
    auto locks = manager();
    const auto lease = locks->try_lock(key_, {.owner = "alice", .ttl = 1min});
    ASSERT_TRUE(lease);
    locks.reset();
    clock_.let_pass(1h);
    // The first one to look finds the lease with all the life it had left.
    locks = manager();
    const auto seen = locks->check(key_, lease->lock_id);
    ASSERT_TRUE(seen);
    EXPECT_GT(seen->remaining(), 40s);
    EXPECT_FALSE(locks->try_lock(key_, {.owner = "bob"}));
    clock_.let_pass(2min);
    EXPECT_TRUE(locks->try_lock(key_, {.owner = "bob"}));
}

TEST_F(EtcdStore, AnIdleStoreHasSeenTheTimePass) {
    const auto locks = manager();
    const auto lease = locks->try_lock(key_, {.owner = "alice", .ttl = 1h});
    ASSERT_TRUE(lease);
    clock_.let_pass(61min);
    const auto gone = locks->check(key_, lease->lock_id);
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().reason, Gone::expired);
}

// Each process reads the clock rarely, and finds that another has written it in between.
TEST_F(EtcdStore, SeveralThatAreAskedNowAndThenKeepTheTime) {
    std::vector<std::unique_ptr<LockManager>> servers;
    for (int i = 0; i < 4; ++i) servers.push_back(manager(i * 1000s));
    const auto lease = servers[0]->try_lock(key_, {.owner = "alice", .ttl = 1min});
    ASSERT_TRUE(lease);
    constexpr Duration minute_and_some = 70s;
    constexpr Duration pause = 270ms;
    for (Duration passed{}; passed < minute_and_some; passed += pause) {
        clock_.let_pass(pause);
        LockManager& server = *servers[static_cast<std::size_t>(passed / pause) % servers.size()];
        (void)server.try_lock({"Order", "another"}, {.owner = "bob"});
    }
    EXPECT_FALSE(servers[1]->check(key_, lease->lock_id));
}

TEST_F(EtcdStore, ARenewalThatWasHeldUpDoesNotWakeWhatOthersSawDead) {
    TcpGate gate{"127.0.0.1", shared_etcd().port()};
    Cluster through = target_;
    through.endpoints = {{.port = gate.port()}};
    LockManager held_up{open(through, {.io_timeout = 20s}, clock_.ahead_by({}))};
    const auto other = manager();
    const auto lease = held_up.try_lock(key_, {.owner = "alice", .ttl = 1min});
    ASSERT_TRUE(lease);
    ASSERT_TRUE(other->check(key_, lease->lock_id));

    gate.hold();
    std::optional<Result<Lease>> renewed;
    std::thread renewing{[&] { renewed = held_up.renew(key_, lease->lock_id, 1h); }};
    // Decided by what it knew then; whether it is under way already makes no difference.
    clock_.let_pass(2min);
    const auto dead = other->check(key_, lease->lock_id);
    gate.pass_everything();
    renewing.join();
    ASSERT_FALSE(dead);
    EXPECT_EQ(dead.error().reason, Gone::expired);
    EXPECT_FALSE(*renewed);
    EXPECT_FALSE(other->check(key_, lease->lock_id));
}

// Whatever others do, and this process learns, while an answer is on its way.
TEST_F(EtcdStore, WhatWasReadBeforeTheTimeWasLearntIsNotTakenForDeadByIt) {
    DuringTheCall during_the_call;
    const auto store = open(target_, {.io_timeout = 20s}, during_the_call.on(clock_.ahead_by({})));
    const auto other = manager();
    for (int moment = 0; moment < 8; ++moment) {
        const LockKey key{"Order", std::to_string(moment)};
        const auto lease = other->try_lock(key, {.owner = "alice", .ttl = 1min});
        ASSERT_TRUE(lease);
        const std::vector<Request> requests{Check{key, lease->lock_id},
                                            Check{key_, lease->lock_id}};
        std::vector<Outcome> outcomes(1);
        during_the_call.let_happen(moment, [&] {
            ASSERT_TRUE(other->renew(key, lease->lock_id, 1h));
            clock_.let_pass(2min);
            ASSERT_TRUE(other->try_lock({"Order", "another"}, {.owner = "bob"}));
            Outcome looked;
            store->apply({&requests[1], 1}, {&looked, 1});
        });
        store->apply({requests.data(), 1}, outcomes);
        during_the_call.end();
        ASSERT_TRUE(other->check(key, lease->lock_id));
        EXPECT_TRUE(std::holds_alternative<Lease>(outcomes.front())) << "moment " << moment;
    }
}

// A list omits leases that are dead for every process, but none that another process renews.
TEST_F(EtcdStore, AListMissesNothingThatIsRenewedWhileItIsMade) {
    MovedClock early;
    DuringTheCall during_the_call;
    const auto store = open(target_, {.io_timeout = 20s}, during_the_call.on(early.ahead_by({})));
    for (const bool by_owner : {true, false}) {
        int renewals = 0;
        for (int moment = 0; moment < 6; ++moment) {
            const auto other = manager();
            const std::string name = (by_owner ? "alice-" : "Order-") + std::to_string(moment);
            const LockKey key{by_owner ? "Order" : name, std::to_string(moment)};
            const Request list = by_owner ? List{.owner = name} : List{.type = name};
            const Request look = Check{key_, LockId::random()};
            const auto lease = other->try_lock(key, {.owner = name, .ttl = 10s});
            ASSERT_TRUE(lease);
            Outcome listed;
            Outcome looked;
            store->apply({&look, 1}, {&looked, 1});
            early.let_pass(20s);
            bool renewed = false;
            during_the_call.let_happen(moment, [&] {
                renewed = other->renew(key, lease->lock_id, 1h).has_value();
                store->apply({&look, 1}, {&looked, 1});
            });
            store->apply({&list, 1}, {&listed, 1});
            // It may have been over before anybody could renew it.
            if (!during_the_call.end()) continue;
            // At a late moment the list has made sure that the lease is dead for every process.
            EXPECT_EQ(other->check(key, lease->lock_id).has_value(), renewed);
            EXPECT_EQ(std::get<HolderPage>(listed).size(), renewed ? 1U : 0U)
                << name << ", moment " << moment;
            if (renewed) ++renewals;
        }
        EXPECT_GT(renewals, 1);
    }
}

// A grant of a key that nobody had is on its way while another has it, and all that is forgotten.
TEST_F(EtcdStore, AKeyWhoseRowWasForgottenDuringTheTryIsNotGrantedWithAnEarlierFence) {
    DuringTheCall during_the_call;
    const StoreOptions forgetful{.retention = 0s, .io_timeout = 20s};
    const auto store = open(target_, forgetful, during_the_call.on(clock_.ahead_by({})));
    LockManager other{open(target_, forgetful, clock_.ahead_by({}))};
    int overtaken = 0;
    for (int moment = 0; moment < 8; ++moment) {
        const LockKey key{"Order", std::to_string(moment)};
        Fence fence = 0;
        during_the_call.let_happen(moment, [&] {
            clock_.let_pass(1s);
            const auto lease = other.try_lock(key, {.owner = "bob"});
            if (!lease) return;  // it is done already
            fence = lease->fence;
            ASSERT_TRUE(other.release(key, lease->lock_id));
            clock_.let_pass(1s);
            ASSERT_GT(other.purge(), 0U);
        });
        const Request wanted = TryLock{.key = key, .lock_id = FreshLockId::draw(), .ttl = 1min};
        Outcome outcome;
        store->apply({&wanted, 1}, {&outcome, 1});
        during_the_call.end();
        overtaken += fence > 0 ? 1 : 0;
        ASSERT_TRUE(std::holds_alternative<Lease>(outcome));
        EXPECT_GT(std::get<Lease>(outcome).fence, fence) << "moment " << moment;
    }
    EXPECT_GT(overtaken, 1);
}

// A megabyte of names.
TEST_F(EtcdStore, PurgesInPartsWhatOneTransactionCannotHold) {
    const auto store = open(target_, {.retention = 0s, .io_timeout = 20s}, clock_.ahead_by({}));
    constexpr std::size_t keys = 50;
    for (int owner = 0; owner < 20; ++owner) {
        TryLockAll all{.owner = std::to_string(owner), .mode = Mode::shared, .ttl = 1min};
        for (std::size_t i = 0; i < keys; ++i) {
            all.keys.emplace_back("Order", std::string(500, 'x') + std::to_string(100 + i));
            all.lock_ids.push_back(FreshLockId::draw());
        }
        const Request request = all;
        Outcome outcome;
        store->apply({&request, 1}, {&outcome, 1});
        ASSERT_TRUE(std::holds_alternative<std::vector<Lease>>(outcome));
    }
    clock_.let_pass(2min);
    const Request purge = Purge{};
    Outcome outcome;
    store->apply({&purge, 1}, {&outcome, 1});
    EXPECT_GE(std::get<Purged>(outcome).forgotten, keys);
}

TEST_F(EtcdStore, AnAnswerThatWasLostIsSettledByAskingAgain) {
    TcpGate gate{"127.0.0.1", shared_etcd().port()};
    Cluster through = target_;
    through.endpoints = {{.port = gate.port()}};
    LockManager locks{open(through, {.io_timeout = 20s})};
    ASSERT_TRUE(locks.try_lock({"Order", "other"}, {.owner = "alice"}));
    const LockId id = LockId::random();
    // Whether the lock id was used is asked first.
    gate.cut_before_answer(1);
    try {
        (void)locks.try_lock(key_, {.owner = "alice", .lock_id = id});
        FAIL() << "there was an answer";
    } catch (const StoreFault& fault) {
        EXPECT_EQ(fault.effect(), Effect::unknown) << fault.what();
        EXPECT_EQ(fault.cause(), Cause::unavailable);
    }
    const auto taken = manager()->holders(key_);
    ASSERT_EQ(taken.size(), 1U);
    const auto again = locks.try_lock(key_, {.owner = "alice", .lock_id = id});
    ASSERT_TRUE(again);
    EXPECT_EQ(again->fence, taken.front().fence);
}

TEST_F(EtcdStore, AHalfOpenConnectionEndsAtTheDeadline) {
    TcpGate gate{"127.0.0.1", shared_etcd().port()};
    Cluster through = target_;
    through.endpoints = {{.port = gate.port()}};
    LockManager locks{open(through, {.io_timeout = 2s})};
    const auto lease = locks.try_lock(key_, {.owner = "alice"});
    ASSERT_TRUE(lease);
    gate.hold();
    const auto effect_of = [](const auto& ask) {
        try {
            (void)ask();
        } catch (const StoreFault& fault) {
            return std::pair{fault.effect(), fault.cause()};
        }
        throw std::logic_error{"there was an answer"};
    };
    EXPECT_EQ(effect_of([&] { return locks.renew(key_, lease->lock_id, 5min); }),
              (std::pair{Effect::unknown, Cause::unavailable}));
    EXPECT_EQ(effect_of([&] { return locks.check(key_, lease->lock_id); }),
              (std::pair{Effect::none, Cause::unavailable}));
    gate.pass_everything();
    EXPECT_TRUE(locks.check(key_, lease->lock_id));
}

TEST_F(EtcdStore, RefusesKeysOfAnotherVersion) {
    (void)open(target_);
    const std::string later = std::to_string(schema_version + 1);
    (void)ask_http(shared_etcd().port(), "/v3/kv/put",
                   R"({"key":")" + base64(target_.prefix + "/format") + R"(","value":")" +
                       base64(later) + R"("})");
    try {
        (void)open(target_);
        FAIL() << "it was opened";
    } catch (const StoreFault& fault) {
        EXPECT_EQ(fault.cause(), Cause::configuration);
    }
}

TEST(EtcdSecurity, AUserHasToBeKnownAndIsKnownAgainAfterARestart) {
    PrivateEtcd etcd;
    const auto say = [&](const std::string& path, const std::string& body) {
        (void)ask_http(etcd.port(), "/v3/auth/" + path, body);
    };
    say("user/add", R"({"name":"root","password":"top"})");
    say("user/grant", R"({"user":"root","role":"root"})");
    say("user/add", R"({"name":"app","password":"p@ss"})");
    say("role/add", R"({"name":"locks"})");
    // From "locks/" up to "locks0".
    say("role/grant", R"({"name":"locks","perm":{"permType":"READWRITE","key":")" +
                          base64("locks/") + R"(","range_end":")" + base64("locks0") + R"("}})");
    say("user/grant", R"({"user":"app","role":"locks"})");
    say("enable", "{}");

    const auto url = [&](const std::string& who, const std::string& prefix) {
        return "etcd://" + who + etcd.endpoints() + '/' + prefix;
    };
    const auto cause_of = [](const std::string& where) {
        try {
            (void)open_store(where);
        } catch (const StoreFault& fault) {
            EXPECT_EQ(fault.effect(), Effect::none);
            EXPECT_FALSE(std::string{fault.what()}.contains("p@ss"));
            return fault.cause();
        }
        throw std::logic_error{"it was opened"};
    };
    EXPECT_EQ(cause_of(url("", "locks")), Cause::configuration);
    EXPECT_EQ(cause_of(url("app:wrong@", "locks")), Cause::configuration);
    EXPECT_EQ(cause_of(url("app:p%40ss@", "elsewhere")), Cause::configuration);

    LockManager locks{open_store(url("app:p%40ss@", "locks"))};
    ASSERT_TRUE(locks.try_lock({"Order", "1"}, {.owner = "alice"}));
    // Tokens do not survive that.
    etcd.kill();
    etcd.start();
    EXPECT_EQ(locks.holders({"Order", "1"}).size(), 1U);
    EXPECT_TRUE(locks.try_lock({"Order", "2"}, {.owner = "alice"}));
}

TEST(EtcdSecurity, TlsTrustsTheGivenAuthorityOnly) {
    const leasehold::testing::TemporaryFolder folder;
    const leasehold::testing::Certificate server{folder.path(), "server",
                                                 "DNS:localhost,IP:127.0.0.1"};
    const leasehold::testing::Certificate ours{folder.path(), "ours", "DNS:app"};
    // etcd's gateway is a client of etcd, too, by the certificate of the server.
    const std::string trusted = (folder.path() / "trusted").string();
    std::ofstream{trusted} << std::ifstream{ours.file}.rdbuf()
                           << std::ifstream{server.file}.rdbuf();
    PrivateEtcd etcd{{.settings = {"--cert-file=" + server.file, "--key-file=" + server.key,
                                   "--client-cert-auth", "--trusted-ca-file=" + trusted},
                      .scheme = "https"}};
    const std::string url = etcd.url() + "?tls=on&ca_file=" + server.file;
    const std::string with_ours = "&cert_file=" + ours.file + "&key_file=" + ours.key;
    LockManager locks{open_store(url + with_ours)};
    EXPECT_TRUE(locks.try_lock({"Order", "1"}, {.owner = "alice"}));
    EXPECT_THROW((void)open_store(url), StoreFault);
    try {
        (void)open_store(etcd.url() + "?tls=on&ca_file=" + ours.file + with_ours);
        FAIL() << "it was opened";
    } catch (const StoreFault& fault) {
        EXPECT_EQ(fault.cause(), Cause::configuration) << fault.what();
    }
    EXPECT_THROW((void)open_store(etcd.url()), StoreFault);
}

}  // namespace
}  // namespace leasehold::etcd
