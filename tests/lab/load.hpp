#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <leasehold/lock_manager.hpp>
#include <leasehold/store.hpp>

#include "lab/recorder.hpp"

namespace leasehold::lab {

struct LoadOptions {
    std::string url{};
    // The names of the clients begin with this, followed by their number. It says how they connect.
    std::string name = "client";
    std::uint64_t seed = 1;
    std::size_t clients = 4;
    std::size_t keys = 6;
    // The longest pause between an answer and the next request. It leaves time for the other tests.
    // More requests would find no more: a fault meets the requests that are under way.
    Duration longest_pause = std::chrono::milliseconds{16};
    std::filesystem::path record{};
    // each: every client has its own connection; common: all clients share one LockManager, with
    // its batches.
    enum class Connections : std::uint8_t { each, common } connections = Connections::each;
};

// Clients that send requests until this object is destroyed. Everything is recorded. The store may
// become unreachable at any time.
class Load {
public:
    explicit Load(LoadOptions options);
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;
    ~Load();

    // The number of grants that were acknowledged so far.
    [[nodiscard]] std::size_t grants() const { return grants_; }

private:
    [[nodiscard]] std::unique_ptr<Store> open();
    void work(const std::stop_token& stop, std::size_t number);

    const LoadOptions options_;
    const std::shared_ptr<Recorder> recorder_;
    std::mutex mutex_;
    std::shared_ptr<LockManager> manager_;  // of all; made under mutex_ once the store is in reach
    std::atomic<std::size_t> grants_{0};
    std::vector<std::jthread> threads_;
};

}  // namespace leasehold::lab
