#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace leasehold::cli {

// Keeps house with the memory of the process, from its construction on. Without it the process
// stays as large as it was under its greatest load, and may end when there is no memory left.
// 1. Large pieces of memory are asked of the system one by one, and go back when they are freed.
// 2. Every quarter of a minute, if the process has grown or has freed much, the free pages between
//    smaller pieces go back.
// 3. If an allocation fails, the thread waits up to 20 milliseconds for others to free memory. If
//    the allocation fails at last (std::bad_alloc), a reserve is freed for the work that follows.
// 4. A larger reserve is freed when the process receives SIGTERM, because some libraries cannot
//    clean up without memory.
class FreeMemory {
public:
    FreeMemory();
    FreeMemory(const FreeMemory&) = delete;
    FreeMemory& operator=(const FreeMemory&) = delete;
    ~FreeMemory();

    // Step 4. Called once, before the server stops. Needs no memory.
    void release_for_the_end() noexcept;

private:
    void run(const std::stop_token& stop);

    std::mutex mutex_;
    std::condition_variable_any never_;
    std::jthread thread_;  // last: it uses the others
};

}  // namespace leasehold::cli
