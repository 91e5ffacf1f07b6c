#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <leasehold/key_set.hpp>
#include <leasehold/lease.hpp>

namespace leasehold::server {

// The latest refused tries. Repeated tries of one owner for one key share an entry for some time,
// so that one impatient client does not displace the other entries. Not thread-safe.
class RefusedTries {
public:
    // How long tries after the first one are added to its entry.
    static constexpr std::chrono::seconds one_entry{10};

    struct Entry {
        LockKey key;
        std::string owner{};
        Time first{};  // on the store's clock
        Time last{};
        std::uint64_t tries = 1;
    };

    explicit RefusedTries(std::size_t most) : most_{most} {}

    void add(const LockKey& key, std::string_view owner, Time at);

    // The entries of one key, or of all of these keys, latest first. Ends like a page, where the
    // entries would exceed Limits::page_bytes.
    [[nodiscard]] std::vector<Entry> latest(const std::optional<LockKey>& key, std::size_t most,
                                            const KeySet& among = {}) const;

private:
    const std::size_t most_;
    std::deque<Entry> entries_;                               // at most most_
    std::uint64_t dropped_ = 0;                               // entries_[i] is number dropped_ + i
    std::unordered_map<std::size_t, std::uint64_t> numbers_;  // by hash of key and owner
};

}  // namespace leasehold::server
