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
    // Of the clients, before their number: which way they take.
    std::string name = "client";
    std::uint64_t seed = 1;
    std::size_t clients = 4;
    std::size_t keys = 6;
    // Between an answer and the next question, at most. Long enough that the processors have time
    // for the other tests: a fault is felt by the requests that are under way, however many come.
    Duration longest_pause = std::chrono::milliseconds{16};
    std::filesystem::path record{};
    // each: a connection for each client; common: one LockManager for all, with its batches.
    enum class Connections : std::uint8_t { each, common } connections = Connections::each;
};

// Clients that ask and ask until this ends, everything recorded. The store may be out of reach at
// any time.
class Load {
public:
    explicit Load(LoadOptions options);
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;
    ~Load();

    // Acknowledged so far.
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
