#pragma once

#include <string>

#include <leasehold/lock_key.hpp>

namespace customers::web {

// Where the object of a lock is looked at; the list where it is none of ours.
[[nodiscard]] std::string page_of(const leasehold::LockKey& key);

}  // namespace customers::web
