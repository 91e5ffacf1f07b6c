#include "etcd/canned_server.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "support/process.hpp"

namespace leasehold::testing {

CannedServer::CannedServer(int status, std::vector<std::string> bodies)
    : listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (listener_ < 0 || ::bind(listener_, any, size) != 0 || ::listen(listener_, 8) != 0 ||
        ::getsockname(listener_, any, &size) != 0) {
        throw_errno("a server that answers one thing");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread{[this, status, all = std::move(bodies)] { serve(status, all); }};
}

CannedServer::~CannedServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
}

std::string CannedServer::latest() const {
    const std::lock_guard lock{mutex_};
    return latest_;
}

void CannedServer::serve(int status, const std::vector<std::string>& bodies) {
    for (std::size_t next = 0;;) {
        const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (client < 0) return;
        // Whole requests of these tests come in one piece.
        char some[65536];
        if (const auto size = ::read(client, some, sizeof some); size > 0) {
            ++requests_;
            {
                const std::lock_guard lock{mutex_};
                latest_.assign(some, static_cast<std::size_t>(size));
            }
            const std::string& body = bodies[std::min(next++, bodies.size() - 1)];
            const std::string answer =
                "HTTP/1.1 " + std::to_string(status) +
                " X\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n\r\n" + body;
            (void)!::write(client, answer.data(), answer.size());
        }
        ::shutdown(client, SHUT_WR);
        while (::read(client, some, sizeof some) > 0) {
        }
        ::close(client);
    }
}

}  // namespace leasehold::testing
