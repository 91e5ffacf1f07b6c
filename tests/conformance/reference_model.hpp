#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <leasehold/store.hpp>

namespace leasehold::conformance {

// The answers that a store should give, as simply as possible: a list of all leases there ever
// were, looked through from the start for every question. It knows nothing of the library's own
// rules.
//
// Requests are judged one after the other. Times are compared loosely, so requests must keep their
// expiries minutes away from each other and from the moments they are judged at.
class ReferenceModel {
public:
    struct Life {
        LockKey key;
        LockId lock_id{};
        std::string owner{};
        Mode mode = Mode::exclusive;
        Fence fence = 0;  // the store's own; learnt from its answer
        Duration granted{};
        Duration expires{};  // Duration::max(): never
        std::string note{};
        std::string token_id{};
        Gone how = Gone::unknown;  // unknown: nobody ended it
        std::string by{};
        std::string why{};
        std::size_t ended_by_request = 0;  // its number
        std::size_t ended_in_batch = 0;
        Duration ended_at{};
        bool maybe_forgotten = false;  // a store may forget it once the retention is over
    };

    explicit ReferenceModel(Duration retention) : retention_{retention} {}

    void let_pass(Duration duration);

    // Endings of different keys in one batch may stand in history in any order.
    void begin_batch() { ++batches_; }

    // Carries the request out, and says how the store's answer differs from what it should be.
    // Empty where it does not.
    [[nodiscard]] std::string judge(const Request& request, const Outcome& outcome);

    [[nodiscard]] const std::vector<Life>& lives() const { return lives_; }
    [[nodiscard]] bool alive(const Life& life) const {
        return life.how == Gone::unknown && now_ < life.expires;
    }
    [[nodiscard]] Fence highest_fence(const LockKey& key) const;

private:
    enum class Verdict { same, mine, fresh, held, gone, not_since };
    struct Ruling {
        Verdict verdict = Verdict::fresh;
        std::size_t life = 0;  // same, mine, gone: whose
        std::vector<std::size_t> conflicts{};
    };

    [[nodiscard]] Ruling rule(const TryLock& request) const;
    std::string carry_out(const TryLock& request, const Ruling& ruling, const Lease& lease);
    std::string judge_one(const TryLock& request, const Outcome& outcome);
    std::string judge_one(const TryLockAll& request, const Outcome& outcome);
    std::string judge_one(const Check& request, const Outcome& outcome);
    std::string judge_one(const Extend& request, const Outcome& outcome);
    std::string judge_one(const Renew& request, const Outcome& outcome);
    std::string judge_one(const Release& request, const Outcome& outcome);
    std::string judge_one(const ReleaseAll& request, const Outcome& outcome);
    std::string judge_one(const Break& request, const Outcome& outcome);
    std::string judge_one(const Holders& request, const Outcome& outcome);
    std::string judge_one(const List& request, const Outcome& outcome);
    std::string judge_one(const History& request, const Outcome& outcome);
    std::string judge_one(const Purge& request, const Outcome& outcome);

    // The lease that a request names, or nullptr if there is none under that key.
    [[nodiscard]] std::optional<std::size_t> find(const std::optional<LockKey>& key,
                                                  LockId id) const;
    void end(Life& life, Gone how, const std::string& by = {}, const std::string& why = {});

    [[nodiscard]] std::string differs(const Life& life, const Outcome& outcome) const;
    [[nodiscard]] std::string differs(const Life& life, const Lease& lease) const;
    [[nodiscard]] std::string differs(const Life& life, const Holder& holder) const;
    [[nodiscard]] std::string differs_from_gone(std::optional<std::size_t> life,
                                                const Outcome& outcome) const;
    [[nodiscard]] std::string differs_from_held(std::vector<std::size_t> conflicts,
                                                const Outcome& outcome) const;
    [[nodiscard]] std::string differs_from_holders(std::vector<std::size_t> expected,
                                                   std::vector<Holder> holders) const;
    [[nodiscard]] std::string late_or_early(Duration actual, Duration expected) const;

    const Duration retention_;
    Duration now_{};
    std::size_t requests_ = 0;
    std::size_t batches_ = 0;
    std::vector<Life> lives_;
};

[[nodiscard]] std::string describe(const Request& request);
[[nodiscard]] std::string describe(const Outcome& outcome);
[[nodiscard]] std::string expected_something_else(const char* expected, const Outcome& outcome);

}  // namespace leasehold::conformance
