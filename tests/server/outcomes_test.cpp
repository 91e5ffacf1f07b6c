// The stream of outcomes: what is published, once, and to whom.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <atomic>
#include <string>
#include <vector>

#include "server/monitoring/observer.hpp"
#include "server/server_fixture.hpp"
#include "server/store/store_queue.hpp"
#include "unit/gated_store.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using server::Answered;
using server::Told;

class Recorder final : public server::Observer {
public:
    void sending(const Request&) override { ++sent; }
    void answered(const Answered& answered) override {
        ++outcomes;
        if (std::holds_alternative<StoreFault>(answered.outcome)) ++faults;
        const bool refused = std::holds_alternative<Refusal>(answered.outcome);
        if (refused && answered.told == Told::client) ++refusals;
    }

    std::atomic<int> sent{0};
    std::atomic<int> outcomes{0};
    std::atomic<int> faults{0};
    std::atomic<int> refusals{0};  // that a client receives
};

TEST(BothObservers, HearOfARequestBeforeItIsSentAndOfItsOutcome) {
    Recorder one;
    Recorder other;
    server::BothObservers both{one, other};
    server::OutcomeStream stream;
    stream.subscribe(both);
    stream.sending(Holders{order});
    const Outcome outcome = HolderPage{};
    stream.publish({RequestKind::holders, {}, outcome});
    EXPECT_EQ(one.sent, 1);
    EXPECT_EQ(other.sent, 1);
    EXPECT_EQ(one.outcomes, 1);
    EXPECT_EQ(other.outcomes, 1);
}

class AFullStoreQueue : public ::testing::Test {
protected:
    AFullStoreQueue() {
        stream_.subscribe(recorder_);
        store_.close();
        ask();  // is with the store
        ask();  // queues
    }
    ~AFullStoreQueue() override {
        store_.open();
        home_.run();
    }

    void ask() {
        boost::asio::co_spawn(
            home_,
            [this]() -> server::Task<void> {
                Request question = Holders{order};
                (void)co_await queue_.ask(std::move(question));
            },
            boost::asio::detached);
        home_.poll();
    }
    void ask_all() {
        boost::asio::co_spawn(
            home_,
            [this]() -> server::Task<void> {
                std::vector<Request> requests;
                requests.emplace_back(Holders{order});
                (void)co_await queue_.ask_all(std::move(requests));
            },
            boost::asio::detached);
        home_.poll();
    }

    std::unique_ptr<GatedStore> gated_ = std::make_unique<GatedStore>(memory::open());
    GatedStore& store_ = *gated_;
    LockManager locks_{std::move(gated_)};
    server::ServerOptions options_{.requests_under_way = 1, .queued_tries = 1};
    Recorder recorder_;
    server::OutcomeStream stream_;
    boost::asio::io_context home_;
    server::StoreQueue queue_{locks_, stream_, options_};
};

TEST_F(AFullStoreQueue, PublishesTheRefusalOfOneRequestAsThatOfABatch) {
    ask();
    EXPECT_EQ(recorder_.faults, 1);
    ask_all();
    EXPECT_EQ(recorder_.faults, 2);
    EXPECT_EQ(recorder_.sent, 1);
}

// A try of `a` with a lock id that its client has drawn.
std::string drawn_try(const LockId& drawn) {
    return message("POST", "/v1/locks/Order/1", R"({"wait_ms":60000,"owner":"a"})",
                   "Lock-Token: " + drawn.to_string() + "\r\n");
}

TEST(ARefusedWaiter, IsNotCountedIfItAskedAgainWithTheSameLockId) {
    Recorder recorder;
    RunningServer server{memory::open(), {.wait_poll = 1h, .observer = &recorder}};
    const auto held = server.locks().try_lock(order);
    ASSERT_TRUE(held.has_value()) << held.error().message();
    const LockId drawn = LockId::random();
    Client first = server.connect();
    first.send(drawn_try(drawn));
    ASSERT_TRUE(server.waits_for(1));
    Client again = server.connect();
    again.send(drawn_try(drawn));
    EXPECT_EQ(first.receive().status, 409U);
    EXPECT_EQ(recorder.refusals, 0);
    EXPECT_EQ(server.connect().ask("POST", "/v1/locks/Order/1", "{}").status, 409U);
    EXPECT_EQ(recorder.refusals, 1);
}

TEST(ARefusedWaiter, IsNotCountedIfItsClientHasGone) {
    Recorder recorder;
    auto gated = std::make_unique<GatedStore>(memory::open());
    GatedStore& store = *gated;
    RunningServer server{std::move(gated), {.wait_poll = 1h, .observer = &recorder}};
    const auto held = server.locks().try_lock(order);
    ASSERT_TRUE(held.has_value()) << held.error().message();
    store.close();
    Client gone = server.connect();
    gone.send(drawn_try(LockId::random()));
    ASSERT_TRUE(store.wait_until_held());
    gone.close();
    // The server has noticed it once a later client is answered.
    ASSERT_EQ(server.connect().ask("GET", "/healthz").status, 200U);
    store.open();
    ASSERT_TRUE(server.waits_for(0));
    EXPECT_EQ(recorder.refusals, 0);
}

}  // namespace
}  // namespace leasehold::testing
