// Answers have a budget, as requests have one: what an authorised client asks for never makes
// others wait or lose a lease.
#include <thread>
#include <vector>

#include "hostile/hostile.hpp"

namespace leasehold::hostile {
namespace {

class Answers : public HostileTest {};
LEASEHOLD_HOSTILE(Answers);

TEST_P(Answers, AHolderRenewsWhileOthersSendBatchesOfRefusedTries) {
    const auto server = start({.threads = 2});
    Client holder = server->connect();
    const Answer lease =
        holder.ask("POST", "/v1/locks/Order/1", R"({"owner":"holder","ttl_ms":60000})");
    ASSERT_EQ(lease.status, 201U);
    share_among(holder, 20);

    std::atomic<bool> over{false};
    std::vector<std::jthread> attackers;
    for (int i = 0; i < 4; ++i) {
        attackers.emplace_back([&] {
            Client client = server->connect();
            const std::vector<std::string> tries(
                100, R"({"op":"try","type":"Shared","id":"1","owner":"attacker"})");
            while (!over) EXPECT_EQ(client.ask("POST", "/v1/batch", batch_of(tries)).status, 200U);
        });
    }
    for (int i = 0; i < 20; ++i) {
        const Answer renewed =
            holder.ask("PATCH", "/v1/locks/Order/1", R"({"ttl_ms":60000})", lock_token_of(lease));
        EXPECT_EQ(renewed.status, 200U) << renewed.body;
    }
    over = true;
}

}  // namespace
}  // namespace leasehold::hostile
