#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace leasehold::bench {

// How long a lease is taken for, and extended by, in every contender.
inline constexpr std::chrono::minutes cycle_ttl{5};
inline constexpr std::chrono::minutes cycle_extension{1};

// Every key's type.
inline constexpr const char* cycle_type = "Order";

// The id of a thread's kth cycle: "<thread>-<k mod 1000>".
std::string cycle_id(std::size_t thread, std::uint64_t k);

// Throws std::runtime_error naming the step, unless it did what it should: a contender that fails
// fast must not win.
void expect(bool done, const char* step);

template <class Cycle>
void count_cycles(std::size_t thread, const std::atomic<bool>& stop,
                  std::atomic<std::uint64_t>& cycles, Cycle cycle) {
    for (std::uint64_t k = 0; !stop.load(std::memory_order_relaxed); ++k) {
        cycle(cycle_id(thread, k));
        cycles.store(k + 1, std::memory_order_relaxed);
    }
}

}  // namespace leasehold::bench
