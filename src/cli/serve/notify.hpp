#pragma once

#include <string_view>

namespace leasehold::cli {

// Tells the service manager ("READY=1"), where there is one: the datagram of sd_notify(3) to
// $NOTIFY_SOCKET. Never fails.
void notify_manager(std::string_view state) noexcept;

}  // namespace leasehold::cli
