#pragma once

#include <gtest/gtest.h>

#include <leasehold/stores/memory.hpp>

#include <memory>
#include <thread>
#include <utility>

#include "server/client.hpp"
#include "server/server.hpp"
#include "unit/waiting.hpp"

namespace leasehold::testing {

inline const LockKey order{"Order", "1"};

// A server that runs on a port of its own, in a thread of this process, until this ends.
class RunningServer {
public:
    explicit RunningServer(std::unique_ptr<Store> store, server::ServerOptions options = {},
                           Limits limits = {})
        : locks_{std::move(store), limits}, server_{locks_, on_any_port(std::move(options))} {
        thread_ = std::jthread{[this] { server_.run(); }};
    }
    RunningServer(const RunningServer&) = delete;
    RunningServer& operator=(const RunningServer&) = delete;
    ~RunningServer() { stop(); }

    // Returns when everything under way has been answered.
    void stop() {
        begin_stop();
        if (thread_.joinable()) thread_.join();
    }
    void begin_stop() { server_.stop(); }
    void use(std::shared_ptr<const server::Tokens> tokens) { server_.use(std::move(tokens)); }
    void use(std::shared_ptr<const server::TlsIdentity> identity) {
        server_.use(std::move(identity));
    }

    [[nodiscard]] Client connect() const { return Client{server_.port()}; }
    [[nodiscard]] std::uint16_t port() const { return server_.port(); }
    [[nodiscard]] bool waits_for(std::size_t waiters) const {
        return eventually([&] { return server_.waiting() == waiters; });
    }
    [[nodiscard]] bool has_connections(std::size_t connections) const {
        return eventually([&] { return server_.connections() == connections; });
    }
    [[nodiscard]] std::size_t listening() const { return server_.listening(); }
    [[nodiscard]] bool listened_to_by(std::size_t clients) const {
        return eventually([&] { return listening() == clients; });
    }
    [[nodiscard]] LockManager& locks() { return locks_; }

private:
    static server::ServerOptions on_any_port(server::ServerOptions options) {
        options.port = 0;
        return options;
    }

    LockManager locks_;
    server::Server server_;
    std::jthread thread_;
};

class ServerTest : public ::testing::Test {
protected:
    RunningServer server_{memory::open()};
};

}  // namespace leasehold::testing
