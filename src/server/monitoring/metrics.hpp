#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <leasehold/store.hpp>

#include "server/monitoring/levels.hpp"
#include "server/monitoring/observer.hpp"

namespace leasehold::server {

struct ServerOptions;

// Counts what a server does, for Prometheus. Thread-safe. A request costs a few relaxed additions.
// Labels have few values, and no label names a key, an owner or a secret.
class Metrics final : public Observer {
public:
    explicit Metrics(std::string version);
    ~Metrics() override;

    // In Prometheus's text format.
    [[nodiscard]] std::string text(const Levels& now, const ServerOptions& options) const;
    static constexpr std::string_view content_type = "text/plain; version=0.0.4; charset=utf-8";

    void served(const Served& request) noexcept override;
    void answered(const Answered& answered) override;
    void batch_applied(const Batch& batch) noexcept override;
    void store_failed(const StoreFault& fault) noexcept override;
    void happened(ConnectionEvent event) noexcept override;

private:
    struct Counts;

    const std::string version_;
    std::unique_ptr<Counts> counts_;
};

}  // namespace leasehold::server
