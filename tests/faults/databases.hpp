#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <leasehold/leasehold.hpp>

#include "support/private_server.hpp"
#include "support/process.hpp"

// The databases that the fault tests break, and plain connections to them.
namespace leasehold::faults {

using namespace std::chrono_literals;

using Effect = StoreFault::Effect;
using Cause = StoreFault::Cause;

using Rows = std::vector<std::vector<std::string>>;

// A client notices a cut connection at once, and a silent peer after this time.
constexpr auto io_timeout = 1s;
// A call can wait once for an answer and once for a new connection. The rest is a margin for a busy
// machine.
constexpr auto a_call_ends_within = 2 * io_timeout + 6s;

// A plain connection of somebody else's program, without Leasehold. Not thread-safe.
class Session {
public:
    Session() = default;
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    virtual ~Session() = default;

    // One statement. Throws std::runtime_error with the database's message.
    virtual Rows run(const std::string& sql) = 0;

    // Calls guard() of the store's own header, in the transaction that is open here.
    [[nodiscard]] virtual Result<Lease> guard(const LockKey& key, LockId lock_id) = 0;
    virtual Result<Lease> release(const LockKey& key, LockId lock_id) = 0;

    // Begins a transaction and locks the key's row in it.
    void begin_and_lock(const LockKey& key);
};

// A server, or for SQLite a folder of files.
class Database {
public:
    Database() = default;
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;
    virtual ~Database() = default;

    // Makes an empty database, and returns its name.
    [[nodiscard]] virtual std::string make() = 0;
    [[nodiscard]] virtual std::string url(const std::string& name) const = 0;
    [[nodiscard]] virtual std::unique_ptr<Session> connect(const std::string& name) = 0;
};

class Server : public Database {
public:
    using Database::url;
    // The URL through another port, such as a gate's.
    [[nodiscard]] virtual std::string url(const std::string& name, std::uint16_t port) const = 0;
    [[nodiscard]] virtual std::uint16_t port() const = 0;
    virtual void kill() = 0;
    virtual void start() = 0;
    virtual void pause() = 0;
    virtual void resume() = 0;
};

[[nodiscard]] std::unique_ptr<Session> connect_to_postgres(const std::string& url);
[[nodiscard]] std::unique_ptr<Database> make_sqlite_folder();
[[nodiscard]] std::unique_ptr<Server> start_postgres(testing::PrivateServerOptions options = {});
[[nodiscard]] std::unique_ptr<Server> start_mariadb(testing::PrivateServerOptions options = {});
[[nodiscard]] std::unique_ptr<Server> start_mysql(testing::PrivateServerOptions options = {});

// A database that a suite runs on. Every test is named "Suite.Test/store".
template <class D>
struct On {
    const char* store;
    std::function<D&()> database;  // one for the whole process, made at the first call
    std::function<std::unique_ptr<D>(testing::PrivateServerOptions)> make;
};

template <class D>
void PrintTo(const On<D>& on, std::ostream* out) {
    *out << on.store;
}

[[nodiscard]] const On<Server>& on_postgres();
[[nodiscard]] const On<Server>& on_mariadb();
[[nodiscard]] const On<Server>& on_mysql();
[[nodiscard]] std::vector<On<Server>> every_server();
[[nodiscard]] std::vector<On<Database>> every_database();

[[nodiscard]] inline auto by_store() {
    return [](const auto& info) { return std::string{info.param.store}; };
}

// A test with an empty database of its own.
template <class D>
class FaultTest : public ::testing::TestWithParam<On<D>> {
protected:
    D& database() { return database_; }
    const std::string& name() const { return name_; }
    std::string url(const std::string& options = "") const {
        return database_.url(name_) + (options.empty() ? "" : "?" + options);
    }
    std::unique_ptr<Session> connect() { return database_.connect(name_); }

private:
    D& database_ = this->GetParam().database();
    std::string name_ = database_.make();
};

using ServerTest = FaultTest<Server>;
using DatabaseTest = FaultTest<Database>;

// Waits for a condition. Returns false if it did not become true in time.
[[nodiscard]] bool eventually(const std::function<bool()>& condition,
                              std::chrono::milliseconds patience = 60s);

// Repeats the call until the store answers without a fault. After `patience` it throws the last
// fault.
template <class Ask>
auto ask_until_answered(Ask ask, std::chrono::milliseconds patience = 60s) {
    const auto deadline = SteadyClock::now() + patience;
    for (;;) {
        try {
            return ask();
        } catch (const StoreFault&) {
            if (SteadyClock::now() > deadline) throw;
        }
        std::this_thread::sleep_for(5ms);
    }
}

[[nodiscard]] ::testing::AssertionResult is_gone(const Result<Lease>& answer, Gone reason);

}  // namespace leasehold::faults
