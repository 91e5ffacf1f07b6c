#include "faults/laboratory/stage.hpp"

#include <cstdlib>
#include <stdexcept>

namespace leasehold::faults {
namespace {

constexpr std::size_t clients_per_server = 2;
constexpr std::size_t clients_of_application = 3;
constexpr std::size_t members_of_cluster = 3;

// On /dev/shm InnoDB maps its log into memory, and no write of the log can fail there.
class OnARealDisk {
public:
    OnARealDisk() {
        if (before_.starts_with("/dev/shm")) ::setenv("TMPDIR", "/var/tmp", 1);
    }
    OnARealDisk(const OnARealDisk&) = delete;
    OnARealDisk& operator=(const OnARealDisk&) = delete;
    ~OnARealDisk() { ::setenv("TMPDIR", before_.c_str(), 1); }

private:
    const std::string before_ = std::filesystem::temp_directory_path();
};

class Prefixes final : public Database {
public:
    explicit Prefixes(const testing::PrivateEtcd& cluster) : cluster_{cluster} {}

    std::string make() override { return "round-" + std::to_string(++made_); }
    std::string url(const std::string& name) const override { return cluster_.url(name); }
    std::unique_ptr<Session> connect(const std::string& /*name*/) override {
        throw std::logic_error{"etcd has no transactions of others"};
    }

private:
    const testing::PrivateEtcd& cluster_;
    int made_ = 0;
};

std::unique_ptr<Server> start_server_of(const std::string& store,
                                        std::vector<std::string> environment) {
    if (store == "postgres") return start_postgres({.environment = std::move(environment)});
    if (store == "mariadb") return start_mariadb({.environment = std::move(environment)});
    if (store == "mysql") return start_mysql({.environment = std::move(environment)});
    throw std::runtime_error{"no store is called " + store};
}

}  // namespace

Ground::Ground(std::string store, Wired wired) : store_{std::move(store)}, wired_{wired} {
    if (store_ == "sqlite") {
        database_ = make_sqlite_folder();
        const std::string file = database_->url("x").substr(std::string_view{"sqlite:"}.size());
        disk_ = std::make_unique<BadDisk>(std::filesystem::path{file}.parent_path(),
                                          LEASEHOLD_BAD_DISK_LIBRARY);
        return;
    }
    if (store_ == "etcd") {
        cluster_ = std::make_unique<testing::PrivateEtcd>(
            testing::PrivateEtcdOptions{.members = members_of_cluster, .gates_between = true});
        database_ = std::make_unique<Prefixes>(*cluster_);
        return;
    }
    const OnARealDisk for_its_folder;
    disk_ = std::make_unique<BadDisk>(std::filesystem::temp_directory_path(),
                                      LEASEHOLD_BAD_DISK_LIBRARY);
    auto server = start_server_of(store_, environment());
    server_ = server.get();
    database_ = std::move(server);
}

std::vector<std::string> Ground::environment() const {
    return wired_ == Wired::clocks ? clock_.environment() : disk_->environment();
}

std::vector<std::string> Ground::environment_of_users() const {
    if (cluster_ != nullptr) return {};
    if (server_ == nullptr) return environment();
    return wired_ == Wired::clocks ? clock_of_users_.environment() : std::vector<std::string>{};
}

Stage::Stage(Ground& ground, std::uint64_t seed, std::filesystem::path folder)
    : ground_{ground}, seed_{seed}, folder_{std::move(folder)}, name_{ground.database().make()} {
    const auto add_gate = [this](std::uint16_t port) {
        before_store_.push_back(std::make_unique<testing::TcpGate>("127.0.0.1", port));
    };
    if (const Server* server = ground_.server()) add_gate(server->port());
    if (const testing::PrivateEtcd* cluster = ground_.cluster()) {
        for (std::size_t i = 0; i < members_of_cluster; ++i) add_gate(cluster->port(i));
    }
    routes_.resize(servers);
    for (std::size_t i = 0; i < servers; ++i) {
        start_server(i);
        routes_[i].load = std::make_unique<lab::Load>(
            lab::LoadOptions{.url = "http://127.0.0.1:" + std::to_string(before_server(i).port()) +
                                    "?io_timeout_ms=1500",
                             .name = "server-" + std::to_string(i + 1),
                             .seed = seed_ * 10 + i,
                             .clients = clients_per_server,
                             .keys = keys_of_load,
                             .record = new_recording("server-" + std::to_string(i + 1))});
    }
    start_application();
}

Stage::~Stage() = default;

std::vector<testing::TcpGate*> Stage::before_store() const {
    std::vector<testing::TcpGate*> gates;
    for (const auto& gate : before_store_) gates.push_back(gate.get());
    return gates;
}

std::string Stage::url_for_users() const {
    const std::string options = "?io_timeout_ms=1000";
    if (const Server* server = ground_.server()) {
        return server->url(name_, before_store_.front()->port()) + options;
    }
    if (before_store_.empty()) return url() + options;
    std::string members;
    for (const auto& gate : before_store_) {
        members += (members.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(gate->port()));
    }
    return "etcd://" + members + '/' + name_ + options;
}

std::filesystem::path Stage::new_recording(const std::string& name) {
    return recordings_.emplace_back(folder_ / (name + ".jsonl"));
}

void Stage::start_server(std::size_t which) {
    Route& route = routes_[which];
    route.server.reset();
    // Restarts the server as an administrator would, because it exits if the store takes too long
    // to open.
    for (const auto give_up = SteadyClock::now() + 60s; route.server == nullptr;) {
        try {
            route.server = std::make_unique<command::Serving>(
                url_for_users(), std::vector<std::string>{"--events-poll", "200ms"},
                ground_.environment_of_users());
        } catch (const std::runtime_error&) {
            if (SteadyClock::now() > give_up) throw;
        }
    }
    if (!route.gate) {
        route.gate = std::make_unique<testing::TcpGate>("127.0.0.1", route.server->port());
    } else {
        route.gate->redirect(route.server->port());
    }
}

void Stage::start_application() {
    const std::string name = "application-" + std::to_string(++applications_);
    application_.reset();
    application_ = std::make_unique<testing::ChildProcess>(
        testing::Command{.arguments = {LEASEHOLD_LAB_LOAD, url_for_users(), name,
                                       std::to_string(seed_ * 10 + 5 + applications_),
                                       std::to_string(clients_of_application),
                                       std::to_string(keys_of_load), "common", new_recording(name)},
                         .environment = ground_.environment_of_users(),
                         .log = folder_ / (name + ".log")});
}

std::size_t Stage::grants() const {
    std::size_t all = 0;
    for (const Route& route : routes_) all += route.load ? route.load->grants() : 0;
    return all;
}

void Stage::end_load() {
    for (Route& route : routes_) route.load.reset();
    application_->terminate(60s);
    for (Route& route : routes_) route.server.reset();
}

}  // namespace leasehold::faults
