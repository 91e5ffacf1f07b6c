#include <leasehold/lock_manager.hpp>
#include <leasehold/open_store.hpp>

#include <string>

#include "connection.hpp"
#include "cycle.hpp"
#include "dialect.hpp"
#include "groups.hpp"
#include "peer_server.hpp"

namespace leasehold::bench {
namespace {

// A transaction of etcd for each operation on one key; each thread has a connection of its own.
class EtcdFloor final : public Contender {
public:
    explicit EtcdFloor(std::uint16_t port) : port_{port} {}

    void run_cycles(std::size_t thread, const std::atomic<bool>& stop,
                    std::atomic<std::uint64_t>& cycles) override {
        const Connection connection{port_};
        count_cycles(thread, stop, cycles, [&](std::string id) {
            Held held{.id = "floor-" + std::move(id)};
            for (const Step step : {Step::try_lock, Step::check, Step::extend, Step::release}) {
                std::string request;
                dialect_->print(request, step, held);
                connection.send(request);
                std::string answer;
                while (dialect_->read(answer, step, held) == 0) connection.receive(answer);
            }
        });
    }

private:
    const std::uint16_t port_;
    const std::unique_ptr<Dialect> dialect_ = make_etcd_dialect();
};

}  // namespace

void run_etcd(const Settings& settings, Report& report) {
    const PeerServer etcd = start_etcd();
    LockManager locks{open_store("etcd://127.0.0.1:" + std::to_string(etcd.port()) + "/compare")};
    const auto leasehold = make_leasehold(locks);
    EtcdFloor floor{etcd.port()};
    report.add(compare({.group = "etcd",
                        .name = "1 thread against a bare transaction an operation",
                        .leasehold = {"etcd store, 1 thread", *leasehold},
                        .peer = {"a bare transaction an operation, 1 thread", floor},
                        .goal = {}},
                       settings));
    constexpr std::size_t many = 64;
    report.add(compare({.group = "etcd",
                        .name = "64 threads against a bare transaction an operation with 64",
                        .leasehold = {"etcd store, 64 threads", *leasehold, many},
                        .peer = {"a bare transaction an operation, 64 threads", floor, many},
                        .goal = {}},
                       settings));
}

}  // namespace leasehold::bench
