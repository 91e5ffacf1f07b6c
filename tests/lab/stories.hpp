#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lab/history.hpp"

namespace leasehold::lab {

// An answer that shows a lease alive at the time it was given.
struct Sighting {
    const Operation* operation;
    Lease lease;

    // Whether the time of the answer was written to the key's row.
    [[nodiscard]] bool is_written() const;
};

// Everything that a history says about one lease.
struct Story {
    LockId lock_id{};
    LockKey key;
    std::string owner{};
    bool asked_for = false;      // there is a try with this lock id
    bool surely_refused = true;  // each of them was refused
    // By an operation without an answer.
    bool may_have_been_prolonged = false;
    bool may_have_been_shared = false;
    std::size_t tries = 0;
    Instant first_called = Instant::max();  // of the tries that may have been granted this lease
    std::vector<Sighting> alive{};
    std::vector<const Operation*> gone{};  // answers that say it is not alive
    // `ends`: operations that ended this lease, if they took effect. `perhaps_ends`: operations
    // that may have ended another lease instead.
    std::vector<const Operation*> ends{};
    std::vector<const Operation*> perhaps_ends{};

    [[nodiscard]] bool is_seen() const { return !alive.empty(); }
    [[nodiscard]] bool may_have_ended() const { return !ends.empty() || !perhaps_ends.empty(); }
    // When the first answer came that shows the lease.
    [[nodiscard]] Instant first_seen() const;
    // When the first request was sent that may have ended it.
    [[nodiscard]] Instant first_end_called() const;
    // When the first answer came that says that it has ended.
    [[nodiscard]] Instant first_end_told() const;
    // The lease cannot have expired before this, on the recorders' clock.
    [[nodiscard]] Instant alive_until_at_least() const;
    // The lease cannot have lived longer than this on the same clock, if the store's clock falls
    // behind it by at most `slow`.
    [[nodiscard]] Instant alive_until_at_most(Duration slow) const;
    // Whether nobody could have shared the key at any time of its life.
    [[nodiscard]] bool was_always_exclusive() const;
};

struct Stories {
    std::unordered_map<LockId, Story> by_id{};
    std::map<LockKey, std::vector<const Story*>> by_key{};
    // Tries without an answer, by key and owner. It is unknown whether they were granted a lease.
    std::map<std::pair<LockKey, std::string>, std::vector<const Operation*>> open_tries{};
};

[[nodiscard]] Stories tell(const Operations& operations);

// Written again for the checker, which must not share the code that it checks.
[[nodiscard]] bool belongs_to(const std::string& owner, const std::string& wanted,
                              OwnerScope scope);

// The leases that an answer shows alive.
[[nodiscard]] std::vector<Lease> leases_in(const Operation& operation);
// The keys that the request asks for, each with its lock id.
[[nodiscard]] std::vector<std::pair<LockKey, LockId>> wanted_by(const Request& request);
// The owner of a try.
[[nodiscard]] const std::string* owner_of_try(const Request& request);
// The store's time in an answer.
[[nodiscard]] std::optional<Time> store_time(const Operation& operation);

}  // namespace leasehold::lab
