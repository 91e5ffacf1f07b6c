// The stream of outcomes: what is published, once, and to whom.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <atomic>
#include <string>
#include <vector>

#include "core/request_traits.hpp"
#include "server/monitoring/observer.hpp"
#include "server/server_fixture.hpp"
#include "server/store/store_queue.hpp"
#include "unit/gated_store.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using server::Answered;
using server::Recipient;

class Recorder final : public server::Observer {
public:
    void sending(const Request&) override { ++sent; }
    void answered(const Answered& answered) override {
        ++outcomes;
        if (std::holds_alternative<StoreFault>(answered.outcome)) ++faults;
        const bool refused = std::holds_alternative<Refusal>(answered.outcome);
        if (refused && answered.recipient == Recipient::client) ++refusals;
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
                server::AnswerAllowance unlimited;
                (void)co_await queue_.ask_all(std::move(requests), unlimited);
            },
            boost::asio::detached);
        home_.poll();
    }

    boost::asio::io_context home_;  // outlives the threads of locks_, which hand outcomes to it
    std::unique_ptr<GatedStore> gated_ = std::make_unique<GatedStore>(memory::open());
    GatedStore& store_ = *gated_;
    LockManager locks_{std::move(gated_)};
    server::ServerOptions options_{.requests_under_way = 1, .queued_tries = 1};
    Recorder recorder_;
    server::OutcomeStream stream_;
    server::StoreQueue queue_{locks_, stream_, options_};
};

TEST_F(AFullStoreQueue, PublishesTheRefusalOfOneRequestAsThatOfABatch) {
    ask();
    EXPECT_EQ(recorder_.faults, 1);
    ask_all();
    EXPECT_EQ(recorder_.faults, 2);
    EXPECT_EQ(recorder_.sent, 1);
}

class AStoreQueueOfTwoTokens : public ::testing::Test {
protected:
    AStoreQueueOfTwoTokens() { store_.close(); }
    ~AStoreQueueOfTwoTokens() override { finish(); }

    void ask(const std::string& token, Request question) {
        boost::asio::co_spawn(
            home_,
            [this, token, question]() mutable -> server::Task<void> {
                const std::string client = token;
                const Outcome outcome =
                    co_await queue_.ask(std::move(question), server::Recipient::client, client);
                if (std::holds_alternative<StoreFault>(outcome)) refused_.push_back(client);
            },
            boost::asio::detached);
        home_.poll();
    }
    void ask(const std::string& token) { ask(token, token); }
    void ask(const std::string& id, const std::string& token) {
        ask(token, Holders{{"Order", id}});
    }
    void check(const std::string& token) {
        ask(token, Check{LockKey{"Order", token}, LockId::random()});
    }
    void finish() {
        store_.open();
        home_.run();
    }
    // The tokens whose requests came to the store, in that order.
    [[nodiscard]] std::vector<std::string> served() const {
        std::vector<std::string> ids;
        for (const auto& batch : store_.batches()) {
            for (const Request& request : batch) ids.emplace_back(keys_of(request)->front().id());
        }
        return ids;
    }

    boost::asio::io_context home_;  // outlives the threads of locks_, which hand outcomes to it
    std::unique_ptr<GatedStore> gated_ = std::make_unique<GatedStore>(memory::open());
    GatedStore& store_ = *gated_;
    LockManager locks_{std::move(gated_)};
    server::ServerOptions options_{.requests_under_way = 1, .queued_tries = 4};
    server::OutcomeStream stream_;
    server::StoreQueue queue_{locks_, stream_, options_};
    std::vector<std::string> refused_;
};

TEST_F(AStoreQueueOfTwoTokens, ServesThemInTurns) {
    for (int i = 0; i < 4; ++i) check("greedy");  // the first is with the store
    check("holder");
    finish();
    EXPECT_EQ(served(),
              (std::vector<std::string>{"greedy", "greedy", "holder", "greedy", "greedy"}));
    EXPECT_TRUE(refused_.empty());
}

TEST_F(AStoreQueueOfTwoTokens, LetsATryInAmongMoreChecksThanThereIsRoomFor) {
    for (int i = 0; i < 8; ++i) check("greedy");  // the first is with the store
    ask("other");
    finish();
    const std::vector<std::string> order = served();
    ASSERT_EQ(order.size(), 9U);
    EXPECT_EQ(std::ranges::find(order, "other") - order.begin(), 5);
}

TEST_F(AStoreQueueOfTwoTokens, LetsATryOfTheOtherInAfterOnePartOfOneToken) {
    options_.requests_under_way = 512;
    const std::size_t part = locks_.limits().batch_requests;
    const auto flood = [&] {
        for (int i = 0; i < 600; ++i) check("greedy");
    };
    flood();  // 512 are with the store
    ask("own try of greedy", "greedy");
    ask("try of modest", "modest");
    flood();
    check("holder");
    finish();
    const std::vector<std::string> order = served();
    const auto place = [&](const char* name) {
        return static_cast<std::size_t>(std::ranges::find(order, name) - order.begin());
    };
    EXPECT_LT(place("holder"), place("try of modest"));
    EXPECT_LE(place("try of modest"), 512 + part + 1);
    EXPECT_LT(place("try of modest"), place("own try of greedy"));
    EXPECT_LE(place("own try of greedy"), 512 + 2 * part + 2);
}

TEST_F(AStoreQueueOfTwoTokens, ServesTheTriesOfWaitersInTheTurnOfTheirToken) {
    ask("first");  // is with the store
    const auto wait = [&](const std::string& token) {
        queue_.submit(home_,
                      TryLock{.key = {"Order", token},
                              .lock_id = LockId::random(),
                              .ttl = 1min,
                              .token_id = token},
                      server::Recipient::nobody, {});
    };
    for (int i = 0; i < 3; ++i) wait("greedy");
    wait("other");
    finish();
    EXPECT_EQ(served(), (std::vector<std::string>{"first", "greedy", "other", "greedy", "greedy"}));
}

// The name that a client writes itself follows the id of its token.
TEST_F(AStoreQueueOfTwoTokens, GivesNoMoreTurnsToATokenThatInventsOthers) {
    ask("first");  // is with the store
    const auto wait = [&](const std::string& token, const std::string& token_id) {
        queue_.submit(home_,
                      TryLock{.key = {"Order", token},
                              .lock_id = LockId::random(),
                              .ttl = 1min,
                              .token_id = token_id},
                      server::Recipient::nobody, {});
    };
    for (int i = 0; i < 3; ++i) wait("greedy", "greedy/" + std::to_string(i));
    wait("other", "other");
    finish();
    EXPECT_EQ(served(), (std::vector<std::string>{"first", "greedy", "other", "greedy", "greedy"}));
}

TEST_F(AStoreQueueOfTwoTokens, LeavesPlacesForTheOther) {
    for (int i = 0; i < 4; ++i) ask("greedy");  // one is with the store, and two have a place
    EXPECT_EQ(refused_, std::vector<std::string>{"greedy"});
    ask("other");
    EXPECT_EQ(refused_.size(), 1U);
    finish();
    EXPECT_EQ(served(), (std::vector<std::string>{"greedy", "greedy", "other", "greedy"}));
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
