#pragma once

#include <optional>
#include <span>

#include <leasehold/store.hpp>

#include "stores/mariadb/connection.hpp"

namespace leasehold::mariadb {

// Answers one request in one round trip: a try that finds its key free or held by its own owner, or
// a check, extension, renewal or release that finds its exclusive lease alive. Each statement locks
// its row without waiting, then reads the clock, then decides. The statements belong to one
// connection and can be used only there.
class Shortcuts {
public:
    Shortcuts(const Dialect& dialect, ::st_mysql* connection);

    // Nothing if the request did not find what it expects; then nothing was changed. No time before
    // `floor` is used.
    [[nodiscard]] std::optional<Lease> ask(Link& link, const TryLock& request, Time floor);
    [[nodiscard]] std::optional<Lease> ask(Link& link, const Check& request, Time floor);
    [[nodiscard]] std::optional<Lease> ask(Link& link, const Extend& request, Time floor);
    [[nodiscard]] std::optional<Lease> ask(Link& link, const Renew& request, Time floor);
    // Also writes the history.
    [[nodiscard]] std::optional<Lease> ask(Link& link, const Release& request, Time floor);

private:
    [[nodiscard]] std::optional<Lease> prolong(Link& link, const LockKey& key, LockId lock_id,
                                               Duration by, Duration until,
                                               const std::optional<Duration>& max_hold, Time floor);

    const Dialect& dialect_;
    Statement take_new_;
    Statement take_;
    Statement prolong_;
    Statement end_;
    Statement check_;
};

}  // namespace leasehold::mariadb
