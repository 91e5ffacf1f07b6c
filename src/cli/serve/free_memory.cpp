#include "cli/serve/free_memory.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>

namespace leasehold::cli {
namespace {

constexpr int large_bytes = 128 * 1024;
constexpr std::chrono::seconds between_looks{15};
// Growth by less than this is not worth the work.
constexpr std::size_t worth_bytes = 8U * 1024 * 1024;

std::size_t resident_bytes() {
    std::FILE* const file = std::fopen("/proc/self/statm", "re");
    if (file == nullptr) return 0;
    std::size_t all = 0;
    std::size_t resident = 0;
    const int read = std::fscanf(file, "%zu %zu", &all, &resident);
    std::fclose(file);
    return read == 2 ? resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace

FreeMemory::FreeMemory() {
    ::mallopt(M_MMAP_THRESHOLD, large_bytes);
    ::mallopt(M_TRIM_THRESHOLD, large_bytes);
    thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
}

void FreeMemory::run(const std::stop_token& stop) {
    std::size_t usual = resident_bytes();
    std::unique_lock lock{mutex_};
    while (!stop.stop_requested()) {
        never_.wait_for(lock, stop, between_looks, [] { return false; });
        const std::size_t resident = resident_bytes();
        usual = std::min(usual, resident);
        if (resident < usual + worth_bytes) continue;
        ::malloc_trim(0);
        usual = resident_bytes();
    }
}

}  // namespace leasehold::cli
