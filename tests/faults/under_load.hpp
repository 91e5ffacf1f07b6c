#pragma once

#include <functional>
#include <string>
#include <vector>

namespace leasehold::faults {

using WaitForGrants = std::function<void()>;

// Clients compete for a few keys of the store at `url` while something happens, with some grants
// before and after it. Returns descriptions of the violations that the checker finds in their
// history and, unless `afterwards` is empty, in what the store at `afterwards` remembers.
[[nodiscard]] std::vector<std::string> violations_under_load(
    const std::string& url, const std::string& afterwards,
    const std::function<void(const WaitForGrants& wait_for_grants)>& happens);

}  // namespace leasehold::faults
