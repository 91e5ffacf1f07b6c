#pragma once

#include <boost/json/array.hpp>

#include <csignal>
#include <string>
#include <vector>

#include "server/client.hpp"
#include "support/process.hpp"

namespace leasehold::command {

// `leasehold serve` on a port of its own where none is named, until this ends.
class Serving {
public:
    // Returns when it is ready. Throws std::runtime_error with its log where it ends instead.
    explicit Serving(const std::string& store, std::vector<std::string> options = {},
                     std::vector<std::string> environment = {});

    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] std::string url() const;
    [[nodiscard]] testing::Client connect() const { return testing::Client{port_}; }

    [[nodiscard]] pid_t pid() const { return process_.pid(); }
    void signal(int number) { process_.signal(number); }
    void kill() { process_.kill_hard(); }
    int wait() { return process_.wait(); }
    // SIGTERM; returns the exit code.
    int stop();

    // All it said.
    [[nodiscard]] std::string output() const;
    // Waits for a line with this in it.
    [[nodiscard]] bool says(const std::string& text) const;
    // The lines of its log with this message, which must be JSON.
    [[nodiscard]] boost::json::array lines(const std::string& message) const;

private:
    testing::TemporaryFolder folder_;
    testing::ChildProcess process_;
    std::string host_;  // "http://127.0.0.1"
    std::uint16_t port_ = 0;
};

}  // namespace leasehold::command
