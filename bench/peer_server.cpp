#include "peer_server.hpp"

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "connection.hpp"
#include "processes.hpp"

namespace leasehold::bench {
namespace {

using Clock = std::chrono::steady_clock;

std::string content_of(const std::filesystem::path& path) {
    std::ifstream file{path};
    return {std::istreambuf_iterator<char>{file}, {}};
}

testing::Command command(const PeerServer::CommandLine& command_line,
                         const std::filesystem::path& folder, std::uint16_t port) {
    testing::Command result;
    result.arguments = command_line(folder.string(), port);
    result.folder = folder;
    result.log = folder / "log";
    return result;
}

bool accepts(std::uint16_t port) {
    try {
        const Connection probe{port};
        return true;
    } catch (const std::system_error&) {
        return false;
    }
}

}  // namespace

PeerServer::PeerServer(const CommandLine& command_line)
    : folder_{"leasehold-compare"},
      port_{testing::free_port()},
      process_{command(command_line, folder_.path(), port_)} {
    constexpr std::chrono::seconds patience{30};
    for (const auto give_up = Clock::now() + patience; !accepts(port_);) {
        if (!process_.running() || Clock::now() > give_up) {
            throw std::runtime_error{"a server did not start: " +
                                     content_of(folder_.path() / "log")};
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
}

std::chrono::duration<double> PeerServer::processor_time() const {
    return std::chrono::duration<double>{processor_time_of(process_.pid())};
}

std::size_t PeerServer::resident_bytes() const {
    return resident_bytes_of(process_.pid());
}

PeerServer start_leasehold(std::string store, const std::vector<std::string>& options) {
    return PeerServer{[&](const std::string& folder, std::uint16_t port) {
        if (const std::size_t at = store.find("{}"); at != std::string::npos) {
            store.replace(at, 2, folder);
        }
        std::vector<std::string> line{LEASEHOLD_COMMAND,    "serve",   "--port",
                                      std::to_string(port), "--store", store};
        line.insert(line.end(), options.begin(), options.end());
        return line;
    }};
}

PeerServer start_redis(Persistence persistence) {
    return PeerServer{[&](const std::string& folder, std::uint16_t port) {
        const bool durable = persistence == Persistence::every_write;
        return std::vector<std::string>{"redis-server",
                                        "--bind",
                                        "127.0.0.1",
                                        "--port",
                                        std::to_string(port),
                                        "--dir",
                                        folder,
                                        "--save",
                                        "",
                                        "--appendonly",
                                        durable ? "yes" : "no",
                                        "--appendfsync",
                                        "always"};
    }};
}

PeerServer start_etcd() {
    return PeerServer{[](const std::string& folder, std::uint16_t port) {
        const std::string clients = "http://127.0.0.1:" + std::to_string(port);
        const std::string peers = "http://127.0.0.1:" + std::to_string(testing::free_port());
        return std::vector<std::string>{"etcd",
                                        "--name=peer",
                                        "--data-dir=" + folder + "/data",
                                        "--listen-client-urls=" + clients,
                                        "--advertise-client-urls=" + clients,
                                        "--listen-peer-urls=" + peers,
                                        "--initial-advertise-peer-urls=" + peers,
                                        "--initial-cluster=peer=" + peers,
                                        "--logger=zap",
                                        "--log-level=error"};
    }};
}

}  // namespace leasehold::bench
