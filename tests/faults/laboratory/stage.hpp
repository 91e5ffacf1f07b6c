#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command/serving.hpp"
#include "faults/bad_disk.hpp"
#include "faults/databases.hpp"
#include "faults/wall_clock.hpp"
#include "lab/load.hpp"
#include "support/private_etcd.hpp"
#include "support/tcp_gate.hpp"

namespace leasehold::faults {

// Whether wall clocks can be set, or the disk can fail. A process can have only one of the two.
enum class Wired : std::uint8_t { disk, clocks };

// A database for many rounds. Each round gets an empty one.
class Ground {
public:
    // "sqlite", "postgres", "mysql", "mariadb" or "etcd", which has three members.
    Ground(std::string store, Wired wired);

    [[nodiscard]] const std::string& store() const { return store_; }
    [[nodiscard]] Wired wired() const { return wired_; }
    [[nodiscard]] Database& database() { return *database_; }
    // nullptr if the store is a folder of files, or a cluster.
    [[nodiscard]] Server* server() { return server_; }
    // nullptr if the store is not a cluster.
    [[nodiscard]] testing::PrivateEtcd* cluster() { return cluster_.get(); }
    [[nodiscard]] WallClock& clock() { return clock_; }
    // The wall clock of the processes that use a database server.
    [[nodiscard]] WallClock& clock_of_users() { return clock_of_users_; }
    [[nodiscard]] BadDisk& disk() { return *disk_; }
    // The environment of the processes that use the database. If the store is a file, these
    // processes are the database.
    [[nodiscard]] std::vector<std::string> environment_of_users() const;

private:
    const std::string store_;
    const Wired wired_;
    WallClock clock_;
    WallClock clock_of_users_;
    std::unique_ptr<BadDisk> disk_;
    std::unique_ptr<testing::PrivateEtcd> cluster_;
    std::unique_ptr<Database> database_;
    Server* server_ = nullptr;

    [[nodiscard]] std::vector<std::string> environment() const;
};

// One store under load, with everything within reach that can fail:
//
//   clients ── gate ── leasehold serve ─┐
//   clients ── gate ── leasehold serve ─┼── gate ── database
//   a process with the library in it ───┘
//
// All that clients ask and hear is in files of the folder. For one thread.
class Stage {
public:
    Stage(Ground& ground, std::uint64_t seed, std::filesystem::path folder);
    ~Stage();
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;

    static constexpr std::size_t servers = 2;

    [[nodiscard]] Ground& ground() { return ground_; }
    [[nodiscard]] std::unique_ptr<Session> connect() { return ground_.database().connect(name_); }

    [[nodiscard]] command::Serving& serving(std::size_t which) { return *routes_[which].server; }
    [[nodiscard]] testing::TcpGate& before_server(std::size_t which) {
        return *routes_[which].gate;
    }
    // One for each member of a cluster; none where the database is a file.
    [[nodiscard]] std::vector<testing::TcpGate*> before_store() const;
    void start_server(std::size_t which);

    [[nodiscard]] testing::ChildProcess& application() { return *application_; }
    void start_application();

    // The number of grants acknowledged to the servers' clients so far.
    [[nodiscard]] std::size_t grants() const;
    // Ends clients, servers and the application.
    void end_load();

    // The URL of the database itself, without a gate.
    [[nodiscard]] std::string url() const { return ground_.database().url(name_); }
    [[nodiscard]] std::vector<std::filesystem::path> recordings() const { return recordings_; }

private:
    struct Route {
        std::unique_ptr<command::Serving> server;
        std::unique_ptr<testing::TcpGate> gate;
        std::unique_ptr<lab::Load> load;
    };

    [[nodiscard]] std::string url_for_users() const;
    [[nodiscard]] std::filesystem::path new_recording(const std::string& name);

    Ground& ground_;
    const std::uint64_t seed_;
    const std::filesystem::path folder_;
    const std::string name_;
    std::vector<std::unique_ptr<testing::TcpGate>> before_store_;
    std::vector<Route> routes_;
    std::unique_ptr<testing::ChildProcess> application_;
    std::size_t applications_ = 0;
    std::vector<std::filesystem::path> recordings_;
};

// The number of keys that the clients compete for.
inline constexpr std::size_t keys_of_load = 6;

}  // namespace leasehold::faults
