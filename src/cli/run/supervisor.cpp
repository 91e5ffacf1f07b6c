#include "cli/run/supervisor.hpp"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "cli/run/children.hpp"

namespace leasehold::cli {

Supervisor::Supervisor(const Command& command) {
    std::array<int, 2> ends{};
    // If the supervisor is killed, its command becomes a child of this process, so that the
    // kernel does not reuse the command's process number.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0 ||
        (process_ = ::fork()) < 0) {
        throw std::system_error{errno, std::generic_category(), "the supervisor cannot be started"};
    }
    if (process_ == 0) {
        ::close(ends[0]);
        supervise(ends[1], command);
    }
    ::close(ends[1]);
    socket_ = ends[0];
}

Supervisor::~Supervisor() {
    dismiss();
}

void Supervisor::dismiss() {
    if (process_ < 0) return;
    ::shutdown(socket_, SHUT_WR);
    ::kill(process_, SIGCONT);
    ::waitpid(std::exchange(process_, -1), nullptr, 0);
}

void Supervisor::send(const Order& order) const {
    // An order is lost only if the supervisor is gone or stopped; replace() kills it then.
    (void)::send(socket_, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Supervisor::start(const Deadline& deadline, Fence fence, const std::string& lock_id,
                       Foreground foreground) {
    Order order{
        .kind = Order::Kind::start, .foreground = foreground, .deadline = deadline, .fence = fence};
    std::ranges::copy_n(
        lock_id.begin(),
        static_cast<std::ptrdiff_t>(std::min(lock_id.size(), order.lock_id.size() - 1)),
        order.lock_id.begin());
    send(order);
}

void Supervisor::deadline(const Deadline& deadline) {
    send({.kind = Order::Kind::deadline, .deadline = deadline});
}

void Supervisor::signal(int number) {
    send({.kind = Order::Kind::signal, .signal = number});
}

void Supervisor::kill() {
    send({.kind = Order::Kind::kill});
}

std::optional<Event> Supervisor::next_event() {
    Event event{};
    ssize_t size = 0;
    while ((size = ::recv(socket_, &event, sizeof event, 0)) < 0 && errno == EINTR) {
    }
    if (size != static_cast<ssize_t>(sizeof event)) {
        kill_orphans();
        return std::nullopt;
    }
    if (event.kind == Event::Kind::started) group_ = event.value;
    return event;
}

// Kills what the supervisor ran, which this process has adopted.
void Supervisor::kill_orphans() {
    if (group_ > 0) ::kill(-group_, SIGKILL);
    do {
        kill_children();
    } while (::waitpid(-1, nullptr, 0) > 0);
    process_ = -1;
}

void Supervisor::replace() const {
    if (process_ > 0) ::kill(process_, SIGKILL);
}

}  // namespace leasehold::cli
