#pragma once

#include <leasehold/hold.hpp>

namespace leasehold {

// Throws BadRequest for options that hold() would refuse.
void require_workable(const HoldOptions& options);

}  // namespace leasehold
