#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "locks/lock_desk.hpp"
#include "web/front_controller.hpp"

namespace customers {

struct ApplicationOptions {
    // One database for the data and the locks: a save and the end of its lock commit together.
    std::string database = "sqlite:customers.db";
    // on: the database itself refuses a write to a record that is being edited, by any program, if
    // the user of the database has the rights to install that.
    enum class Protection : std::uint8_t { off, on };
    Protection protection = Protection::off;
    leasehold::Duration ttl = std::chrono::minutes{2};
    leasehold::Duration session_timeout = std::chrono::minutes{30};
    std::function<leasehold::SteadyClock::time_point()> clock = leasehold::SteadyClock::now;
    // The host names that requests may use, without a port; empty: any. Protects against pages of
    // other sites whose host name was made to point here (DNS rebinding).
    std::vector<std::string> hosts{};
};

// The whole application except HTTP. Thread-safe. Its destructor ends all sessions.
class Application {
public:
    // Makes tables and sample data where they are missing.
    explicit Application(const ApplicationOptions& options);
    Application(const Application&) = delete;
    Application& operator=(const Application&) = delete;
    ~Application() { sessions_.end_all(); }

    [[nodiscard]] web::Response handle(kit::Request request) {
        return controller_.handle(std::move(request));
    }

    // Why the database does not refuse such writes although the options ask for it; else empty.
    [[nodiscard]] const std::string& unprotected_because() const { return unprotected_because_; }

    [[nodiscard]] LockDesk& desk() { return desk_; }
    [[nodiscard]] database::Pool& pool() { return pool_; }
    [[nodiscard]] kit::Sessions& sessions() { return sessions_; }

private:
    void protect(const std::string& database);

    std::string unprotected_because_{};
    database::Pool pool_;
    LockDesk desk_;
    kit::Sessions sessions_;
    web::FrontController controller_;
};

}  // namespace customers
