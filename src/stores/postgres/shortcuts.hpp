#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stores/postgres/columns.hpp"
#include "stores/postgres/connection.hpp"

namespace leasehold::postgres {

// Requests that are to be answered by one statement of each kind.
class Shortcuts {
public:
    Shortcuts(Time floor, StoreOptions::KeepHistory history) : floor_{floor}, history_{history} {}

    void add(std::size_t index, const TryLock& r);
    void add(std::size_t index, const Check& r) { checks_.add(index, *r.key, r.lock_id); }
    void add(std::size_t index, const Extend& r) { prolong(index, r, r.by.count(), r.max_ttl); }
    void add(std::size_t index, const Renew& r) { prolong(index, r, unbounded, r.ttl); }
    void add(std::size_t index, const Release& r) { releases_.add(index, *r.key, r.lock_id); }
    template <class R>
    void add(std::size_t /*index*/, const R& /*request*/) {}

    [[nodiscard]] bool only_checks() const {
        return tries_.indices.empty() && prolongs_.indices.empty() && releases_.indices.empty();
    }

    [[nodiscard]] std::vector<Command> commands() const;

    // Hands out what was done. Returns the latest reading of the clock, if there was any.
    [[nodiscard]] Time take(std::span<const Rows> answers, std::span<const Request> requests,
                            std::span<Outcome> outcomes) const;

private:
    static constexpr std::int64_t unbounded = -1;

    // Requests with their keys and lock ids, side by side.
    struct Named : KeyColumns {
        void add(std::size_t index, const LockKey& key, LockId lock_id);
        // The floor, then their columns: values for one request, arrays for many.
        [[nodiscard]] Parameters parameters(Time floor) const;
        // Which of them a row of an answer is about, by the key in its first columns. They came in
        // the order of their keys.
        [[nodiscard]] std::size_t place_of(const Rows& rows, int row) const;

        std::vector<std::string> lock_ids;
        std::vector<std::size_t> indices;
    };

    template <class R>
    void prolong(std::size_t index, const R& r, std::int64_t by, Duration until) {
        prolongs_.add(index, *r.key, r.lock_id);
        bys_.push_back(by);
        until_.push_back(until.count());
        holds_.push_back(r.max_hold ? r.max_hold->count() : unbounded);
    }

    Time floor_;
    StoreOptions::KeepHistory history_;
    Named tries_, checks_, prolongs_, releases_;
    bool all_drawn_now_ = true;                      // the lock ids of tries_
    std::vector<std::string> owners_, notes_;        // of tries_
    std::vector<std::int64_t> ttls_;                 // of tries_
    std::vector<std::int64_t> bys_, until_, holds_;  // of prolongs_
};

}  // namespace leasehold::postgres
