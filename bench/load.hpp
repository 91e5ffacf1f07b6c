#pragma once

#include <cstddef>
#include <memory>

#include "contender.hpp"
#include "dialect.hpp"
#include "peer_server.hpp"

namespace leasehold::bench {

// So many clients of a server, each with a connection that is kept and one request under way. One
// thread serves all of them, the same for every server. `server` outlives it.
std::unique_ptr<Contender> make_load(const PeerServer& server, std::unique_ptr<Dialect> dialect,
                                     std::size_t clients);

}  // namespace leasehold::bench
