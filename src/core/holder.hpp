#pragma once

#include <leasehold/lease.hpp>

namespace leasehold {

// What everybody may know of this lease.
[[nodiscard]] Holder holder_of(Lease lease);

}  // namespace leasehold
