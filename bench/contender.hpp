#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace leasehold {
class LockManager;
}

namespace leasehold::bench {

using Seconds = std::chrono::duration<double>;

// The number of requests in a cycle.
inline constexpr double cycle_requests = 4;

// Something that does lock cycles: try, check, extend, release, on one key after the other.
struct Contender {
    Contender() = default;
    Contender(const Contender&) = delete;
    Contender& operator=(const Contender&) = delete;
    virtual ~Contender() = default;

    // Counts cycles up until told to stop, on keys that no other thread uses. Called by several
    // threads at once, each with its own number from 0 and its own counter.
    // Throws std::exception when anything but success comes back.
    virtual void run_cycles(std::size_t thread, const std::atomic<bool>& stop,
                            std::atomic<std::uint64_t>& cycles) = 0;

    // Where a server is asked: the processor time that its process has used so far, and how long a
    // request of the latest run took, of all but one in a hundred at most, and of half of them.
    [[nodiscard]] virtual std::optional<Seconds> processor_time() const { return std::nullopt; }
    [[nodiscard]] virtual std::optional<Seconds> p99() const { return std::nullopt; }
    [[nodiscard]] virtual std::optional<Seconds> p50() const { return std::nullopt; }
};

// For any number of threads. `locks` outlives it.
std::unique_ptr<Contender> make_leasehold(LockManager& locks);

// What one operation costs in a store with no lock logic around it; for one thread.
std::unique_ptr<Contender> make_floor_memory();
std::unique_ptr<Contender> make_floor_sqlite(const std::string& path);
std::unique_ptr<Contender> make_floor_postgres(const std::string& url);
std::unique_ptr<Contender> make_floor_mariadb(std::uint16_t port, const std::string& database);

// The pattern as its texts write it; for `threads` threads, each with its own connection.
std::unique_ptr<Contender> make_pattern_postgres(const std::string& url, std::size_t threads);
std::unique_ptr<Contender> make_pattern_mariadb(std::uint16_t port, const std::string& database,
                                                std::size_t threads);

}  // namespace leasehold::bench
