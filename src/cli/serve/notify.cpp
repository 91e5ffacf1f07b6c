#include "cli/serve/notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace leasehold::cli {

void notify_manager(std::string_view state) noexcept {
    const char* const name = std::getenv("NOTIFY_SOCKET");
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    if (name == nullptr || *name == '\0' || std::strlen(name) >= sizeof address.sun_path) return;
    const std::size_t length = std::strlen(name);
    std::memcpy(address.sun_path, name, length);
    if (*name == '@') address.sun_path[0] = '\0';  // an abstract one
    const int file = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (file < 0) return;
    ::sendto(file, state.data(), state.size(), MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&address),
             static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length));
    ::close(file);
}

}  // namespace leasehold::cli
