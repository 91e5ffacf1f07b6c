#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <leasehold/lease.hpp>

namespace leasehold::web {

// Somebody would like to have the lock.
struct Knock {
    std::string by{};
    std::string message{};
    Time at{};  // on the store's clock
};

// The knocks on locks, kept while their holders hold them. Known to this process only. Thread-safe.
class Knocks {
public:
    static constexpr std::size_t most_keys = 1'000;
    static constexpr std::size_t most_for_one_key = 10;
    static constexpr std::size_t longest_message = 200;  // in characters; the rest is cut off

    // Of the knocks of one owner, the latest is kept.
    void add(const std::vector<Holder>& holders, Knock knock);
    [[nodiscard]] std::vector<Knock> on(const Lease& lease);

private:
    struct Heard {
        Knock knock;
        std::vector<Fence> by;  // the leases that were knocked on
    };

    std::mutex mutex_;
    std::map<LockKey, std::vector<Heard>> doors_;  // guarded by mutex_
};

}  // namespace leasehold::web
