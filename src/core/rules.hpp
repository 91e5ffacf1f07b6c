#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <leasehold/limits.hpp>
#include <leasehold/request.hpp>

#include "core/grant.hpp"
#include "core/request_traits.hpp"
#include "core/store_clock.hpp"

// The rules of the lock, once for all stores. A store loads and locks the cells of a batch's keys,
// and reads the time after that; the rules decide, and change the cells; the store writes them
// back.
namespace leasehold {

// How a lease ended.
struct Ending {
    Grant grant{};
    Gone how = Gone::unknown;
    Time at{};
    std::string by{};
    std::string why{};
};

// The state of one key.
struct Cell {
    Fence fence = 0;                     // the highest ever granted
    Time touched;                        // the highest time ever used on this key
    std::vector<Grant> grants;           // not ended; may be past their expiry
    std::shared_ptr<const Ending> last;  // of a free key: how its last lease ended
    bool changed = false;                // the rules changed it since it was loaded
};

// An ending and its key, to be written to the history.
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

// A lease that has expired, and that nobody has taken over or swept, has no number in the history
// yet. It gets one of the highest numbers that JavaScript counts exactly, above all real ones.
inline constexpr std::int64_t highest_sequence = (std::int64_t{1} << 53U) - 1;
inline constexpr std::int64_t first_unnoticed =
    highest_sequence + 1 - std::int64_t{Limits::shared_holders};

// Whether a page of the history can begin with such leases.
[[nodiscard]] inline bool asks_for_unnoticed(const History& request) {
    return request.key && request.before.value_or(highest_sequence) > first_unnoticed;
}

class Rules {
public:
    // `now` was read after the cells were locked. Endings are appended to `endings`.
    Rules(Time now, const StoreClock& clock, const PastLookup& past, std::vector<Ended>& endings)
        : now_{now}, clock_{clock}, past_{past}, endings_{endings} {}

    [[nodiscard]] Outcome decide(const TryLock&, Cell&);
    // `cells[i]` is the cell of `keys[i]`. A refusal leaves all of them as they were.
    [[nodiscard]] Outcome decide(const TryLockAll&, const std::vector<Cell*>& cells);
    [[nodiscard]] Outcome decide(const Check&, const LockKey&, const Cell&) const;
    [[nodiscard]] Outcome decide(const Extend&, const LockKey&, Cell&);
    [[nodiscard]] Outcome decide(const Renew&, const LockKey&, Cell&);
    [[nodiscard]] Outcome decide(const Release&, const LockKey&, Cell&);
    [[nodiscard]] Outcome decide(const Break&, Cell&);
    // Ends the matching leases of one cell, and appends them to `released`.
    void release_all(const ReleaseAll&, const LockKey&, Cell&, std::vector<Lease>& released);

    // Whether the request certainly leaves the cell as it is: a living lease of another owner
    // refuses a try, or a lease that the request names is not alive. `index` is that of a key among
    // several.
    [[nodiscard]] bool keeps_cell(const Request&, std::size_t index, const Cell&) const;

    // Whether the key has been free since `moment`. If so, its expired leases are ended.
    [[nodiscard]] bool end_if_dead_since(const LockKey&, Cell&, Time moment);

    [[nodiscard]] HolderPage holders(const LockKey&, const Cell&) const;
    [[nodiscard]] bool is_alive(const Cell&, const Grant&) const;

    // Expired leases that nobody has taken over or swept, as a page of the key's history.
    [[nodiscard]] std::vector<PastLease> unnoticed(const History&, const Cell&) const;

    // The answer to a request that would have to change a cell which another transaction has
    // locked. Until that transaction ends, a try is refused as held even by an expired lease of
    // another owner; everything else is busy.
    [[nodiscard]] Outcome blocked(const Request&, const LockKey&, const Cell&) const;

    [[nodiscard]] Time now() const { return now_; }

private:
    [[nodiscard]] Time now_for(const Cell& cell) const;
    // Whether the lease is past its expiry at `moment` only because the store's clock leapt.
    [[nodiscard]] bool only_looks_expired(const Cell& cell, const Grant& grant, Time moment) const;
    Grant* find_alive(Cell&, LockId) const;
    [[nodiscard]] bool has_alive(const Cell&, LockId) const;
    // Whether living leases of others certainly refuse this try of a cell.
    template <AnyTry R>
    [[nodiscard]] bool refuses(const R& request, LockId, const Cell&) const;
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
// The answer to a try with the lock id of a lease on another key.
[[nodiscard]] StoreFault id_of_another_key();
[[nodiscard]] PastLease to_past(const Ended&, std::int64_t sequence);
// now + ttl, and `never` for until_released.
[[nodiscard]] Time expiry(Time now, Duration ttl);

}  // namespace leasehold
