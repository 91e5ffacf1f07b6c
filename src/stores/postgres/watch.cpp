#include "stores/postgres/watch.hpp"

#include <libpq-fe.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stores/postgres/connection.hpp"
#include "stores/postgres/waits.hpp"

namespace leasehold::postgres {
namespace {

using namespace std::chrono_literals;

// PostgreSQL's default of max_locks_per_transaction, minus some for locks that are not on keys.
constexpr std::size_t most_locks = 60;
// After this time without a notification the watch makes sure that the connection still works.
constexpr Duration longest_silence = 30s;

StoreFault lost(const std::string& why) {
    return {StoreFault::Effect::none, StoreFault::Cause::unavailable, "postgres: " + why};
}

// Something to wait for that a stop token sets.
class Bell {
public:
    Bell() : event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
        if (event_ < 0) throw lost("no file descriptor is free for a watch");
    }
    Bell(const Bell&) = delete;
    Bell& operator=(const Bell&) = delete;
    ~Bell() { ::close(event_); }

    void ring() const noexcept {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(event_, &one, sizeof one);
    }
    void reset() const noexcept {
        std::uint64_t count = 0;
        [[maybe_unused]] const auto read = ::read(event_, &count, sizeof count);
    }
    [[nodiscard]] int descriptor() const noexcept { return event_; }

private:
    int event_;
};

class Watch final : public StoreWatch {
public:
    Watch(std::string conninfo, Duration io_timeout)
        : conninfo_{std::move(conninfo)}, io_timeout_{io_timeout} {}

    [[nodiscard]] std::vector<LockKey> wait(std::span<const LockKey> keys,
                                            const std::stop_token& stop) override {
        bell_.reset();
        const std::stop_callback on_stop{stop, [this] { bell_.ring(); }};
        try {
            if (!connection_ && !has_pooler_) connect();
            if (has_pooler_) {
                (void)see(-1, 0, SteadyClock::time_point::max());
                return {};
            }
            std::vector<LockKey> added = watch_only(keys);
            if (!added.empty()) return added;
            return next_notified();
        } catch (const Stopped&) {
            return {};
        }
    }

private:
    struct Stopped {};
    enum class Seen : std::uint8_t { input, nothing };

    // Waits for the socket. Throws Stopped if the bell rings.
    [[nodiscard]] Seen see(int socket, short events, SteadyClock::time_point deadline) const {
        for (;;) {
            const auto now = SteadyClock::now();
            if (deadline <= now) return Seen::nothing;
            constexpr Duration longest = 1min;
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(
                std::min<Duration>(longest, std::chrono::floor<Duration>(deadline - now)));
            std::array<pollfd, 2> waits{pollfd{bell_.descriptor(), POLLIN, 0},
                                        pollfd{socket, events, 0}};
            const int ready = ::poll(waits.data(), waits.size(), static_cast<int>(left.count()));
            if (ready < 0 && errno != EINTR) throw lost("poll failed");
            if (ready <= 0) continue;
            if (waits[0].revents != 0) throw Stopped{};
            return Seen::input;
        }
    }

    void connect() {
        const auto deadline = SteadyClock::now() + io_timeout_;
        ConnectionHandle fresh = begin_to_connect(conninfo_, io_timeout_);
        for (PostgresPollingStatusType next = PGRES_POLLING_WRITING; next != PGRES_POLLING_OK;
             next = PQconnectPoll(fresh.get())) {
            if (PQstatus(fresh.get()) == CONNECTION_BAD || next == PGRES_POLLING_FAILED) {
                throw lost(PQerrorMessage(fresh.get()));
            }
            const short events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT;
            if (see(PQsocket(fresh.get()), events, deadline) == Seen::nothing) {
                throw lost("no answer in time to the connection of a watch");
            }
        }
        if (PQsetnonblocking(fresh.get(), 1) != 0) throw lost(PQerrorMessage(fresh.get()));
        watched_.clear();
        locked_ = 0;
        has_lock_of_all_ = false;
        connection_ = std::move(fresh);
        const std::int64_t process = run("select pg_backend_pid()").integer(0, 0);
        has_pooler_ = process != PQbackendPID(connection_.get());
        if (has_pooler_) return connection_.reset();
        run(std::string{"listen "} + sql::channel);
        lock(sql::any_watch);
    }

    void lock(const std::string& number) {
        run("select pg_advisory_lock_shared(" + sql::watches + ", " + number + ") is null");
    }

    // Runs a statement. If that fails, or is stopped, the connection is closed.
    Rows run(const std::string& statement, const Parameters& parameters = {}) try {
        const auto deadline = SteadyClock::now() + io_timeout_;
        PGconn* const connection = connection_.get();
        const Parameters::Bound bound = parameters.bound();
        if (PQsendQueryParams(connection, statement.c_str(), bound.count(), nullptr,
                              bound.values.data(), bound.lengths.data(), bound.formats.data(),
                              binary_format) == 0) {
            throw lost(PQerrorMessage(connection));
        }
        std::optional<Rows> rows;
        for (;;) {
            const int unsent = PQflush(connection);
            if (unsent < 0) throw lost(PQerrorMessage(connection));
            if (unsent > 0 || PQisBusy(connection) != 0) {
                const auto events = static_cast<short>(POLLIN | (unsent > 0 ? POLLOUT : 0));
                if (see(PQsocket(connection), events, deadline) == Seen::nothing) {
                    throw lost("no answer in time to a watch");
                }
                consume();
                continue;
            }
            PGresult* const result = PQgetResult(connection);
            if (result == nullptr) break;
            rows.emplace(result);
            const ExecStatusType status = PQresultStatus(result);
            if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
                throw lost(PQresultErrorMessage(result));
            }
        }
        if (!rows) throw lost(PQerrorMessage(connection));
        return *std::move(rows);
    } catch (...) {
        connection_.reset();
        throw;
    }

    void consume() const {
        if (PQconsumeInput(connection_.get()) == 0) throw lost(PQerrorMessage(connection_.get()));
    }

    // Watches these keys and no others. Returns the keys that were not watched before.
    std::vector<LockKey> watch_only(std::span<const LockKey> keys) {
        const std::set<LockKey> wanted{keys.begin(), keys.end()};
        std::vector<std::int64_t> unlocked;
        std::erase_if(watched_, [&](const auto& watched) {
            const auto& [key, place] = watched;
            if (wanted.contains(key)) return false;
            if (place.is_locked) unlocked.push_back(place.number);
            return true;
        });
        if (!unlocked.empty()) {
            run(sql::stop_watching, Parameters{}.integers(unlocked));
            locked_ -= unlocked.size();
        }
        std::vector<LockKey> added;
        std::ranges::copy_if(wanted, std::back_inserter(added),
                             [&](const LockKey& key) { return !watched_.contains(key); });
        if (added.empty()) return added;
        const std::size_t locks = std::min(added.size(), most_locks - locked_);
        const bool needs_all = locks < added.size();
        if (needs_all && !std::exchange(has_lock_of_all_, true)) lock(sql::watch_of_all);
        const Rows numbers = run(sql::watch_keys, Parameters{}
                                                      .texts(added, &LockKey::type)
                                                      .texts(added, &LockKey::id)
                                                      .integer(static_cast<std::int64_t>(locks)));
        for (std::size_t i = 0; i < added.size(); ++i) {
            watched_.insert_or_assign(added[i],
                                      Place{numbers.integer(static_cast<int>(i), 0), i < locks});
        }
        locked_ += locks;
        return added;
    }

    std::vector<LockKey> next_notified() try {
        auto silent_until = SteadyClock::now() + longest_silence;
        for (;;) {
            std::vector<LockKey> notified = take_notified();
            if (!notified.empty()) return notified;
            if (see(PQsocket(connection_.get()), POLLIN, silent_until) == Seen::input) {
                consume();
            } else {
                run("select 1");
                silent_until = SteadyClock::now() + longest_silence;
            }
        }
    } catch (const StoreFault&) {
        connection_.reset();
        throw;
    }

    std::vector<LockKey> take_notified() {
        std::set<std::int64_t> numbers;
        struct Free {
            void operator()(PGnotify* notification) const noexcept { PQfreemem(notification); }
        };
        while (const std::unique_ptr<PGnotify, Free> next{PQnotifies(connection_.get())}) {
            numbers.insert(std::strtoll(next->extra, nullptr, 10));
        }
        std::vector<LockKey> keys;
        if (numbers.empty()) return keys;
        for (const auto& [key, place] : watched_) {
            if (numbers.contains(place.number)) keys.push_back(key);
        }
        return keys;
    }

    struct Place {
        std::int64_t number;
        bool is_locked;
    };

    const std::string conninfo_;
    const Duration io_timeout_;
    const Bell bell_;
    ConnectionHandle connection_;
    std::map<LockKey, Place> watched_;
    std::size_t locked_ = 0;
    bool has_lock_of_all_ = false;  // until the connection is closed
    bool has_pooler_ = false;
};

}  // namespace

std::unique_ptr<StoreWatch> make_watch(const std::string& conninfo, Duration io_timeout) {
    return std::make_unique<Watch>(conninfo, io_timeout);
}

}  // namespace leasehold::postgres
