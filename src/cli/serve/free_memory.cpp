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

// Memory for what has to be done after an allocation has failed: the libraries need small pieces to
// unwind. Its pieces lie between others that are kept, so that no large request can use them up.
class Reserve {
public:
    void fill() noexcept {
        if (filled_) return;
        for (Piece& piece : pieces_) {
            if (piece.kept == nullptr) piece.kept = std::malloc(piece_bytes);
            piece.freed = std::malloc(piece_bytes);
        }
        filled_ = true;
    }
    void release() noexcept {
        if (!filled_.exchange(false)) return;
        for (Piece& piece : pieces_) std::free(std::exchange(piece.freed, nullptr));
    }

private:
    static constexpr std::size_t piece_bytes = 1024;
    struct Piece {
        void* freed = nullptr;
        void* kept = nullptr;
    };
    std::array<Piece, 256> pieces_{};
    std::atomic<bool> filled_{false};
};

Reserve& reserve() {
    static Reserve all;
    return all;
}

// Called by operator new if there is no memory. Others may free some in a moment: waits a little
// before the allocation fails.
void wait_for_memory() {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds pause{1};
    constexpr int most_pauses = 20;
    thread_local int pauses = 0;
    thread_local Clock::time_point last{};
    const auto now = Clock::now();
    if (now > last + 10 * pause) pauses = 0;
    if (++pauses > most_pauses) {
        pauses = 0;
        reserve().release();
        throw std::bad_alloc{};
    }
    std::this_thread::sleep_for(pause);
    last = Clock::now();
}

}  // namespace

FreeMemory::FreeMemory() {
    ::mallopt(M_MMAP_THRESHOLD, large_bytes);
    ::mallopt(M_TRIM_THRESHOLD, large_bytes);
    reserve().fill();
    std::set_new_handler(wait_for_memory);
    thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
}

void FreeMemory::run(const std::stop_token& stop) {
    std::size_t usual = resident_bytes();
    auto next_look = std::chrono::steady_clock::now() + between_looks;
    std::unique_lock lock{mutex_};
    while (!stop.stop_requested()) {
        never_.wait_for(lock, stop, between_fillings, [] { return false; });
        reserve().fill();
        if (std::chrono::steady_clock::now() < next_look) continue;
        next_look += between_looks;
        const std::size_t resident = resident_bytes();
        usual = std::min(usual, resident);
        if (resident < usual + worth_bytes) continue;
        ::malloc_trim(0);
        usual = resident_bytes();
    }
}

}  // namespace leasehold::cli
