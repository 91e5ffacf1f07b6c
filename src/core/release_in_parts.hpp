#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <leasehold/limits.hpp>
#include <leasehold/request.hpp>

namespace leasehold {

// Ends the leases of an owner that has too many for one transaction of the store. The caller sends
// the requests; between two parts, others have their turn at the store.
//   1. Send next_page(), and pass the outcome to releases_of().
//   2. Send the requests that it returns, one for each key, and pass every outcome to collect().
//   3. Continue with step 1 until is_done(). The answer to the whole request is outcome().
class ReleaseInParts {
public:
    // Whether the store answered a ReleaseAll that it has to be carried out in parts.
    [[nodiscard]] static bool is_needed(const Outcome& outcome);

    ReleaseInParts(ReleaseAll all, const Limits& limits);

    [[nodiscard]] bool is_done() const noexcept { return done_; }
    [[nodiscard]] List next_page() const { return page_; }
    [[nodiscard]] std::vector<Request> releases_of(Outcome page);
    void collect(Outcome outcome);
    [[nodiscard]] Outcome outcome() &&;

private:
    const ReleaseAll all_;
    List page_;
    bool done_ = false;
    std::vector<Lease> released_;
    std::string problem_;  // why perhaps not all leases have ended; the first one that was met
};

// The answer to a ReleaseAll that was carried out in parts. A problem, if there was one, makes it a
// fault: some leases have ended and some have not.
[[nodiscard]] Outcome released_in_parts(std::vector<Lease> released, const std::string& problem);

inline constexpr const char* blocked_by_others = "other transactions blocked it";

// A store's answer to a ReleaseAll of more leases than Limits::released_at_once.
[[nodiscard]] StoreFault too_many_leases();

}  // namespace leasehold
