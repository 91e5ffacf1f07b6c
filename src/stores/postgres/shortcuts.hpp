#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <leasehold/store.hpp>

#include "stores/postgres/connection.hpp"

namespace leasehold::postgres {

// Answers requests with one statement of each kind. The requests are added in the order of their
// keys, each key once, and outlive this.
class Shortcuts {
public:
    Shortcuts(Time floor, StoreOptions::KeepHistory history) : floor_{floor}, history_{history} {}

    void add(std::size_t index, const TryLock& r);
    void add(std::size_t index, const Check& r);
    void add(std::size_t index, const Extend& r);
    void add(std::size_t index, const Renew& r);
    void add(std::size_t index, const Release& r);
    template <class R>
    void add(std::size_t /*index*/, const R& /*request*/) {}

    [[nodiscard]] bool only_checks() const { return tries_.empty() && changes_.empty(); }

    [[nodiscard]] std::vector<Command> commands() const;

    // Writes the outcomes of the requests that were carried out. Returns the latest time that was
    // used, or Time{} if none was.
    [[nodiscard]] Time take(std::span<const Rows> answers, std::span<Outcome> outcomes) const;

    // The numbers of the released keys that somebody waits for, see watch.hpp.
    [[nodiscard]] std::vector<std::int64_t> numbers_to_notify(std::span<const Rows> answers) const;

private:
    // Stand for a bound or a ttl in microseconds.
    static constexpr std::int64_t unbounded = -1, ended = -1;

    struct Try {
        std::size_t index;
        const TryLock& request;
    };
    struct Named {
        std::size_t index;
        const LockKey& key;
        LockId lock_id;
    };
    struct Change : Named {
        std::int64_t by, ttl, max_hold;
        std::string_view released_by{};
    };

    [[nodiscard]] Command tries() const;
    [[nodiscard]] Command changes() const;
    [[nodiscard]] Time take_tries(const Rows& rows, std::span<Outcome> outcomes) const;

    const Time floor_;
    const StoreOptions::KeepHistory history_;
    std::vector<Try> tries_;
    std::vector<Named> checks_;
    std::vector<Change> changes_;
    bool all_fresh_ = true;  // the lock ids of tries_
    bool some_end_ = false;  // of changes_
};

}  // namespace leasehold::postgres
