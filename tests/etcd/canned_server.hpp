#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace leasehold::testing {

// Answers HTTP requests with the same status, and with one body after the other; the last one
// is repeated.
class CannedServer {
public:
    CannedServer(int status, std::vector<std::string> bodies);
    CannedServer(int status, std::string body)
        : CannedServer{status, std::vector{std::move(body)}} {}
    CannedServer(const CannedServer&) = delete;
    CannedServer& operator=(const CannedServer&) = delete;
    ~CannedServer();

    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] int requests() const { return requests_; }
    // The latest request, with its headers.
    [[nodiscard]] std::string latest() const;

private:
    void serve(int status, const std::vector<std::string>& bodies);

    int listener_;
    std::uint16_t port_ = 0;
    std::atomic<int> requests_{0};
    mutable std::mutex mutex_;
    std::string latest_;  // guarded by mutex_
    std::thread thread_;
};

}  // namespace leasehold::testing
