#pragma once

#include <string_view>

#include "core/enum_table.hpp"
#include "server/monitoring/observer.hpp"

namespace leasehold::server {

// How an event of a connection is counted and logged.
struct ConnectionEventText {
    std::string_view name;
    bool is_cut = false;      // counted as a reason for which connections were cut
    std::string_view line{};  // in the log; empty for events that are not logged
};

inline constexpr EnumTable<ConnectionEvent, ConnectionEventText> connection_events{
    {{ConnectionEvent::accepted, {"accepted"}},
     {ConnectionEvent::ended, {"ended"}},
     {ConnectionEvent::turned_away,
      {"turned_away", false,
       "connection turned away: a limit of connections or of TLS handshakes is reached"}},
     {ConnectionEvent::accepting_paused,
      {"accepting_paused", false,
       "accepting paused: a connection could not be opened, perhaps for lack of file "
       "descriptors"}},
     {ConnectionEvent::no_handshake,
      {"no_handshake", true, "connection cut: the TLS handshake failed"}},
     {ConnectionEvent::slow_header,
      {"slow_header", true, "connection cut: the request's header was late"}},
     {ConnectionEvent::slow_body,
      {"slow_body", true, "connection cut: the request's body was late"}},
     {ConnectionEvent::slow_reader,
      {"slow_reader", true, "connection cut: the client did not take its answer"}},
     {ConnectionEvent::idle, {"idle", true}},
     {ConnectionEvent::evicted,
      {"evicted", true,
       "connection closed to make room: it was silent longest, and the server is full"}}}};

}  // namespace leasehold::server
