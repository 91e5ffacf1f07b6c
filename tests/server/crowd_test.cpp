#include <sys/resource.h>

#include <string>
#include <vector>

#include "server/server_fixture.hpp"

// Thousands on one server who do nothing, or wait, and hurt nobody.
namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t many = 2000;

// Client and server are one process here: two files for each connection.
bool may_have_files(std::size_t number) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= number;
}

std::string patient_try(const std::string& id) {
    return message("POST", "/v1/locks/Order/" + id, R"({"wait_ms":60000})");
}

class CrowdTest : public ::testing::Test {
protected:
    CrowdTest() : files_{may_have_files(5 * many)} {}

    // Clients that connect, say something, and stay.
    std::vector<Client> come(std::size_t number) const {
        std::vector<Client> clients;
        for (std::size_t i = 0; i < number; ++i) clients.push_back(server_.connect());
        return clients;
    }
    void works() {
        Client client = server_.connect();
        for (int i = 0; i < 50; ++i) {
            const Answer granted = client.ask("POST", "/v1/locks/Order/worker");
            ASSERT_EQ(granted.status, 201U);
            ASSERT_EQ(
                client.ask("DELETE", "/v1/locks/Order/worker", {}, lock_token_of(granted)).status,
                200U);
        }
    }

    const bool files_;
    // They connect one after the other, and ask when all are there.
    RunningServer server_{memory::open(), {.threads = 2, .first_byte = 75s}};
};

TEST_F(CrowdTest, ThousandsOfIdleConnectionsAreServedWhenTheyAsk) {
    ASSERT_TRUE(files_) << "raise the limit of open files";
    auto idle = come(many);
    ASSERT_TRUE(server_.has_connections(many));
    works();
    for (Client& client : idle) ASSERT_EQ(client.ask("GET", "/healthz").status, 200U);
    ASSERT_TRUE(server_.has_connections(many));
}

TEST_F(CrowdTest, ThousandsWaitForAKeyEachAndEveryOneGetsItsOwn) {
    ASSERT_TRUE(files_) << "raise the limit of open files";
    std::vector<Lease> held;
    auto waiters = come(many);
    for (std::size_t i = 0; i < many; ++i) {
        held.push_back(server_.locks().try_lock({"Order", std::to_string(i)}).value());
        waiters[i].send(patient_try(std::to_string(i)));
    }
    ASSERT_TRUE(server_.waits_for(many));
    works();
    Client holder = server_.connect();
    for (const Lease& lease : held) {
        const std::string token = "Lock-Token: " + lease.lock_id.to_string() + "\r\n";
        ASSERT_EQ(holder.ask("DELETE", "/v1/locks/Order/" + std::string{lease.key.id()}, {}, token)
                      .status,
                  200U);
    }
    for (std::size_t i = 0; i < many; ++i) {
        const Answer granted = waiters[i].receive();
        ASSERT_EQ(granted.status, 201U) << i << granted.body;
        ASSERT_EQ(std::string_view{granted.json().at("id").as_string()}, std::to_string(i));
    }
    ASSERT_TRUE(server_.waits_for(0));
}

TEST_F(CrowdTest, ThousandsWaitForOneKeyAndGetItOneAfterTheOther) {
    ASSERT_TRUE(files_) << "raise the limit of open files";
    const Lease held = server_.locks().try_lock({"Order", "1"}).value();
    auto waiters = come(many);
    for (Client& waiter : waiters) waiter.send(patient_try("1"));
    ASSERT_TRUE(server_.waits_for(many));
    works();
    const std::string token = "Lock-Token: " + held.lock_id.to_string() + "\r\n";
    ASSERT_EQ(server_.connect().ask("DELETE", "/v1/locks/Order/1", {}, token).status, 200U);
    Fence last = held.fence;
    for (int served = 0; served < 100; ++served) {
        Client* granted = nullptr;
        // With two threads they do not queue in the order in which they asked.
        ASSERT_TRUE(eventually([&] {
            for (Client& waiter : waiters) {
                if (waiter.hears()) granted = &waiter;
            }
            return granted != nullptr;
        }));
        const Answer answer = granted->receive();
        ASSERT_EQ(answer.status, 201U) << answer.body;
        const Fence fence = answer.json().at("fence").as_int64();
        ASSERT_GT(fence, last);
        last = fence;
        ASSERT_EQ(granted->ask("DELETE", "/v1/locks/Order/1", {}, lock_token_of(answer)).status,
                  200U);
    }
    waiters.clear();
    EXPECT_TRUE(server_.waits_for(0));
}

}  // namespace
}  // namespace leasehold::testing
