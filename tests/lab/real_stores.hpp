#pragma once

#include <memory>
#include <string>

#include "lab/checker.hpp"
#include "support/tcp_gate.hpp"

namespace leasehold::lab {

// A store that speaks to a real server, through a gate. For one thread.
class RealStore {
public:
    RealStore() = default;
    RealStore(const RealStore&) = delete;
    RealStore& operator=(const RealStore&) = delete;
    virtual ~RealStore() = default;

    // Returns the URL of a new, empty store.
    [[nodiscard]] virtual std::string make() = 0;
    [[nodiscard]] virtual testing::TcpGate& gate() = 0;
    // Kills the server, and starts it again.
    virtual void crash() = 0;
    // The time between two lost answers. It is longer for a store whose connections take long to
    // open, so that the clients get work done.
    [[nodiscard]] virtual std::chrono::milliseconds between_lost_answers() const {
        return std::chrono::milliseconds{20};
    }
    [[nodiscard]] virtual Expectations expectations() const {
        return {.clock_drift = std::chrono::milliseconds{50}, .transactions_meet = true};
    }
};

// "postgres", "mysql", "mariadb", "etcd" or "http"; "distant" is PostgreSQL at a distance.
[[nodiscard]] std::unique_ptr<RealStore> start_real_store(const std::string& name);

}  // namespace leasehold::lab
