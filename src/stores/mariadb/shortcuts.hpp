#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <leasehold/store.hpp>

#include "stores/mariadb/connection.hpp"

namespace leasehold::mariadb {

// The statements of shortcuts for one request, prepared on a connection.
struct PreparedShortcuts {
    explicit PreparedShortcuts(::st_mysql* connection);

    Statement take_new;
    Statement take;
    Statement prolong;
    Statement end;
    Statement check;
};

// Requests that are to be answered in one round trip, by one statement of each kind: tries that
// find their key free, and checks, extensions, renewals and releases that find their exclusive
// lease alive. Each statement locks its rows without waiting, and only then reads the clock and
// decides.
class Shortcuts {
public:
    // No time before `floor` is used. `stamp` is in no row yet.
    Shortcuts(Time floor, std::int64_t stamp, StoreOptions::KeepHistory history)
        : floor_{floor}, stamp_{stamp}, history_{history} {}

    // The requests outlive this, and come in the order of their keys.
    void add(std::size_t index, const TryLock& request);
    void add(std::size_t index, const Check& request);
    void add(std::size_t index, const Extend& request);
    void add(std::size_t index, const Renew& request);
    void add(std::size_t index, const Release& request);
    template <class R>
    void add(std::size_t /*index*/, const R& /*request*/) {}

    // Whether there is nothing to commit.
    [[nodiscard]] bool only_checks() const;

    // Asks the server and hands out what was done; leaves the other requests unanswered. Returns
    // the latest reading of the clock, if there was any.
    [[nodiscard]] Time run(Link& link, PreparedShortcuts& prepared,
                           std::span<Outcome> outcomes) const;

private:
    enum class Kind { take, take_unless_dead, prolong, end, check };
    struct Asked {
        Kind kind;
        std::size_t index;
        const LockKey* key;
        LockId lock_id;
        const TryLock* wanted = nullptr;           // to take
        std::int64_t ttl = 0;                      // to take, in microseconds
        std::int64_t by = 0, until = 0, hold = 0;  // to prolong, in microseconds
    };

    void prolong(std::size_t index, const LockKey& key, LockId lock_id, Duration by, Duration until,
                 const std::optional<Duration>& max_hold);
    [[nodiscard]] Time run_one(const Asked& asked, Link& link, PreparedShortcuts& prepared,
                               std::span<Outcome> outcomes) const;
    [[nodiscard]] Time run_many(Link& link, std::span<Outcome> outcomes) const;
    // The rows of values for all requests of one kind, each made by `row`.
    template <class Row>
    [[nodiscard]] std::string rows_of(Kind kind, Row row) const;
    [[nodiscard]] std::string script() const;

    const Time floor_;
    const std::int64_t stamp_;
    const StoreOptions::KeepHistory history_;
    std::vector<Asked> asked_;  // in the order of keys
};

}  // namespace leasehold::mariadb
