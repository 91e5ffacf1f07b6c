#pragma once

#include <algorithm>

#include <leasehold/hold.hpp>
#include <leasehold/request.hpp>

namespace leasehold {

// When a lease is renewed, and how long before its end the holder must stop.
struct RenewalTerms {
    Duration every;
    Duration margin;
};

// Of a hold or of a KeepAlive. Throws BadRequest if they cannot work.
template <class Options>
[[nodiscard]] RenewalTerms renewal_terms(const Options& options) {
    const Duration life = std::min(options.ttl, options.max_hold.value_or(options.ttl));
    const RenewalTerms terms{.every = options.every.value_or(life / 3),
                             .margin = options.margin.value_or(life / 10)};
    if (terms.every <= Duration::zero() || terms.margin < Duration::zero() ||
        terms.every >= options.ttl - terms.margin) {
        throw BadRequest{
            "a lease that is renewed needs 0 < every, 0 <= margin and every + margin < ttl"};
    }
    return terms;
}

// Throws BadRequest for options that hold() would refuse.
void require_workable(const HoldOptions& options);

}  // namespace leasehold
