#pragma once

#include "server/events/event_format.hpp"

namespace leasehold::server::v1 {

// Events as the native protocol sends them: server-sent events, with an object in JSON each.
[[nodiscard]] const EventFormat& server_sent_events();

}  // namespace leasehold::server::v1
