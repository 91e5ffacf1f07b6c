#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace leasehold::testing {

// Answers every HTTP request with the same status and body.
class CannedServer {
public:
    CannedServer(int status, std::string body);
    CannedServer(const CannedServer&) = delete;
    CannedServer& operator=(const CannedServer&) = delete;
    ~CannedServer();

    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] int requests() const { return requests_; }

private:
    void serve(const std::string& answer);

    int listener_;
    std::uint16_t port_ = 0;
    std::atomic<int> requests_{0};
    std::thread thread_;
};

}  // namespace leasehold::testing
