// Three MariaDB nodes with Galera. Only one of them is written to at a time.
#include <array>

#include "faults/databases.hpp"
#include "faults/under_load.hpp"
#include "support/tcp_gate.hpp"

namespace leasehold::faults {
namespace {

class Galera : public ::testing::TestWithParam<On<Server>> {
protected:
    Galera() {
        for (Ports& ports : ports_) {
            ports = {testing::free_port(), testing::free_port(), testing::free_port()};
        }
        nodes_[0] = std::make_unique<testing::PrivateMariadb>(testing::PrivateServerOptions{
            .settings = settings(0), .first_settings = {"--wsrep-new-cluster"}});
        for (const std::size_t i : {1U, 2U}) {
            nodes_[i] = std::make_unique<testing::PrivateMariadb>(
                testing::PrivateMariadb::Joins::a_cluster,
                testing::PrivateServerOptions{.settings = settings(i)});
        }
        gate_ = std::make_unique<testing::TcpGate>("127.0.0.1", nodes_[0]->port());
    }

    struct Ports {
        std::uint16_t cluster, increments, copies;
    };

    [[nodiscard]] std::vector<std::string> settings(std::size_t node) const {
        const auto local = [](std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); };
        std::string all;
        for (const Ports& ports : ports_) all += (all.empty() ? "" : ",") + local(ports.cluster);
        const Ports& own = ports_[node];
        return {"--wsrep-on=ON",
                "--wsrep-provider=/usr/lib/galera/libgalera_smm.so",
                "--wsrep-cluster-name=leasehold",
                "--wsrep-cluster-address=gcomm://" + all,
                "--wsrep-node-name=node-" + std::to_string(node),
                "--wsrep-node-address=127.0.0.1",
                "--wsrep-provider-options=gmcast.listen_addr=tcp://" + local(own.cluster) +
                    ";ist.recv_addr=" + local(own.increments) + ";gcache.size=16M",
                "--wsrep-sst-method=rsync",
                "--wsrep-sst-receive-address=" + local(own.copies),
                "--wsrep-sync-wait=15",
                "--binlog-format=ROW",
                "--innodb-autoinc-lock-mode=2"};
    }

    void expect_no_violation_while(const std::function<void(const WaitForGrants&)>& happens) {
        const auto found =
            violations_under_load(nodes_[0]->url("locks", gate_->port()) + "?io_timeout_ms=3000",
                                  nodes_[2]->url(), happens);
        EXPECT_TRUE(found.empty()) << found.size() << " violations, the first:\n" << found.front();
    }

    std::array<Ports, 3> ports_{};
    std::array<std::unique_ptr<testing::PrivateMariadb>, 3> nodes_;
    std::unique_ptr<testing::TcpGate> gate_;
};
INSTANTIATE_TEST_SUITE_P(, Galera, ::testing::Values(on_mariadb()), by_store());

TEST_P(Galera, WithOneWrittenNodeLosesNothingWhenAnotherIsKilledOrPaused) {
    expect_no_violation_while([this](const auto& wait_for_grants) {
        nodes_[1]->kill();
        wait_for_grants();
        nodes_[1]->start();
        wait_for_grants();
        nodes_[2]->pause();
        std::this_thread::sleep_for(2s);
        nodes_[2]->resume();
    });
}

TEST_P(Galera, LosesNothingWhenTheWrittenNodeIsKilledAndAnotherTakesItsPlace) {
    expect_no_violation_while([this](const auto& wait_for_grants) {
        nodes_[0]->kill();
        gate_->redirect(nodes_[1]->port());
        gate_->cut();
        wait_for_grants();
        nodes_[0]->start();
    });
}

}  // namespace
}  // namespace leasehold::faults
