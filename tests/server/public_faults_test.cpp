// What clients learn about the database behind the server when it fails.
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "server/monitoring/observer.hpp"
#include "server/server_fixture.hpp"
#include "server/store/observed_store.hpp"

namespace leasehold::testing {
namespace {

using Cause = StoreFault::Cause;

// Fails every call with the words of a database.
class UnreachableStore final : public Store {
public:
    UnreachableStore(Cause cause, bool as_outcome) : cause_{cause}, as_outcome_{as_outcome} {}

    void apply(std::span<const Request>, std::span<Outcome> outcomes) override {
        const StoreFault fault{
            StoreFault::Effect::none, cause_,
            R"(postgres: connection to server at "db.internal" (10.0.0.5), user "app" failed)"};
        if (!as_outcome_) throw StoreFault{fault};
        for (Outcome& outcome : outcomes) outcome = fault;
    }
    [[nodiscard]] std::size_t concurrency() const noexcept override { return 1; }
    [[nodiscard]] StoreStatus status() override { return {.name = "postgres 15"}; }

private:
    const Cause cause_;
    const bool as_outcome_;
};

class FaultNotes final : public server::Observer {
public:
    void store_failed(const StoreFault& fault) noexcept override {
        const std::lock_guard lock{mutex_};
        text_ += fault.what();
    }
    [[nodiscard]] std::string text() const {
        const std::lock_guard lock{mutex_};
        return text_;
    }

private:
    mutable std::mutex mutex_;
    std::string text_;  // guarded by mutex_
};

TEST(PublicFaults, NameNoHostAndNoUserOfTheDatabase) {
    for (const Cause cause :
         {Cause::unavailable, Cause::configuration, Cause::not_allowed, Cause::internal}) {
        for (const bool as_outcome : {false, true}) {
            FaultNotes notes;
            const RunningServer server{std::make_unique<server::ObservedStore>(
                std::make_unique<UnreachableStore>(cause, as_outcome), notes)};
            Client client = server.connect();
            std::vector<Answer> answers;
            answers.push_back(client.ask("POST", "/v1/locks/Order/1", "{}"));
            answers.push_back(client.ask("GET", "/v1/locks/Order/1"));
            answers.push_back(client.ask("GET", "/v1/locks"));
            answers.push_back(client.ask("GET", "/readyz"));
            for (const Answer& answer : answers) {
                EXPECT_EQ(answer.status, 503U) << answer.body;
                EXPECT_TRUE(answer.body.contains("the server's log says why")) << answer.body;
            }
            answers.push_back(client.ask(
                "POST", "/v1/batch", R"({"requests":[{"op":"holders","type":"Order","id":"1"}]})"));
            for (const Answer& answer : answers) {
                for (const char* secret : {"db.internal", "10.0.0.5", "app"}) {
                    EXPECT_FALSE(answer.body.contains(secret)) << answer.body;
                }
            }
            EXPECT_TRUE(notes.text().contains("db.internal"));
        }
    }
}

}  // namespace
}  // namespace leasehold::testing
