// The network between the store and its database fails at every point of a request. A second
// manager, with a connection of its own, sees what really happened.
#include <algorithm>
#include <future>
#include <set>

#include "faults/databases.hpp"
#include "support/tcp_gate.hpp"

namespace leasehold::faults {
namespace {

Outcome submit(LockManager& locks, Request request) {
    std::promise<Outcome> answer;
    locks.submit(std::move(request),
                 [&](Outcome outcome) { answer.set_value(std::move(outcome)); });
    return answer.get_future().get();
}

// One kind of request. Each case is on keys of its own.
class Scenario {
public:
    explicit Scenario(LockManager& direct) : direct_{direct} {}
    Scenario(const Scenario&) = delete;
    Scenario& operator=(const Scenario&) = delete;
    virtual ~Scenario() = default;

    virtual void prepare(const std::string& name) = 0;
    virtual Request request() const = 0;
    // Whether the request was carried out, as a second manager sees it.
    virtual bool done() = 0;
    virtual bool untouched() = 0;
    // After an unknown effect: asks again. Then the outcome is definite, and the request was
    // carried out at most once.
    virtual void settle(LockManager& locks) = 0;

protected:
    LockManager& direct_;
};

// A server may still be working on a request whose connection was lost; then it answers busy.
Outcome settled(LockManager& locks, const Request& request) {
    return ask_until_answered([&] {
        Outcome outcome = submit(locks, request);
        if (auto* fault = std::get_if<StoreFault>(&outcome)) throw StoreFault{*fault};
        if (auto* no = std::get_if<Refusal>(&outcome); no && no->kind == Refusal::Kind::busy) {
            throw StoreFault{Effect::none, Cause::unavailable, "still busy"};
        }
        return outcome;
    });
}

class Trying final : public Scenario {
public:
    using Scenario::Scenario;
    void prepare(const std::string& name) override {
        key_ = LockKey{"Try", name};
        id_ = LockId::random();
    }
    Request request() const override {
        return TryLock{.key = key_, .lock_id = id_, .owner = "me", .ttl = 1h};
    }
    bool done() override { return direct_.check(key_, id_).has_value(); }
    bool untouched() override {
        return direct_.holders(key_).empty() && is_gone(direct_.check(key_, id_), Gone::unknown);
    }
    void settle(LockManager& locks) override {
        const Outcome outcome = settled(locks, request());
        const auto* lease = std::get_if<Lease>(&outcome);
        ASSERT_NE(lease, nullptr);
        EXPECT_EQ(lease->lock_id, id_);
        EXPECT_EQ(direct_.holders(key_).size(), 1U);
        EXPECT_EQ(direct_.check(key_, id_).value().fence, lease->fence);
    }

private:
    LockKey key_{"Try", "-"};
    LockId id_;
};

class Extending final : public Scenario {
public:
    using Scenario::Scenario;
    void prepare(const std::string& name) override {
        lease_ = direct_.try_lock({"Extend", name}, {.ttl = 1h}).value();
    }
    Request request() const override { return Extend{lease_.key, lease_.lock_id, by, 24h, {}}; }
    bool done() override { return expiry() == lease_.expires_at + by; }
    bool untouched() override { return expiry() == lease_.expires_at; }
    void settle(LockManager& locks) override {
        const Outcome outcome = settled(locks, Check{lease_.key, lease_.lock_id});
        const auto* lease = std::get_if<Lease>(&outcome);
        ASSERT_NE(lease, nullptr);
        EXPECT_EQ(lease->fence, lease_.fence);
        EXPECT_TRUE(done() || untouched());
    }

private:
    static constexpr auto by = 10min;
    Time expiry() { return direct_.check(lease_.key, lease_.lock_id).value().expires_at; }
    Lease lease_{.key = {"Extend", "-"}};
};

class Releasing final : public Scenario {
public:
    using Scenario::Scenario;
    void prepare(const std::string& name) override {
        lease_ = direct_.try_lock({"Release", name}, {.ttl = 1h}).value();
    }
    Request request() const override { return Release{lease_.key, lease_.lock_id}; }
    bool done() override {
        return static_cast<bool>(
            is_gone(direct_.check(lease_.key, lease_.lock_id), Gone::released));
    }
    bool untouched() override { return direct_.check(lease_.key, lease_.lock_id).has_value(); }
    void settle(LockManager& locks) override {
        const Outcome outcome = settled(locks, request());
        const auto* gone = std::get_if<Refusal>(&outcome);
        EXPECT_TRUE(std::holds_alternative<Lease>(outcome) ||
                    (gone != nullptr && gone->reason == Gone::released));
        EXPECT_TRUE(done());
        EXPECT_TRUE(direct_.try_lock(lease_.key));
    }

private:
    Lease lease_{.key = {"Release", "-"}};
};

class TryingAll final : public Scenario {
public:
    using Scenario::Scenario;
    void prepare(const std::string& name) override {
        request_ = {.owner = "me", .ttl = 1h};
        for (const char* part : {"a", "b", "c"}) {
            request_.keys.emplace_back("TryAll", name + part);
            request_.lock_ids.push_back(LockId::random());
        }
        // One key was held before, the others are new.
        const auto past = direct_.try_lock(request_.keys[1]);
        EXPECT_TRUE(direct_.release(request_.keys[1], past.value().lock_id));
    }
    Request request() const override { return request_; }
    bool done() override { return held() == request_.keys.size(); }
    bool untouched() override { return held() == 0; }
    void settle(LockManager& locks) override {
        EXPECT_TRUE(eventually([&] { return done() || untouched(); })) << "half of it was done";
        const Outcome outcome = settled(locks, request_);
        const auto* leases = std::get_if<std::vector<Lease>>(&outcome);
        ASSERT_NE(leases, nullptr);
        EXPECT_EQ(leases->size(), request_.keys.size());
        EXPECT_TRUE(done());
    }

private:
    std::size_t held() {
        std::size_t count = 0;
        for (std::size_t i = 0; i < request_.keys.size(); ++i) {
            const auto holders = direct_.holders(request_.keys[i]);
            if (holders.empty()) continue;
            EXPECT_TRUE(direct_.check(request_.keys[i], request_.lock_ids[i]));
            ++count;
        }
        return count;
    }
    TryLockAll request_;
};

class CutConnection : public ServerTest {
protected:
    explicit CutConnection(std::chrono::milliseconds timeout = 20s) : timeout_{timeout} {}

    std::unique_ptr<Store> through_gate() {
        return open_store(database().url(name(), gate_.port()) +
                          "?io_timeout_ms=" + std::to_string(timeout_.count()));
    }

    // Sends the request with the cut that `arm` prepares. Returns false if nothing was cut. Ends
    // with a proof of recovery, so that the next case has an open connection.
    template <class Arm>
    bool cut(Scenario& scenario, const std::string& name, Arm arm) {
        SCOPED_TRACE(name);
        scenario.prepare(name);
        const std::size_t cuts = gate_.cuts();
        arm();
        const auto asked = SteadyClock::now();
        const Outcome outcome = submit(locks_, scenario.request());
        EXPECT_LT(SteadyClock::now() - asked, a_call_ends_within);
        gate_.pass_everything();
        if (const auto* fault = std::get_if<StoreFault>(&outcome)) {
            EXPECT_EQ(fault->cause(), Cause::unavailable) << fault->what();
            if (fault->effect() == Effect::none) {
                ++none_;
                EXPECT_TRUE(scenario.untouched()) << fault->what();
            } else {
                ++unknown_;
                scenario.settle(locks_);
            }
        } else {
            EXPECT_FALSE(std::holds_alternative<Refusal>(outcome));
            EXPECT_TRUE(scenario.done());
        }
        prove_recovery(scenario, name + "-recovered");
        return gate_.cuts() > cuts;
    }

    void prove_recovery(Scenario& scenario, const std::string& name) {
        scenario.prepare(name);
        const Outcome outcome = settled(locks_, scenario.request());
        EXPECT_FALSE(std::holds_alternative<Refusal>(outcome));
        EXPECT_TRUE(scenario.done());
    }

    // The number of bytes that the request sends on an open connection.
    std::size_t size_of(Scenario& scenario) {
        prove_recovery(scenario, "warm");
        const std::size_t before = gate_.client_bytes();
        prove_recovery(scenario, "measured");
        return gate_.client_bytes() - before;
    }

    template <class S>
    void sweep() {
        S scenario{direct_};
        const std::size_t size = size_of(scenario);
        ASSERT_GT(size, 0U);
        // Cuts in every part of a message, and on both sides of the end of the last message.
        const std::size_t stride = std::max<std::size_t>(1, size / 100);
        std::set<std::size_t> points{0, 1, size - 2, size - 1, size, size + 1};
        for (std::size_t n = 0; n < size; n += stride) points.insert(n);
        for (const std::size_t n : points) {
            const bool hit = cut(scenario, "byte-" + std::to_string(n),
                                 [&] { gate_.cut_after_client_bytes(n); });
            // The lengths of requests differ by a few bytes, because the times in them have
            // different numbers of digits.
            EXPECT_TRUE(hit || n + 8 > size) << n << " of " << size;
        }
        // The end of every message, exactly.
        std::size_t answers = 0;
        while (cut(scenario, "answer-" + std::to_string(answers),
                   [&] { gate_.cut_before_answer(answers); })) {
            ASSERT_LT(++answers, 20U);
        }
        EXPECT_GT(answers, 0U);
        EXPECT_GT(unknown_, 0) << "no cut met a commit";
    }

    const std::chrono::milliseconds timeout_;
    testing::TcpGate gate_{"127.0.0.1", database().port()};
    LockManager direct_{open_store(url())};
    LockManager locks_{ask_until_answered([this] { return through_gate(); })};
    int none_ = 0;
    int unknown_ = 0;
};
INSTANTIATE_TEST_SUITE_P(, CutConnection, ::testing::ValuesIn(every_server()), by_store());

TEST_P(CutConnection, AnywhereInATryIsAnsweredTruthfully) {
    sweep<Trying>();
}
TEST_P(CutConnection, AnywhereInAnExtensionIsAnsweredTruthfully) {
    sweep<Extending>();
}
TEST_P(CutConnection, AnywhereInAReleaseIsAnsweredTruthfully) {
    sweep<Releasing>();
}
TEST_P(CutConnection, AnywhereInATryOfManyKeysIsAnsweredTruthfully) {
    sweep<TryingAll>();
}

TEST_P(CutConnection, AnywhereInANewConnectionLeavesNothingDone) {
    Trying scenario{direct_};
    prove_recovery(scenario, "before");
    std::size_t answers = 0;
    const auto make_a_new_one = [&] {
        gate_.refuse();
        gate_.cut();
        (void)submit(locks_, Check{{}, LockId::random()});
        gate_.accept();
        gate_.cut_before_answer(answers);
    };
    // Up to and including the answer to the request itself.
    while (unknown_ == 0 && cut(scenario, "answer-" + std::to_string(answers), make_a_new_one)) {
        ASSERT_LT(++answers, 60U);
    }
    EXPECT_GT(none_, 2);
}

class SilentConnection : public CutConnection {
protected:
    SilentConnection() : CutConnection{io_timeout} {}
};
INSTANTIATE_TEST_SUITE_P(, SilentConnection, ::testing::ValuesIn(every_server()), by_store());

TEST_P(SilentConnection, EndsInAFaultInTime) {
    Trying scenario{direct_};
    prove_recovery(scenario, "before");
    cut(scenario, "held", [&] { gate_.hold(); });
    EXPECT_EQ(none_ + unknown_, 1);
    cut(scenario, "answers-held", [&] { gate_.hold_answers(); });
    EXPECT_EQ(none_ + unknown_, 2);
}

TEST_P(SilentConnection, WhileItIsMadeEndsInAFaultInTime) {
    std::size_t size = 0;
    (void)ask_until_answered([&] {
        size = gate_.client_bytes();
        return through_gate();
    });
    size = gate_.client_bytes() - size;
    for (std::size_t part = 0; part <= 4; ++part) {
        SCOPED_TRACE(part);
        const std::size_t hold_at = gate_.client_bytes() + size * part / 5;
        const auto asked = SteadyClock::now();
        auto opening = std::async(std::launch::async, [&] {
            try {
                const auto store = through_gate();
            } catch (const StoreFault& fault) {
                EXPECT_EQ(fault.effect(), Effect::none);
                EXPECT_EQ(fault.cause(), Cause::unavailable) << fault.what();
            }
        });
        // Polls without a pause, to act in the middle of the request.
        while (gate_.client_bytes() < hold_at && SteadyClock::now() < asked + 5s) {
        }
        gate_.hold();
        EXPECT_EQ(opening.wait_until(std::chrono::steady_clock::now() + 2 * a_call_ends_within),
                  std::future_status::ready);
        EXPECT_LT(SteadyClock::now() - asked, a_call_ends_within);
        gate_.pass_everything();
        gate_.cut();
        opening.wait();
    }
    Trying scenario{direct_};
    prove_recovery(scenario, "after");
}

}  // namespace
}  // namespace leasehold::faults
