#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include <boost/json/value_to.hpp>

#include <leasehold/leasehold.hpp>

#include "command/serving.hpp"
#include "faults/databases.hpp"

// Servers that are stopped, killed and doubled while clients are at work.
namespace leasehold::command {
namespace {

using testing::Answer;
using testing::Client;

constexpr int clients = 8;

struct Granted {
    LockId lock_id;
    Fence fence = 0;
};

Granted granted(const Answer& answer) {
    const auto lease = answer.json();
    return {.lock_id = *LockId::parse(std::string_view{lease.at("lock_id").as_string()}),
            .fence = boost::json::value_to<Fence>(lease.at("fence"))};
}

// Clients that take one key after the other and give every third back, until their server is gone.
class Load {
public:
    explicit Load(const Serving& server) {
        for (int i = 0; i < clients; ++i) {
            threads_.emplace_back([this, &server, i] { work(server, std::to_string(i) + "-"); });
        }
    }

    [[nodiscard]] bool has_grants(std::size_t count) {
        return faults::eventually([&] { return grants_so_far_ >= count; });
    }
    // By the keys' ids: what is held, what was given back, and whose end was not answered. All wait
    // for the clients' end.
    std::map<std::string, Granted> grants() {
        threads_.clear();
        return grants_;
    }
    std::map<std::string, Granted> released() {
        threads_.clear();
        return released_;
    }
    std::map<std::string, Granted> not_released() {
        threads_.clear();
        return not_released_;
    }

private:
    void work(const Serving& server, const std::string& prefix) {
        Client client = server.connect();
        for (int n = 0;; ++n) {
            const std::string id = prefix + std::to_string(n);
            const Answer answer = ask(client, "POST", id, {});
            if (answer.status == 0) return;
            ASSERT_EQ(answer.status, 201U) << answer.body;
            const Granted lease = granted(answer);
            if (n % 3 != 0) {
                keep(grants_, id, lease);
                continue;
            }
            const Answer end =
                ask(client, "DELETE", id, "Lock-Token: " + lease.lock_id.to_string() + "\r\n");
            if (end.status == 0) return keep(not_released_, id, lease);
            ASSERT_EQ(end.status, 200U) << end.body;
            keep(released_, id, lease);
        }
    }

    static Answer ask(Client& client, std::string_view method, const std::string& id,
                      const std::string& fields) {
        try {
            return client.ask(method, "/v1/locks/Order/" + id, method == "POST" ? "{}" : "",
                              fields);
        } catch (const std::runtime_error&) {  // cut while it was sent
            return {};
        }
    }

    void keep(std::map<std::string, Granted>& where, const std::string& id, const Granted& lease) {
        const std::lock_guard lock{mutex_};
        where.emplace(id, lease);
        ++grants_so_far_;
    }

    std::mutex mutex_;
    std::map<std::string, Granted> grants_;        // guarded by mutex_
    std::map<std::string, Granted> released_;      // guarded by mutex_
    std::map<std::string, Granted> not_released_;  // guarded by mutex_
    std::atomic<std::size_t> grants_so_far_{0};
    std::vector<std::jthread> threads_;
};

class ServeOnAnyStore : public faults::DatabaseTest {};
INSTANTIATE_TEST_SUITE_P(, ServeOnAnyStore, ::testing::ValuesIn(faults::every_database()),
                         faults::by_store());

TEST_P(ServeOnAnyStore, DoesExactlyWhatItHasAnsweredWhenItIsStoppedUnderLoad) {
    Serving server{url(), {"--threads", "2"}};
    Load load{server};
    ASSERT_TRUE(load.has_grants(300));
    EXPECT_EQ(server.stop(), 0);

    auto grants = load.grants();
    grants.merge(load.not_released());
    LockManager locks{open_store(url())};
    std::map<std::string, Fence> held;
    List page{.limit = 1000};
    for (;;) {
        const auto holders = locks.list(page);
        for (const Holder& holder : holders) held.emplace(holder.key.id(), holder.fence);
        if (holders.size() < page.limit) break;
        page.after = holders.back();
    }
    EXPECT_EQ(held.size(), grants.size());
    for (const auto& [id, grant] : grants) EXPECT_EQ(held[id], grant.fence) << id;
}

TEST_P(ServeOnAnyStore, LosesNoAnsweredGrantOrReleaseWhenItIsKilledUnderLoad) {
    Serving server{url()};
    Load load{server};
    ASSERT_TRUE(load.has_grants(300));
    server.kill();

    LockManager locks{open_store(url())};
    const auto grants = load.grants();
    ASSERT_FALSE(grants.empty());
    for (const auto& [id, grant] : grants) {
        const auto lease = locks.check({"Order", id}, grant.lock_id);
        ASSERT_TRUE(lease) << id << ": " << lease.error().message();
        EXPECT_EQ(lease->fence, grant.fence);
    }
    for (const auto& [id, grant] : load.released()) {
        const auto lease = locks.check({"Order", id}, grant.lock_id);
        ASSERT_FALSE(lease) << id;
        EXPECT_EQ(lease.error().reason, Gone::released) << id;
    }
    const Serving next{url()};
    const std::string held = "/v1/locks/Order/" + grants.begin()->first;
    EXPECT_EQ(next.connect().ask("POST", held, "{}").status, 409U);
}

TEST_P(ServeOnAnyStore, ExcludesTheClientsOfAnotherServer) {
    constexpr int rounds = 15;
    const Serving one{url(), {"--wait-poll", "10ms"}};
    const Serving other{url(), {"--wait-poll", "10ms"}};
    std::atomic<int> inside{0};
    std::atomic<bool> overlapped{false};
    std::mutex mutex;
    std::set<Fence> fences;
    const auto work = [&](const Serving& server) {
        Client client = server.connect();
        for (int i = 0; i < rounds;) {
            const Answer answer = client.ask("POST", "/v1/locks/Order/1", R"({"wait_ms":20000})");
            if (answer.status != 201) continue;
            if (++inside != 1) overlapped = true;
            const Granted lease = granted(answer);
            {
                const std::lock_guard lock{mutex};
                EXPECT_TRUE(fences.empty() || lease.fence > *fences.rbegin());
                fences.insert(lease.fence);
            }
            --inside;
            const std::string token = "Lock-Token: " + lease.lock_id.to_string() + "\r\n";
            EXPECT_EQ(client.ask("DELETE", "/v1/locks/Order/1", {}, token).status, 200U);
            ++i;
        }
    };
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 3; ++i) {
            threads.emplace_back([&] { work(one); });
            threads.emplace_back([&] { work(other); });
        }
    }
    EXPECT_FALSE(overlapped);
    EXPECT_EQ(fences.size(), 6U * rounds);
}

}  // namespace
}  // namespace leasehold::command
