#include "core/unique_owner.hpp"

#include <leasehold/lock_id.hpp>

namespace leasehold {

std::string unique_owner(std::string_view wide, std::string_view kind) {
    // A part of a random id that is used for nothing else.
    const std::string random = LockId::random().to_string();
    return std::string{wide}.append("/").append(kind).append("-").append(random.substr(24));
}

}  // namespace leasehold
