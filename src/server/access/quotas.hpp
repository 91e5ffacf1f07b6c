#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string_view>

#include "server/access/tokens.hpp"
#include "server/http/problem.hpp"
#include "server/options.hpp"
#include "server/quota.hpp"
#include "server/requests.hpp"

namespace leasehold::server {

// Counts what each token uses (by its id), and each owner of a token, and refuses what exceeds a
// quota. Thread-safe; never asks the store.
//
// 1. An owner is counted by its first name below the owner of its token: of a token for `shop`,
//    `shop/alice/tab-1` counts for `shop/alice`. One owner may use `owner_share` percent.
// 2. A try counts before it is sent, as if it were granted. What was not granted is given back.
// 3. A lease counts from its grant until it is released or broken through this server, or until its
//    expiry. A lease without an expiry counts for a day after it was last renewed. Answers arrive
//    in any order: a lease that is known to have ended does not count when its grant is answered.
// 4. A lease that this server does not know, because it was granted by another server or before
//    this one was started, counts from its next renewal, for the token that renews it.
// 5. Places that all tokens share (for waiting tries, event streams, delayed releases, connections)
//    are never used up by one token: it gets another place only if more places are free than it
//    has.
class Quotas final : public OutcomeListener {
public:
    using Moment = std::chrono::steady_clock::time_point;

    // `options` outlive this.
    explicit Quotas(const ServerOptions& options);
    ~Quotas() override;

    // A share of a quota, taken until it is destroyed. It may outlive this.
    using Place = std::shared_ptr<void>;
    // Counts one more waiter, event stream, delayed release or connection. Returns a problem if the
    // quota is used up.
    [[nodiscard]] std::expected<Place, Problem> enter(const Token& token, Quota quota,
                                                      std::string_view owner = {});

    // Counts for the owner of a place that its token has entered without an owner. A problem if the
    // owner's share is used up.
    [[nodiscard]] std::expected<Place, Problem> enter_as(const Token& token, Quota quota,
                                                         std::string_view owner);

    // Counts what a try may be granted, before the try is sent. If it is destroyed without an
    // outcome, everything is given back.
    class Reservation {
    public:
        Reservation(Reservation&& other) noexcept;
        Reservation& operator=(Reservation&&) = delete;
        ~Reservation();

        enum class Faults : std::uint8_t {
            say_what_happened,   // by their effect
            may_follow_a_grant,  // which was released at once, because the client was gone
        };
        // Counts what was granted, and gives the rest back.
        void settle(const Outcome& outcome, Faults faults = Faults::say_what_happened);

    private:
        friend class Quotas;
        struct Counted;
        explicit Reservation(std::unique_ptr<Counted> counted);

        std::unique_ptr<Counted> counted_;
    };
    // For a request that takes leases. A problem if a quota is used up.
    [[nodiscard]] std::expected<Reservation, Problem> reserve(
        const Token& token, const Request& wanted, Moment now = std::chrono::steady_clock::now());

    // The token has prolonged a lease.
    void prolonged(const Token& token, const Lease& lease,
                   Moment now = std::chrono::steady_clock::now());

    // Leases that end are not counted any more.
    void answered(const Answered& answered) override;

    // What the token uses now.
    [[nodiscard]] EnumArray<Quota, QuotaUse> use_of(const Token& token,
                                                    Moment now = std::chrono::steady_clock::now());
    // How many tokens are counted. One that uses nothing may be forgotten.
    [[nodiscard]] std::size_t tokens() const;
    [[nodiscard]] QuotaLevels levels(Moment now = std::chrono::steady_clock::now());

private:
    class Accounts;
    struct Entered;
    std::shared_ptr<Accounts> accounts_;
};

}  // namespace leasehold::server
