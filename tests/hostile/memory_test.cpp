// A server whose memory runs out answers with a fault, goes on, and loses no lease.
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <new>
#include <sstream>
#include <vector>

#include "cli/serve/free_memory.hpp"
#include "command/serving.hpp"
#include "core/out_of_memory.hpp"
#include "hostile/hostile.hpp"
#include "server/access/tokens.hpp"

namespace leasehold::hostile {
namespace {

class OutOfMemory : public HostileTest {
protected:
    // From now on the server gets no memory, not even back what it gives to the system.
    void take_all_memory() const {
        const rlimit limit{.rlim_cur = 1, .rlim_max = RLIM_INFINITY};
        ASSERT_EQ(::prlimit(server_.pid(), RLIMIT_AS, &limit, nullptr), 0);
    }

    // From now on the server gets this much memory more, and no more.
    void limit_memory(std::size_t more) { limit_memory(server_, more); }
    static void limit_memory(const command::Serving& server, std::size_t more) {
        std::ifstream statm{"/proc/" + std::to_string(server.pid()) + "/statm"};
        std::size_t pages = 0;
        statm >> pages;
        const rlim_t bytes = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + more;
        const rlimit limit{.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};
        ASSERT_EQ(::prlimit(server.pid(), RLIMIT_AS, &limit, nullptr), 0);
    }

    // Sends requests whose bodies need more memory than there is. Returns how many were answered
    // with a fault for lack of memory.
    [[nodiscard]] std::size_t use_up_memory() {
        constexpr std::size_t clients = 24;
        const std::string body = large_batch();
        std::vector<Client> all;
        for (std::size_t i = 0; i < clients; ++i) {
            all.push_back(server_.connect());
            all.back().expect_another_protocol();
            all.back().send(testing::message("POST", "/v1/batch", body));
        }
        std::size_t faults = 0;
        for (Client& client : all) {
            const Answer answer = client.receive();
            // The server may have had to cut a connection.
            if (answer.status == 503) ++faults;
            EXPECT_TRUE(answer.status == 0 || answer.status == 200 || answer.status == 503)
                << answer.status << answer.body;
            EXPECT_TRUE(answer.status == 0 || answer.fields.contains("x-content-type-options"))
                << answer.body;
            if (answer.status == 503 && answer.code() == "fault") {
                const auto effect = answer.json().at("effect").as_string();
                EXPECT_TRUE(effect == "none" || effect == "unknown") << effect;
            }
        }
        return faults;
    }

    [[nodiscard]] static std::string large_batch(const std::string& owner = "attacker") {
        std::vector<std::string> requests;
        for (int i = 0; i < 500; ++i) {
            requests.push_back(R"({"op":"try","type":"Large","id":")" + std::to_string(i) +
                               R"(","owner":")" + owner + R"(","note":")" +
                               padded("", Limits::note_bytes) + R"("})");
        }
        return batch_of(requests);
    }

    command::Serving server_{url(), {"--threads", "2"}};
};
LEASEHOLD_HOSTILE(OutOfMemory);

TEST_P(OutOfMemory, IsAnsweredAndTheServerGoesOn) {
    Client holder = server_.connect();
    const Answer lease =
        holder.ask("POST", "/v1/locks/Order/1", R"({"owner":"holder","ttl_ms":60000})");
    ASSERT_EQ(lease.status, 201U);
    limit_memory(4 << 20U);
    std::size_t faults = 0;
    for (int round = 0; round < 4; ++round) faults += use_up_memory();
    EXPECT_GT(faults, 0U) << "the memory was enough, so nothing was proved";

    const auto renewed = [&] {
        return server_.connect().ask("PATCH", "/v1/locks/Order/1", R"({"ttl_ms":60000})",
                                     lock_token_of(lease));
    };
    EXPECT_TRUE(testing::eventually([&] { return renewed().status == 200; }));
    EXPECT_EQ(server_.stop(), 0) << server_.output();
}

TEST_P(OutOfMemory, AtTheEndLosesNothing) {
    ASSERT_EQ(server_.connect().ask("GET", "/readyz").status, 200U);
    limit_memory(4 << 20U);
    std::size_t faults = 0;
    for (int round = 0; round < 4; ++round) faults += use_up_memory();
    EXPECT_GT(faults, 0U) << "the memory was enough, so nothing was proved";
    EXPECT_EQ(server_.stop(), 0) << server_.output();
}

// A client with a token is refused for lack of memory as others are, and the audit goes on.
TEST_P(OutOfMemory, IsNeverTakenForAnotherError) {
    const testing::TemporaryFolder folder;
    const std::string file = folder.path() / "tokens";
    std::ofstream{file}
        << "[[token]]\nname = \"shop\"\nowner = \"shop\"\nroles = [\"use\"]\nsha256 = \""
        << server::hex_of(server::digest_of("secret-of-shop")) << "\"\n";
    command::Serving server{
        url(), {"--threads", "2", "--tokens", file, "--audit", (folder.path() / "audit").string()}};
    const std::string batch =
        testing::message("POST", "/v1/batch", large_batch("shop"), shows("shop"));
    const std::string release =
        testing::message("DELETE", "/v1/owners/shop/locks", {}, shows("shop"));
    const std::string guess = testing::message("GET", "/v1/locks", {}, shows("nobody"));
    limit_memory(server, 4 << 20U);
    std::map<unsigned, std::size_t> answers;
    for (int round = 0; round < 4; ++round) {
        std::vector<Client> all;
        for (int i = 0; i < 36; ++i) {
            all.push_back(server.connect());
            all.back().expect_another_protocol();
            all.back().send(i % 3 == 0 ? batch : i % 3 == 1 ? release : guess);
        }
        for (Client& client : all) ++answers[client.receive().status];
    }
    EXPECT_GT(answers[503], 0U) << "the memory was enough, so nothing was proved";
    for (const auto& [status, times] : answers) {
        EXPECT_TRUE(status == 0 || status == 200 || status == 401 || status == 503) << status;
    }
    EXPECT_EQ(server.stop(), 0) << server.output();
}

// There is nothing left but what the server keeps for this moment.
TEST_P(OutOfMemory, AtTheEndWithNoneLeftEndsCleanly) {
    ASSERT_EQ(server_.connect().ask("GET", "/readyz").status, 200U);
    limit_memory(4 << 20U);
    EXPECT_GT(use_up_memory(), 0U) << "the memory was enough, so nothing was proved";
    limit_memory(0);
    EXPECT_EQ(server_.stop(), 0) << server_.output();
}

// As with `ulimit -v`: what the server gives back to the system is lost for it.
TEST_P(OutOfMemory, ForGoodDoesNotKeepTheServerFromStopping) {
    ASSERT_EQ(server_.connect().ask("GET", "/readyz").status, 200U);
    take_all_memory();
    for (int round = 0; round < 4; ++round) (void)use_up_memory();
    EXPECT_EQ(server_.stop(), 0) << server_.output();
}

// The smallest things that must be done, such as answering a waiting thread.
TEST(WithoutAnyMemory, TheProcessEndsAfterAWhile) {
    EXPECT_EQ(retries::memory_patience, 30s);
    int tries = 0;
    do_for_certain(
        [&] {
            if (++tries < 3) throw std::bad_alloc{};
        },
        1min);
    EXPECT_EQ(tries, 3);
    EXPECT_EXIT(do_for_certain([] { throw std::bad_alloc{}; }, 5ms),
                ::testing::ExitedWithCode(EXIT_FAILURE), "no memory for 30 seconds");
}

// Each call waits a millisecond for memory. Ends the process with the number of calls: what it sets
// for the process stays there.
[[noreturn]] void count_calls_until_the_allocation_fails() {
    int calls = 1;
    const cli::FreeMemory memory;
    const std::new_handler wait_for_memory = std::get_new_handler();
    try {
        for (;; ++calls) wait_for_memory();
    } catch (const std::bad_alloc&) {
        std::_Exit(calls);
    }
}

TEST(WithoutAnyMemory, AnAllocationWaitsTwentyMillisecondsAtMost) {
    EXPECT_EXIT(count_calls_until_the_allocation_fails(), ::testing::ExitedWithCode(20), "");
}

}  // namespace
}  // namespace leasehold::hostile
