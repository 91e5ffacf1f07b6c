#include <atomic>
#include <string>
#include <vector>

#include "server/monitoring/observer.hpp"
#include "server/store_fixture.hpp"
#include "server/token_fixture.hpp"
#include "unit/gated_store.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using server::Role;

// Somebody holds the key, others wait for it or are about to be granted it, and the tokens change.
class ChangedTokens : public OnAnyStore {
protected:
    [[nodiscard]] static std::string waiting_try(const std::string& name,
                                                 const std::string& fields = {}) {
        return message("POST", "/v1/locks/Order/1", R"({"wait_ms":60000,"owner":")" + name + "\"}",
                       shows(name) + fields);
    }

    [[nodiscard]] Client waits(const std::string& name, std::size_t waiters) {
        Client client = server_.connect();
        client.send(waiting_try(name));
        EXPECT_TRUE(server_.waits_for(waiters));
        return client;
    }

    // The answer of who waited is that the tokens have changed.
    static void expect_sent_away(const Answer& answer, unsigned status) {
        EXPECT_EQ(answer.status, status) << answer.body;
        EXPECT_EQ(answer.code(), status == 401 ? "unauthorized" : "forbidden");
        EXPECT_EQ(answer.fields.contains("www-authenticate"), status == 401);
    }

    void release(const LockId& lock_id) {
        const Answer answer =
            server_.connect().ask("DELETE", "/v1/locks/Order/1", {},
                                  shows("stays") + "Lock-Token: " + lock_id.to_string() + "\r\n");
        EXPECT_EQ(answer.status, 200U);
    }

    // What the store answers to somebody else.
    [[nodiscard]] Outcome behind(const Request& request) {
        Outcome outcome;
        behind_.apply({&request, 1}, {&outcome, 1});
        return outcome;
    }
    [[nodiscard]] static bool holds(const Outcome& outcome) {
        return std::holds_alternative<Lease>(outcome);
    }

    // Counts the requests that waited for a key.
    struct Waits final : server::Observer {
        void served(const server::Served& request) noexcept override {
            if (request.waited) ++ended;
        }
        std::atomic<int> ended{0};
    };

    void use_without_goes() { server_.use(tokens({stays_})); }

    const server::Token stays_ = token("stays", {Role::use});
    std::unique_ptr<Store> inner_ = store();
    Store& behind_ = *inner_;
    std::unique_ptr<GatedStore> gated_ = std::make_unique<GatedStore>(std::move(inner_));
    GatedStore& store_ = *gated_;
    Waits waits_;
    RunningServer server_{
        std::move(gated_),
        {.threads = 1,
         .wait_poll = 1h,
         .tokens = tokens({stays_, token("goes", {Role::use}), token("goes/too", {Role::use})}),
         .observer = &waits_}};
};
LEASEHOLD_ON_ANY_STORE(ChangedTokens);

TEST_P(ChangedTokens, EndTheWaitOfWhoseTokenIsTakenAway) {
    const auto held = server_.locks().try_lock(order, {.owner = "holder"});
    Client first = waits("goes", 1);
    Client second = waits("goes/too", 2);
    Client third = waits("stays", 3);
    // The holder has asked, and the first of the line.
    constexpr std::size_t asked = 2;
    ASSERT_TRUE(eventually([&] { return store_.batches().size() == asked; }));
    use_without_goes();
    expect_sent_away(first.receive(), 401);
    expect_sent_away(second.receive(), 401);
    ASSERT_TRUE(server_.waits_for(1));
    release(held->lock_id);
    EXPECT_EQ(third.receive().status, 201U);
    const auto batches = store_.batches();
    for (std::size_t i = asked; i < batches.size(); ++i) {
        for (const Request& request : batches[i]) {
            const auto* wanted = std::get_if<TryLock>(&request);
            EXPECT_TRUE(wanted == nullptr || wanted->owner == "stays") << wanted->owner;
        }
    }
}

TEST_P(ChangedTokens, EndTheWaitOfWhoseRoleOrOwnerIsTakenAway) {
    const auto held = server_.locks().try_lock(order, {.owner = "holder"});
    Client without_role = waits("goes", 1);
    Client of_other_owner = waits("goes/too", 2);
    server_.use(tokens(
        {stays_, token("goes", {Role::see}), token("goes/too", {Role::use}, "goes/elsewhere")}));
    expect_sent_away(without_role.receive(), 403);
    expect_sent_away(of_other_owner.receive(), 403);
    EXPECT_TRUE(server_.waits_for(0));
}

TEST_P(ChangedTokens, LeaveOthersInLine) {
    const auto held = server_.locks().try_lock(order, {.owner = "holder"});
    Client waiting = waits("stays", 1);
    server_.use(tokens({token("stays", {Role::use, Role::see}, "stays")}));
    release(held->lock_id);
    EXPECT_EQ(waiting.receive().status, 201U);
}

TEST_P(ChangedTokens, TakeBackALeaseThatIsGrantedDuringTheChange) {
    store_.close();
    Client client = server_.connect();
    client.send(waiting_try("goes"));
    ASSERT_TRUE(store_.wait_until_held());
    use_without_goes();
    store_.open();
    expect_sent_away(client.receive(), 401);
    EXPECT_TRUE(eventually([&] { return server_.locks().holders(order).empty(); }));
    EXPECT_EQ(server_.locks().history().front().how, Gone::released);
    EXPECT_TRUE(eventually([&] { return waits_.ended == 1; }));
}

// With another token, say, and at another server.
TEST_P(ChangedTokens, TakeNothingFromWhoAsksAgainWithItsOwnLockId) {
    const LockId drawn = LockId::random();
    store_.close();
    Client client = server_.connect();
    client.send(waiting_try("goes", "Lock-Token: " + drawn.to_string() + "\r\n"));
    ASSERT_TRUE(store_.wait_until_held());
    use_without_goes();
    store_.let_pass();
    expect_sent_away(client.receive(), 401);
    ASSERT_TRUE(holds(behind(TryLock{.key = order, .lock_id = drawn, .owner = "goes"})));
    store_.open();
    server_.stop();
    EXPECT_TRUE(holds(behind(Check{order, drawn})));
}

TEST_P(ChangedTokens, TakeNothingFromWhoHeldTheKeyBefore) {
    const LockId drawn = LockId::random();
    const std::string fields = "Lock-Token: " + drawn.to_string() + "\r\n";
    ASSERT_EQ(server_.connect()
                  .ask("POST", "/v1/locks/Order/1", R"({"owner":"goes"})", shows("goes") + fields)
                  .status,
              201U);
    store_.close();
    Client again = server_.connect();
    again.send(waiting_try("goes", fields));
    ASSERT_TRUE(store_.wait_until_held());
    use_without_goes();
    store_.open();
    expect_sent_away(again.receive(), 401);
    EXPECT_TRUE(server_.locks().check(order, drawn).has_value());
}

TEST_P(ChangedTokens, CountForARequestWhoseBodyIsOnItsWay) {
    const auto try_by = [](const std::string& name) {
        return message("POST", "/v1/locks/Order/1", R"({"owner":"goes/too"})", shows(name));
    };
    std::vector<Client> clients;
    for (const char* const name : {"goes", "goes/too"}) {
        clients.push_back(server_.connect());
        clients.back().send(try_by(name).substr(0, try_by(name).size() - 1));
        // The server has one thread: it has read what came before.
        EXPECT_EQ(server_.connect().ask("GET", "/healthz").status, 200U);
    }
    server_.use(tokens({token("goes/too", {Role::use}, "elsewhere")}));
    for (Client& client : clients) client.send("}");
    expect_sent_away(clients[0].receive(), 401);
    expect_sent_away(clients[1].receive(), 403);
    EXPECT_TRUE(server_.locks().holders(order).empty());
}

}  // namespace
}  // namespace leasehold::testing
