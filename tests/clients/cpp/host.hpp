#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

#include "support/process.hpp"

namespace leasehold::testing {

// A server behind a gate: tests/clients/host.py as a program that is controlled line by line.
class Host {
public:
    // `options` are those of `leasehold serve`.
    explicit Host(const boost::json::value& options);

    // A control is in effect when its call returns. Throws std::runtime_error.
    void gate(const boost::json::array& command) { control("gate", command); }
    void server(const boost::json::array& command) { control("server", command); }

    std::uint16_t gate_port() const { return gate_port_; }
    std::uint16_t server_port() const { return server_port_; }

private:
    boost::json::value control(const char* what, const boost::json::array& words);

    TemporaryFolder folder_;
    std::optional<ChildProcess> process_;
    std::ofstream to_host_;
    std::ifstream from_host_;
    std::uint16_t gate_port_ = 0;
    std::uint16_t server_port_ = 0;
};

}  // namespace leasehold::testing
