#include "lab/real_stores.hpp"

#include <stdexcept>

#include "command/serving.hpp"
#include "support/private_etcd.hpp"
#include "support/private_server.hpp"

namespace leasehold::lab {
namespace {

constexpr const char* local = "127.0.0.1";
constexpr const char* impatient = "?io_timeout_ms=5000";

template <class Server>
class OnADatabase final : public RealStore {
public:
    explicit OnADatabase(std::chrono::milliseconds each_way = {}) {
        gate_.set_conditions({.delay_from = each_way, .delay_to = each_way});
    }
    std::string make() override {
        const std::string name = "run" + std::to_string(++made_);
        server_.create_database(name);
        return server_.url(name, gate_.port()) + impatient;
    }
    testing::TcpGate& gate() override { return gate_; }
    void crash() override {
        server_.kill();
        server_.start();
    }

    std::chrono::milliseconds between_lost_answers() const override {
        return std::chrono::milliseconds{80};
    }

private:
    Server server_{testing::without_flushes()};
    testing::TcpGate gate_{local, server_.port()};
    int made_ = 0;
};

class OnEtcd final : public RealStore {
public:
    // Every second time, names the only member twice, as if there were two.
    std::string make() override {
        const std::string place = std::string{local} + ':' + std::to_string(gate_.port());
        const bool twice = ++made_ % 2 == 0;
        return "etcd://" + place + (twice ? ',' + place : "") + "/run" + std::to_string(made_) +
               impatient;
    }
    testing::TcpGate& gate() override { return gate_; }
    void crash() override {
        member_.kill();
        member_.start();
    }
    Expectations expectations() const override {
        Expectations expected = RealStore::expectations();
        expected.transactions_meet = false;
        // No lease may end early by any steady clock, and on one machine all steady clocks are the
        // same.
        expected.clock_drift = {};
        expected.store_clock_lags = true;
        expected.one_clock = false;
        expected.standstill = std::chrono::seconds{5};
        return expected;
    }

private:
    testing::PrivateEtcd member_;
    testing::TcpGate gate_{local, member_.port()};
    int made_ = 0;
};

// A Leasehold server, on SQLite.
class OnHttp final : public RealStore {
public:
    std::string make() override {
        file_ = "sqlite:" + (folder_.path() / (std::to_string(++made_) + ".db")).string();
        start();
        return std::string{"http://"} + local + ':' + std::to_string(gate_->port()) + impatient;
    }
    testing::TcpGate& gate() override { return *gate_; }
    void crash() override {
        server_->kill();
        start();
    }

private:
    void start() {
        server_.reset();
        server_ = std::make_unique<command::Serving>(file_);
        if (gate_ == nullptr) gate_ = std::make_unique<testing::TcpGate>(local, server_->port());
        gate_->redirect(server_->port());
    }

    testing::TemporaryFolder folder_;
    std::string file_;
    std::unique_ptr<command::Serving> server_;
    std::unique_ptr<testing::TcpGate> gate_;
    int made_ = 0;
};

}  // namespace

std::unique_ptr<RealStore> start_real_store(const std::string& name) {
    if (name == "postgres") return std::make_unique<OnADatabase<testing::PrivatePostgres>>();
    if (name == "distant") {
        constexpr std::chrono::milliseconds each_way{1};
        return std::make_unique<OnADatabase<testing::PrivatePostgres>>(each_way);
    }
    if (name == "mariadb") return std::make_unique<OnADatabase<testing::PrivateMariadb>>();
    if (name == "mysql") return std::make_unique<OnADatabase<testing::PrivateMysql>>();
    if (name == "etcd") return std::make_unique<OnEtcd>();
    if (name == "http") return std::make_unique<OnHttp>();
    throw std::logic_error{"no store is called " + name};
}

}  // namespace leasehold::lab
