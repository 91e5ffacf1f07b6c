#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
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
// 6. No call takes long: a survey and many expiries are worked off in slices.
// 7. The ledger keeps the texts of `most_texts` leases. Of further ones it keeps hashes, and the
//    texts of their endings come from looks.
class Ledger {
public:
    using Tell = std::function<void(const Event&)>;
    explicit Ledger(Tell tell, std::size_t most_texts = std::numeric_limits<std::size_t>::max())
        : tell_{std::move(tell)}, most_texts_{most_texts} {}

    // The answer of the store when it was asked for all leases.
    struct Survey {
        std::vector<Holder> live{};     // ordered by key
        bool complete = true;           // false: there are more leases after the last one
        std::vector<PastLease> past{};  // leases that ended since the last survey, if known
        Time store_now{};
    };
    // Forgets everything, and treats the leases of the survey as reported. Then work it off.
    void begin(Survey survey);
    // Call this before the store is asked for a survey. News that arrives while the store is asked
    // is then newer than the survey, and the survey does not overrule it.
    void begin_survey() { ++survey_; }
    // Then work it off.
    void surveyed(Survey survey);
    // Works through at most this many leases and keys of the survey. False if that was all. News
    // may arrive in between.
    [[nodiscard]] bool work_off(std::size_t most);
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

    // Wants the keys of leases that expire by this time. Takes at most `most` leases, each once
    // until its key was looked at, and returns how many.
    std::size_t expect_expiries(Time store_now, std::size_t most);
    // Of the leases that were not taken.
    [[nodiscard]] std::optional<Time> next_expiry() const;

private:
    struct Entry;
    using Entries = std::map<LockKey, Entry>;
    using Known = Entries::value_type;
    struct DueLease {
        Known* known;
        Fence fence;
    };
    using Due = std::multimap<Time, DueLease>;
    struct Texts {
        std::string owner;
        std::string note;
    };
    struct Reported {
        Mode mode;
        Time granted_at;
        Time expires_at;
        std::uint64_t owner;  // hashes
        std::uint64_t note;
        std::unique_ptr<Texts> texts;  // nullptr: most_texts_ others are kept
        std::uint64_t survey;          // the latest survey in which it was known to be alive
        Due::iterator due;  // due_.end(): the lease never expires, or its key is looked at
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
    // Whether `after` continues `before`: a shared lease that its holder made exclusive has a new
    // fence.
    [[nodiscard]] static bool became(Fence fence, const Reported& before, const Holder& after);
    // The lease as it was reported, without an owner and a note if these were not kept.
    [[nodiscard]] static Holder lease_of(const LockKey& key, Fence fence, const Reported& reported);

    // Whether the lease was alive at a survey and expired before the latest one: then both were
    // reported. Its ending is in the history only when somebody takes the key over, perhaps much
    // later.
    [[nodiscard]] bool has_told_expiry(const PastLease& past) const;

    [[nodiscard]] Known& known(const LockKey& key) { return *entries_.try_emplace(key).first; }
    void write_down(Reported& reported, const Holder& lease);
    void await_expiry(Known& known, Fence fence, Reported& reported);
    void remember(Known& known, const Holder& lease);
    void forget(Entry& entry, Fence fence);
    void grant(Known& known, const Holder& lease, Time store_now);
    void update(Known& known, Reported& reported, const Holder& lease, Time store_now);
    void end(Entry& entry, const PastLease& past, Time store_now);
    void take_past(const PastLease& past, Time store_now);
    void take_live(const Holder& lease);
    void take_entries(std::size_t most);
    void keep_time(Time surveyed);

    // A survey that is being worked off: first the ended leases, then the live ones, then the
    // entries, which tell what the survey did not contain.
    struct Work {
        Survey survey{};
        bool tells = false;  // false: its leases count as reported
        std::size_t past = 0;
        std::size_t live = 0;
        bool ended = true;
        std::optional<LockKey> last_key{};  // of the entries that were worked through
        std::optional<LockKey> last_live{};
    };

    Tell tell_;
    const std::size_t most_texts_;
    Entries entries_;
    Due due_;
    std::deque<LockKey> wanted_;
    Work work_;
    std::size_t texts_ = 0;  // the leases whose texts are kept
    std::uint64_t survey_ = 0;
    std::deque<Time> surveys_;  // when the latest ones were made; times never go back
    std::int64_t latest_ = 0;   // the highest sequence of the ended leases
    bool complete_ = true;      // the latest survey contained every live lease
};

}  // namespace leasehold::server
