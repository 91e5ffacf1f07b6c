#pragma once

#include <boost/asio/ip/address.hpp>

#include <string>

namespace leasehold::server {

// What counts as one client: an IPv4 address, or the first half of an IPv6 one, of which a client
// has all the others.
[[nodiscard]] std::string name_of(const boost::asio::ip::address& address);

}  // namespace leasehold::server
