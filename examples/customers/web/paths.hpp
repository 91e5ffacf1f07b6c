#pragma once

#include <string>

#include <leasehold/lock_key.hpp>

namespace customers::web {

// The page that shows a lock's object; the list of customers for an unknown object.
[[nodiscard]] std::string page_of(const leasehold::LockKey& key);

}  // namespace customers::web
