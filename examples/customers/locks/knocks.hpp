#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <leasehold/lease.hpp>

namespace customers {

// Somebody would like to have the lock.
struct Knock {
    std::string by{};
    std::string message{};
    leasehold::Time at{};
};

// The knocks on locks, kept while their holders hold them. Thread-safe; known to this process only,
// as the WaitingLine is.
class Knocks {
public:
    static constexpr std::size_t most_keys = 1'000;
    static constexpr std::size_t most_for_one_key = 10;
    static constexpr std::size_t longest_message = 200;  // in characters

    // Of the knocks of one person, the latest is kept.
    void add(const std::vector<leasehold::Holder>& holders, const Knock& knock);
    [[nodiscard]] std::vector<Knock> on(const leasehold::Lease& lease);

private:
    struct Heard {
        Knock knock;
        std::vector<leasehold::Fence> by;  // the leases that were knocked on
    };

    std::mutex mutex_;
    std::map<leasehold::LockKey, std::vector<Heard>> doors_;  // guarded by mutex_
};

}  // namespace customers
