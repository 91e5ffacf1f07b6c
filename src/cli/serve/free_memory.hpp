#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace leasehold::cli {

// Gives memory that the process has freed back to the system, while this lives. Without it the
// process stays as large as it was under its greatest load.
// 1. Large pieces of memory are asked of the system one by one, and go back when they are freed.
// 2. Every quarter of a minute, if the process has grown, the free pages between smaller pieces go
// back.
class FreeMemory {
public:
    FreeMemory();
    FreeMemory(const FreeMemory&) = delete;
    FreeMemory& operator=(const FreeMemory&) = delete;
    ~FreeMemory() = default;

private:
    void run(const std::stop_token& stop);

    std::mutex mutex_;
    std::condition_variable_any never_;
    std::jthread thread_;  // last: it uses the others
};

}  // namespace leasehold::cli
