#pragma once

#include <functional>
#include <stop_token>

#include <leasehold/lock_manager.hpp>

namespace leasehold::cli {

// Calls `ask` until it is granted, the patience is over or `ended` is requested. Then returns the
// last refusal or throws the last fault. A refusal of the kind `gone` ends it too, because asking
// again cannot help. `ask` may take all the time that is left.
[[nodiscard]] Result<std::vector<Lease>> ask_patiently(
    Duration patience, const std::stop_token& ended,
    const std::function<Result<std::vector<Lease>>(Duration left)>& ask);

}  // namespace leasehold::cli
