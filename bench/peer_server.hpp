#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "support/process.hpp"

namespace leasehold::bench {

// A server process of our own on a port of 127.0.0.1, with its files in a temporary folder; it ends
// with this.
class PeerServer {
public:
    // The command line for a folder and a port.
    using CommandLine = std::function<std::vector<std::string>(const std::string&, std::uint16_t)>;

    // Returns when it accepts connections. Throws std::runtime_error with its log where it does
    // not.
    explicit PeerServer(const CommandLine& command_line);

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    // What its process has used since it was started.
    [[nodiscard]] std::chrono::duration<double> processor_time() const;
    [[nodiscard]] std::size_t resident_bytes() const;
    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_.path(); }

private:
    testing::TemporaryFolder folder_;
    std::uint16_t port_;
    testing::ChildProcess process_;
};

// `leasehold serve` on a store; "{}" in the URL is the server's folder.
[[nodiscard]] PeerServer start_leasehold(std::string store,
                                         const std::vector<std::string>& options = {});

enum class Persistence : std::uint8_t {
    none,         // nothing is written
    every_write,  // appendfsync always
};
[[nodiscard]] PeerServer start_redis(Persistence persistence);
[[nodiscard]] PeerServer start_etcd();

}  // namespace leasehold::bench
