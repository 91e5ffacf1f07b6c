#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <leasehold/store.hpp>

#include "server/monitoring/observer.hpp"

namespace leasehold::server {

struct ServerOptions;

// How many leases were alive in the store, and when that was.
struct HeldCount {
    std::size_t leases = 0;
    std::chrono::system_clock::time_point at{};
};

// How full the server is at one moment.
struct Levels {
    std::size_t requests = 0;      // being answered
    std::size_t with_store = 0;    // calls that the store works on
    std::size_t queued_keeps = 0;  // renewals, releases, ... that queue for it
    std::size_t queued_tries = 0;  // and others
    std::size_t waiters = 0;       // tries that wait for their key
    std::size_t lines = 0;         // keys that are waited for
    std::size_t listeners = 0;     // clients that follow the events
    std::optional<HeldCount> held{};
    StoreStatus store{};
};

// Counts what a server does, for Prometheus. Thread-safe; what it counts with every request costs a
// few relaxed additions. Its labels have few values, and none names a key, an owner or a secret.
class Metrics final : public Observer {
public:
    explicit Metrics(std::string version);
    ~Metrics() override;

    // In Prometheus's text format.
    [[nodiscard]] std::string text(const Levels& now, const ServerOptions& options) const;
    static constexpr std::string_view content_type = "text/plain; version=0.0.4; charset=utf-8";

    void served(const Served& request) noexcept override;
    void answered(const Request& request, const Outcome& outcome) noexcept override;
    void batch_applied(const Batch& batch) noexcept override;
    void store_failed(const StoreFault& fault) noexcept override;
    void happened(ConnectionEvent event) noexcept override;

private:
    struct Counts;

    const std::string version_;
    std::unique_ptr<Counts> counts_;
};

}  // namespace leasehold::server
