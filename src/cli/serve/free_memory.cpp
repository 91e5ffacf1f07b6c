#include "cli/serve/free_memory.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>
#include <utility>

#include "core/retry.hpp"

namespace leasehold::cli {
namespace {

constexpr int large_bytes = 128 * 1024;
constexpr std::chrono::seconds between_fillings{1};
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

// The free memory that the process keeps for its next allocations, including pieces whose pages
// were returned to the system.
std::size_t free_bytes() {
    return ::mallinfo2().fordblks;
}

// Memory kept for later. Small permanent pieces separate the large ones, so that the allocator
// keeps freed pieces in the process and cannot merge them for a large request.
template <std::size_t pieces, std::size_t bytes_of_a_piece>
class Reserve {
public:
    void fill() noexcept {
        if (filled_) return;
        for (Piece& piece : pieces_) {
            if (piece.freed == nullptr) piece.freed = std::malloc(bytes_of_a_piece);
            if (piece.kept == nullptr) piece.kept = std::malloc(kept_bytes);
        }
        filled_ = true;
    }
    void release() noexcept {
        if (!filled_.exchange(false)) return;
        for (Piece& piece : pieces_) std::free(std::exchange(piece.freed, nullptr));
    }

private:
    static constexpr std::size_t kept_bytes = 64;
    struct Piece {
        void* freed = nullptr;
        void* kept = nullptr;
    };
    std::array<Piece, pieces> pieces_{};
    std::atomic<bool> filled_{false};
};

// For what has to be done after an allocation has failed: the libraries need small pieces to
// unwind.
auto& reserve() {
    static Reserve<256, 1024> small;
    return small;
}

// For the end of the process. The pieces are never written, so they take hardly any memory of the
// machine until they are freed and used.
auto& reserve_for_the_end() {
    static Reserve<64, static_cast<std::size_t>(large_bytes) - 1024> large;
    return large;
}

// Called by operator new if there is no memory. Others may free some in a moment: waits a little.
// Every twentieth call of a thread lets the allocation fail, so that none waits for long.
void wait_for_memory() {
    constexpr RetryPolicy policy = retries::allocation;
    thread_local int calls = 0;
    if (++calls == policy.attempts) {
        calls = 0;
        reserve().release();
        throw std::bad_alloc{};
    }
    std::this_thread::sleep_for(policy.first_pause);
}

}  // namespace

FreeMemory::FreeMemory() {
    ::mallopt(M_MMAP_THRESHOLD, large_bytes);
    ::mallopt(M_TRIM_THRESHOLD, large_bytes);
    reserve_for_the_end().fill();
    reserve().fill();
    std::set_new_handler(wait_for_memory);
    thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
}

FreeMemory::~FreeMemory() {
    release_for_the_end();
}

void FreeMemory::release_for_the_end() noexcept {
    reserve_for_the_end().release();
}

void FreeMemory::run(const std::stop_token& stop) {
    std::size_t usual = resident_bytes();
    std::size_t usually_free = free_bytes();
    auto next_look = std::chrono::steady_clock::now() + between_looks;
    std::unique_lock lock{mutex_};
    while (!stop.stop_requested()) {
        never_.wait_for(lock, stop, between_fillings, [] { return false; });
        reserve().fill();
        if (std::chrono::steady_clock::now() < next_look) continue;
        next_look += between_looks;
        const std::size_t resident = resident_bytes();
        usual = std::min(usual, resident);
        const std::size_t free_now = free_bytes();
        usually_free = std::min(usually_free, free_now);
        // Memory that was freed after a load stays resident, so the process does not grow.
        const bool freed = free_now >= usually_free + worth_bytes;
        if (resident < usual + worth_bytes && !freed) continue;
        ::malloc_trim(0);
        usual = resident_bytes();
        usually_free = free_bytes();
    }
}

}  // namespace leasehold::cli
