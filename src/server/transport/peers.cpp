#include "server/transport/peers.hpp"

#include <algorithm>
#include <utility>

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

std::size_t most_strangers_from(const boost::asio::ip::address& address,
                                const ServerOptions& options) {
    if (options.connections_per_address) return *options.connections_per_address;
    const bool local = name_of(address).starts_with("127.") || address.is_loopback();
    return local ? 0 : ServerOptions::usual_connections_per_address;
}

struct Peers::Place {
    Peers& peers;
    std::string name;
    bool counted = false;

    Place(Peers& in, std::string of) : peers{in}, name{std::move(of)} {}
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() {
        if (counted) peers.leave(name);
    }
};

// The place is allocated before the mutex is locked, and so it is destroyed after the mutex is
// unlocked: without memory it locks nothing.
std::shared_ptr<void> Peers::enter(const std::string& name, std::size_t most) {
    auto place = std::make_shared<Place>(*this, name);
    const std::lock_guard lock{mutex_};
    std::size_t& count = connections_[name];
    if (count >= most) return nullptr;
    ++count;
    place->counted = true;
    return place;
}

bool Peers::may_shake_hands(const std::string& name, const Rate& rate) {
    return rate.per_second <= 0 || !handshakes_.take(name, rate, 1, Buckets::Moment::clock::now());
}

void Peers::leave(const std::string& name) {
    const std::lock_guard lock{mutex_};
    const auto found = connections_.find(name);
    if (--found->second == 0) connections_.erase(found);
}

}  // namespace leasehold::server
