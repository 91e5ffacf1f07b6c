#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <leasehold/store.hpp>

#include "stores/mariadb/connection.hpp"

namespace leasehold::mariadb {

// Requests that are to be answered in one round trip, by one statement of each kind: tries that
// find their key free, and checks, extensions, renewals and releases that find their exclusive
// lease alive. Each statement locks its rows without waiting, and only then reads the clock and
// decides.
class Shortcuts {
public:
    // No time before `floor` is used.
    explicit Shortcuts(Time floor) : floor_{floor} {}

    // What a connection has to run once before it can be asked for shortcuts.
    [[nodiscard]] static Script preparation();

    // The requests outlive this, and come in the order of their keys.
    void add(std::size_t index, const TryLock& request);
    void add(std::size_t index, const Check& request);
    void add(std::size_t index, const Extend& request);
    void add(std::size_t index, const Renew& request);
    void add(std::size_t index, const Release& request);
    template <class R>
    void add(std::size_t /*index*/, const R& /*request*/) {}

    // Whether there is nothing to commit.
    [[nodiscard]] bool only_checks() const {
        return tries_.empty() && prolongs_.empty() && releases_.empty();
    }
    [[nodiscard]] Script script() const;
    // Whether the script ended early because there was nothing to release.
    [[nodiscard]] bool found_no_lease(const SqlError& error) const;

    // Hands out what was done, and leaves the other requests unanswered. Returns the latest reading
    // of the clock, if there was any.
    [[nodiscard]] Time take(std::span<ResultSet> results, std::span<Outcome> outcomes) const;

private:
    struct Asked {
        std::size_t index;
        const LockKey* key;
        LockId lock_id;
        std::vector<std::string> values;  // SQL; type, id, lock id, and what else the kind needs
    };
    using Kind = std::vector<Asked>;  // in the order of keys

    void prolong(std::size_t index, const LockKey& key, LockId lock_id, Duration by, Duration until,
                 const std::optional<Duration>& max_hold);

    const Time floor_;
    Kind tries_, prolongs_, releases_, checks_;
    Drawn drawn_ = Drawn::for_this;  // the lock ids of tries_, all of them
};

}  // namespace leasehold::mariadb
