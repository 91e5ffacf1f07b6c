#include <leasehold/stores/etcd.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <string_view>
#include <vector>

#include "server/monitoring/metrics.hpp"
#include "server/server_fixture.hpp"
#include "support/private_etcd.hpp"

namespace leasehold::testing {
namespace {

struct Resume {
    void operator()(PrivateEtcd* etcd) const { etcd->resume(); }
};

// The server has one worker, and the store waits for etcd much longer than the clients wait for an
// answer. If the worker waited for etcd, no client would be answered.
TEST(APausedStore, DoesNotKeepProbesWaiting) {
    constexpr std::size_t clients = 200;
    PrivateEtcd etcd;
    server::Metrics metrics{"1"};
    RunningServer server{etcd::open({.endpoints = {{.host = "127.0.0.1", .port = etcd.port()}}},
                                    {.io_timeout = std::chrono::minutes{20}}),
                         {.threads = 1, .observer = &metrics, .metrics = &metrics}};
    EXPECT_EQ(server.connect().ask("POST", "/v1/locks/Order/1", "{}").status, 201);
    EXPECT_EQ(server.connect().ask("GET", "/readyz").status, 200);

    etcd.pause();
    // Otherwise a failing test would wait for the store when it stops the server.
    std::unique_ptr<PrivateEtcd, Resume> paused{&etcd};
    constexpr std::array<std::string_view, 3> probes{"/healthz", "/metrics", "/readyz"};
    std::vector<Client> all;
    for (std::size_t i = 0; i < clients; ++i) {
        all.push_back(server.connect());
        all.back().send(message("GET", probes[i % probes.size()]));
    }
    for (std::size_t i = 0; i < clients; ++i) {
        const unsigned status = all[i].receive().status;
        const std::string_view probe = probes[i % probes.size()];
        // The store answered a moment ago, and that answer may still be reused.
        const bool fine = status == 200 || (probe == "/readyz" && status == 503);
        ASSERT_TRUE(fine) << probe << " " << status;
    }
    EXPECT_TRUE(eventually([&] { return server.connect().ask("GET", "/readyz").status == 503; }));

    paused.reset();
    EXPECT_TRUE(eventually([&] { return server.connect().ask("GET", "/readyz").status == 200; }));
}

}  // namespace
}  // namespace leasehold::testing
