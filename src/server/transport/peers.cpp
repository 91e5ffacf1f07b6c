#include "server/transport/peers.hpp"

#include <algorithm>

namespace leasehold::server {

std::string name_of(const boost::asio::ip::address& address) {
    namespace ip = boost::asio::ip;
    if (address.is_v4()) return address.to_string();
    const ip::address_v6 v6 = address.to_v6();
    if (v6.is_v4_mapped()) return ip::make_address_v4(ip::v4_mapped, v6).to_string();
    if (v6.is_loopback()) return v6.to_string();
    auto bytes = v6.to_bytes();
    std::fill(bytes.begin() + 8, bytes.end(), static_cast<unsigned char>(0));
    return ip::address_v6{bytes}.to_string() + "/64";
}

std::shared_ptr<void> Peers::enter(const std::string& name) {
    const std::lock_guard lock{mutex_};
    std::size_t& count = connections_[name];
    if (count >= most_) return nullptr;
    ++count;
    return {this, [name](Peers* peers) { peers->leave(name); }};
}

void Peers::leave(const std::string& name) {
    const std::lock_guard lock{mutex_};
    const auto found = connections_.find(name);
    if (--found->second == 0) connections_.erase(found);
}

}  // namespace leasehold::server
