#pragma once

#include <optional>
#include <span>

#include <leasehold/store.hpp>

#include "stores/mariadb/connection.hpp"

namespace leasehold::mariadb {

// One request in one round trip: a try that finds its key free, or a check, extension, renewal or
// release that finds its exclusive lease alive. Each statement locks its row without waiting, and
// only then reads the clock and decides. Prepared on a connection, for which it is.
class Shortcuts {
public:
    explicit Shortcuts(::st_mysql* connection);

    // Nothing where the request did not find what it expects: then nothing was changed. No time
    // before `floor` is used.
    [[nodiscard]] std::optional<Lease> ask(Link& link, const TryLock& request, Time floor);
    [[nodiscard]] std::optional<Lease> ask(Link& link, const Check& request, Time floor);
    [[nodiscard]] std::optional<Lease> ask(Link& link, const Extend& request, Time floor);
    [[nodiscard]] std::optional<Lease> ask(Link& link, const Renew& request, Time floor);
    // Keeps history.
    [[nodiscard]] std::optional<Lease> ask(Link& link, const Release& request, Time floor);

private:
    [[nodiscard]] std::optional<Lease> prolong(Link& link, const LockKey& key, LockId lock_id,
                                               Duration by, Duration until,
                                               const std::optional<Duration>& max_hold, Time floor);

    Statement take_new_;
    Statement take_;
    Statement prolong_;
    Statement end_;
    Statement check_;
};

}  // namespace leasehold::mariadb
