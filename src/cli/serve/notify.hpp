#pragma once

#include <string_view>

namespace leasehold::cli {

// Sends a state ("READY=1") to the service manager, as sd_notify(3) does. Does nothing without
// $NOTIFY_SOCKET.
void notify_manager(std::string_view state) noexcept;

}  // namespace leasehold::cli
