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

// Knows which leases it has told to be alive and which to have ended, and tells every change once,
// whoever made it and however it is learnt: from an answer that this server gave, from a survey of
// the whole store, or from a look at one key. What it learns may be old or come in any order; where
// it does not fit to what was told, the key is wanted to be looked at, and that look decides. The
// leases of a key are told in the order of their fences. Not thread-safe.
class Ledger {
public:
    using Tell = std::function<void(const Event&)>;
    explicit Ledger(Tell tell) : tell_{std::move(tell)} {}

    // What the store said when it was asked for everything.
    struct Survey {
        std::vector<Holder> live{};     // in the order of keys
        bool complete = true;           // false: there are more behind the last of them
        std::vector<PastLease> past{};  // what ended since the last survey, as far as it is known
        Time store_now{};
    };
    // Forgets everything and takes what is there as told.
    void begin(const Survey& survey);
    // Before the store is asked, so that a survey never overrules what was learnt while it was
    // made.
    void begin_survey() { ++survey_; }
    void surveyed(Survey survey);
    // Of what the ledger knows already the store need not be asked again.
    [[nodiscard]] std::int64_t latest_sequence() const noexcept { return latest_; }

    // What this server answered.
    void is_alive(const Lease& lease);
    void was_released(const Lease& lease);

    void want(const LockKey& key);
    [[nodiscard]] bool wants() const noexcept { return !wanted_.empty(); }
    // Keys to look at. Each is to be followed by looked(), or by want() where the store failed.
    [[nodiscard]] std::vector<LockKey> take_wanted(std::size_t most);
    // What the store said of one key: first its holders, and then how leases ended.
    void looked(const LockKey& key, const std::vector<Holder>& live, std::vector<PastLease> past,
                Time store_now);

    // Wants every key of which a lease is due to expire by then.
    void expect_expiries(Time store_now);
    [[nodiscard]] std::optional<Time> next_expiry() const;

private:
    using Due = std::multimap<Time, LockKey>;
    struct Told {
        Holder lease;
        std::uint64_t survey;  // since the begin of which it is known to be alive
        Due::iterator due;     // due_.end(): never
    };
    enum class Look : std::uint8_t { none, wanted, under_way, again };
    struct Entry {
        std::map<Fence, Told> live{};
        // Told not long ago, in that survey: nothing old may bring it back.
        std::map<Fence, std::uint64_t> ended{};
        Look look = Look::none;
    };

    [[nodiscard]] static Told* find(Entry& entry, Fence fence);
    [[nodiscard]] static bool has_ended(const Entry& entry, Fence fence);
    // It is too late to tell of a lease before that.
    [[nodiscard]] static bool knows_later(const Entry& entry, Fence fence);
    // Whether they cannot both be alive.
    [[nodiscard]] static bool contradicts(const Entry& entry, const Holder& lease);

    void remember(Entry& entry, const Holder& lease);
    void forget(Entry& entry, Fence fence);
    void grant(Entry& entry, const Holder& lease, Time store_now);
    void update(Told& told, const Holder& lease, Time store_now);
    void end(Entry& entry, const PastLease& past, Time store_now);
    void take_past(std::vector<PastLease>& past, Time store_now);
    void forget_old_endings();

    Tell tell_;
    std::unordered_map<LockKey, Entry> entries_;
    Due due_;
    std::deque<LockKey> wanted_;
    std::uint64_t survey_ = 0;
    std::int64_t latest_ = 0;  // the highest sequence of what ended
    bool complete_ = true;     // every lease that is alive is known
};

}  // namespace leasehold::server
