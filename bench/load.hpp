#pragma once

#include <cstddef>
#include <memory>

#include "contender.hpp"
#include "dialect.hpp"
#include "peer_server.hpp"

namespace leasehold::bench {

// Drives `clients` clients of a server from one thread, the same way for every server. Each client
// keeps its connection open and has one request under way. `server` outlives this.
std::unique_ptr<Contender> make_load(const PeerServer& server, std::unique_ptr<Dialect> dialect,
                                     std::size_t clients);

}  // namespace leasehold::bench
