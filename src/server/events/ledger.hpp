#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include <leasehold/store.hpp>

#include "server/events/event.hpp"

namespace leasehold::server {

// Turns what this server learns about leases into events: one event for each change, whichever
// server made it. Not thread-safe.
// 1. The ledger remembers which leases it has reported as alive, and which as ended lately.
// 2. It learns about leases from answers that this server gave (is_alive(), was_released()), from
//    surveys of the whole store (surveyed()) and from looks at single keys (looked()). This news
//    may be old and may arrive in any order.
// 3. News that is consistent with earlier events becomes an event at once.
// 4. News that contradicts them becomes a wish to look at the key (want()). The look decides.
// 5. The events of a key have the order of its leases' fences.
class Ledger {
public:
    using Tell = std::function<void(const Event&)>;
    explicit Ledger(Tell tell) : tell_{std::move(tell)} {}

    // The answer of the store when it was asked for all leases.
    struct Survey {
        std::vector<Holder> live{};     // ordered by key
        bool complete = true;           // false: there are more leases after the last one
        std::vector<PastLease> past{};  // leases that ended since the last survey, if known
        Time store_now{};
    };
    // Forgets everything, and treats the leases of the survey as reported.
    void begin(const Survey& survey);
    // Call this before the store is asked for a survey. News that arrives while the store is asked
    // is then newer than the survey, and the survey does not overrule it.
    void begin_survey() { ++survey_; }
    void surveyed(Survey survey);
    // The highest sequence of the ended leases that the ledger knows. The next survey asks the
    // store only for later ones.
    [[nodiscard]] std::int64_t latest_sequence() const noexcept { return latest_; }

    // This server answered that the lease is alive, or that it was released.
    void is_alive(const Lease& lease);
    void was_released(const Lease& lease, const std::string& by = {});

    // Asks for a look at the key.
    void want(const LockKey& key);
    [[nodiscard]] bool wants() const noexcept { return !wanted_.empty(); }
    // The next keys to look at. Call looked() for each, or want() if the store failed.
    [[nodiscard]] std::vector<LockKey> take_wanted(std::size_t most);
    // The store's answers about one key: asked first for its holders, then for its ended leases. If
    // the page of holders was cut, leases that it does not name count as alive until they expire.
    void looked(const LockKey& key, const HolderPage& live, std::vector<PastLease> past,
                Time store_now);

    // Wants every key with a lease that expires by this time.
    void expect_expiries(Time store_now);
    [[nodiscard]] std::optional<Time> next_expiry() const;

private:
    using Due = std::multimap<Time, LockKey>;
    struct Reported {
        Holder lease;
        std::uint64_t survey;  // the latest survey in which it was known to be alive
        Due::iterator due;     // due_.end(): the lease never expires
    };
    enum class Look : std::uint8_t { none, wanted, under_way, again };
    struct Entry {
        std::map<Fence, Reported> live{};
        // Leases that were reported as ended, with the number of the survey at that time. Old news
        // must not bring them back.
        std::map<Fence, std::uint64_t> ended{};
        Look look = Look::none;
    };

    [[nodiscard]] static Reported* find(Entry& entry, Fence fence);
    [[nodiscard]] static bool has_ended(const Entry& entry, Fence fence);
    // Whether a later lease of the key was reported, so that the order of fences forbids reporting
    // this one.
    [[nodiscard]] static bool knows_later(const Entry& entry, Fence fence);
    // Whether a lease that was reported as alive excludes this one.
    [[nodiscard]] static bool contradicts(const Entry& entry, const Holder& lease);

    // Whether the lease was alive at a survey and expired before the latest one: then both were
    // reported. Its ending is in the history only when somebody takes the key over, perhaps much
    // later.
    [[nodiscard]] bool has_told_expiry(const PastLease& past) const;

    void remember(Entry& entry, const Holder& lease);
    void forget(Entry& entry, Fence fence);
    void grant(Entry& entry, const Holder& lease, Time store_now);
    void update(Reported& reported, const Holder& lease, Time store_now);
    void end(Entry& entry, const PastLease& past, Time store_now);
    void take_past(std::vector<PastLease>& past, Time store_now);
    void forget_old_endings();
    void keep_time(Time surveyed);

    Tell tell_;
    std::unordered_map<LockKey, Entry> entries_;
    Due due_;
    std::deque<LockKey> wanted_;
    std::uint64_t survey_ = 0;
    std::deque<Time> surveys_;  // when the latest ones were made; times never go back
    std::int64_t latest_ = 0;   // the highest sequence of the ended leases
    bool complete_ = true;      // the latest survey contained every live lease
};

}  // namespace leasehold::server
