#include "peer_server.hpp"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "connection.hpp"

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
    const std::string stat = content_of("/proc/" + std::to_string(process_.pid()) + "/stat");
    // Behind the name, which may have spaces: state is the third field, utime and stime are the
    // 14th and the 15th.
    std::istringstream fields{stat.substr(stat.rfind(')') + 1)};
    std::string skipped;
    for (int field = 3; field < 14; ++field) fields >> skipped;
    double user = 0;
    double system = 0;
    fields >> user >> system;
    return std::chrono::duration<double>{(user + system) /
                                         static_cast<double>(::sysconf(_SC_CLK_TCK))};
}

std::size_t PeerServer::resident_bytes() const {
    std::istringstream fields{content_of("/proc/" + std::to_string(process_.pid()) + "/statm")};
    std::size_t all = 0;
    std::size_t resident = 0;
    fields >> all >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
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
