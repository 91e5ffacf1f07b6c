#pragma once

#include <functional>
#include <stop_token>

#include <leasehold/lock_manager.hpp>

namespace leasehold::cli {

// Asks until the answer is yes, the time is over, or `ended`; then the last refusal is returned, or
// the last fault thrown. A lease that is gone does not come back by asking, and ends it too.
// Whoever is asked may take all of the time that is left.
[[nodiscard]] Result<std::vector<Lease>> ask_patiently(
    Duration patience, const std::stop_token& ended,
    const std::function<Result<std::vector<Lease>>(Duration left)>& ask);

}  // namespace leasehold::cli
