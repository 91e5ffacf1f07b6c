#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <leasehold/limits.hpp>
#include <leasehold/store.hpp>

#include "core/store_clock.hpp"

// The rules of the lock, once for all stores. A store brings the cells of a batch's keys,
// serialised, and a time read after that; the rules decide and change the cells; the store writes
// them back.
namespace leasehold {

// A lease as a store keeps it.
struct Grant {
    LockId lock_id{};
    std::string owner{};
    Mode mode = Mode::exclusive;
    Fence fence = 0;
    Time granted_at{};
    Time expires_at{};
    std::string note{};
};

// How a lease ended.
struct Ending {
    Grant grant{};
    Gone how = Gone::unknown;
    Time at{};
    std::string by{};
    std::string why{};
};

// All a store knows of one key.
struct Cell {
    Fence fence = 0;                     // the highest ever granted
    Time touched;                        // the highest time ever used on this key
    std::vector<Grant> grants;           // not ended; may be past their expiry
    std::shared_ptr<const Ending> last;  // of a free key: how its last lease ended
    bool changed = false;                // by the rules, since it was loaded
};

// An ending, with its key, to be kept as history.
struct Ended {
    Ended(LockKey whose, std::shared_ptr<const Ending> how)
        : key{std::move(whose)}, ending{std::move(how)} {}
    Ended(LockKey whose, Ending how)
        : Ended{std::move(whose), std::make_shared<const Ending>(std::move(how))} {}

    LockKey key;
    std::shared_ptr<const Ending> ending;
};

// Looks up an ended lease by its lock id.
using PastLookup = std::function<std::optional<Ended>(LockId)>;

// Where leases that expired without anybody's noticing stand in a history: after all that have a
// number, and as numbers that JavaScript counts exactly.
inline constexpr std::int64_t highest_sequence = (std::int64_t{1} << 53U) - 1;
inline constexpr std::int64_t first_unnoticed =
    highest_sequence + 1 - std::int64_t{Limits::shared_holders};

// Whether a page of history can begin with such leases.
[[nodiscard]] inline bool asks_for_unnoticed(const History& request) {
    return request.key && request.before.value_or(highest_sequence) > first_unnoticed;
}

class Rules {
public:
    // `now` was read after the cells were serialised. Endings are appended to `endings`.
    Rules(Time now, const StoreClock& clock, const PastLookup& past, std::vector<Ended>& endings)
        : now_{now}, clock_{clock}, past_{past}, endings_{endings} {}

    [[nodiscard]] Outcome decide(const TryLock&, Cell&);
    // `cells[i]` is the cell of `keys[i]`. Refused, it leaves all of them as they were.
    [[nodiscard]] Outcome decide(const TryLockAll&, const std::vector<Cell*>& cells);
    [[nodiscard]] Outcome decide(const Check&, const LockKey&, const Cell&) const;
    [[nodiscard]] Outcome decide(const Extend&, const LockKey&, Cell&);
    [[nodiscard]] Outcome decide(const Renew&, const LockKey&, Cell&);
    [[nodiscard]] Outcome decide(const Release&, const LockKey&, Cell&);
    [[nodiscard]] Outcome decide(const Break&, Cell&);
    // Ends what matches in one cell, and appends it to `released`.
    void release_all(const ReleaseAll&, const LockKey&, Cell&, std::vector<Lease>& released);

    // Whether the key has been free since `moment`. Leases that then had run out are ended.
    [[nodiscard]] bool end_if_dead_since(const LockKey&, Cell&, Time moment);

    [[nodiscard]] std::vector<Holder> holders(const LockKey&, const Cell&) const;

    // Leases that expired without anybody's noticing, as a page of the key's history.
    [[nodiscard]] std::vector<PastLease> unnoticed(const History&, const Cell&) const;

    // The answer to a request that would have to change a cell which somebody's transaction holds
    // on to. Until that ends, even another's expired lease keeps the key; everything else is busy.
    [[nodiscard]] Outcome blocked(const Request&, const LockKey&, const Cell&) const;

    [[nodiscard]] Time now() const { return now_; }

private:
    [[nodiscard]] Time now_for(const Cell& cell) const;
    // Whether the lease is past its expiry at `moment` only because the store's clock leapt.
    [[nodiscard]] bool only_looks_expired(const Cell& cell, const Grant& grant, Time moment) const;
    Grant* find_alive(Cell&, LockId) const;
    Outcome grant(const TryLock&, Cell&, Time now);
    Outcome convert_or_renew(const TryLock&, Cell&, Grant& mine, Time now);
    struct End {
        Gone reason;
        Time at;
        std::string by{};
        std::string why{};
    };
    void end(const LockKey&, Cell&, std::size_t index, End how);
    [[nodiscard]] Refusal gone(const LockKey&, const Cell&, LockId, Time now) const;

    Time now_;
    const StoreClock& clock_;
    const PastLookup& past_;
    std::vector<Ended>& endings_;
};

[[nodiscard]] bool owner_matches(const std::string& owner, const std::string& wanted, OwnerScope);
// The answer to a try with a lock id that is in use already.
[[nodiscard]] StoreFault id_of_another_key();
[[nodiscard]] Lease to_lease(const LockKey&, const Grant&, Time store_now);
[[nodiscard]] Holder to_holder(const LockKey&, const Grant&);
[[nodiscard]] PastLease to_past(const Ended&, std::int64_t sequence);
// now + ttl, and `never` for until_released.
[[nodiscard]] Time expiry(Time now, Duration ttl);

}  // namespace leasehold
