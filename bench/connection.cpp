#include "connection.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace leasehold::bench {
namespace {

sockaddr_in loopback(std::uint8_t host, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl((INADDR_LOOPBACK & ~0xFFU) | host);
    return address;
}

[[noreturn]] void fail_with_errno(const char* what) {
    throw std::system_error{errno, std::generic_category(), what};
}

}  // namespace

Connection::Connection(std::uint16_t port, std::uint8_t from_address)
    : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    if (socket_ < 0) fail_with_errno("socket");
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(socket_, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    const sockaddr_in from = loopback(from_address, 0);
    const sockaddr_in to = loopback(1, port);
    if (::bind(socket_, reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0 ||
        ::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
        const int error = errno;
        ::close(socket_);
        errno = error;
        fail_with_errno("connect");
    }
}

Connection::Connection(Connection&& other) noexcept : socket_{std::exchange(other.socket_, -1)} {}

Connection::~Connection() {
    if (socket_ >= 0) ::close(socket_);
}

void Connection::send(std::string_view text) const {
    while (!text.empty()) {
        const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
        if (sent < 0) fail_with_errno("send");
        text.remove_prefix(static_cast<std::size_t>(sent));
    }
}

void Connection::receive(std::string& to) const {
    char bytes[16 * 1024];
    const ssize_t received = ::recv(socket_, bytes, sizeof bytes, 0);
    if (received < 0) fail_with_errno("recv");
    if (received == 0) throw std::runtime_error{"the server closed the connection"};
    to.append(bytes, static_cast<std::size_t>(received));
}

}  // namespace leasehold::bench
