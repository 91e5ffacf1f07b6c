#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <leasehold/store.hpp>

#include "server/quota.hpp"

namespace leasehold::server {

// The number of live leases in the store at a moment.
struct HeldCount {
    // Counting stops here.
    static constexpr std::size_t most = 200'000;

    std::size_t leases = 0;
    std::chrono::system_clock::time_point at{};
};

// How full the server is at one moment.
struct Levels {
    std::size_t requests = 0;      // being answered
    std::size_t with_store = 0;    // requests that the store works on
    std::size_t queued_keeps = 0;  // queued requests that keep or end a lease
    std::size_t queued_tries = 0;  // other queued requests
    std::size_t waiters = 0;       // tries that wait for their key
    std::size_t lines = 0;         // keys with waiting tries
    std::size_t listeners = 0;     // clients that follow the events
    // Of the audit, since the start; 0 without an audit.
    std::uint64_t audit_lines_written = 0;
    std::uint64_t audit_lines_lost = 0;
    std::optional<HeldCount> held{};
    QuotaLevels quotas{};
    StoreStatus store{};
};

}  // namespace leasehold::server
