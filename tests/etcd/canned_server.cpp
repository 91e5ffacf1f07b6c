#include "etcd/canned_server.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/process.hpp"

namespace leasehold::testing {

CannedServer::CannedServer(int status, std::string body)
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
    thread_ = std::thread{[this, answer = "HTTP/1.1 " + std::to_string(status) +
                                          " X\r\nConnection: close\r\nContent-Length: " +
                                          std::to_string(body.size()) + "\r\n\r\n" +
                                          body] { serve(answer); }};
}

CannedServer::~CannedServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
}

void CannedServer::serve(const std::string& answer) {
    for (;;) {
        const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (client < 0) return;
        // Whole requests of these tests come in one piece.
        char some[65536];
        if (::read(client, some, sizeof some) > 0) {
            ++requests_;
            (void)!::write(client, answer.data(), answer.size());
        }
        ::shutdown(client, SHUT_WR);
        while (::read(client, some, sizeof some) > 0) {
        }
        ::close(client);
    }
}

}  // namespace leasehold::testing
