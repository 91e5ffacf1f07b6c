#include "distant_link.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <string>
#include <system_error>

namespace leasehold::bench {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const char* what) {
    throw std::system_error{errno, std::generic_category(), what};
}

sockaddr_in at_port(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

void send_at_once(int socket) {
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// One direction of a line.
class Way {
public:
    // False if the sender has left. Counts what was read.
    [[nodiscard]] bool take(int from, Clock::time_point passes_at, std::size_t& read) {
        std::array<char, 65536> buffer;
        const ssize_t got = ::recv(from, buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (got < 0) return errno == EAGAIN || errno == EINTR;
        if (got == 0) return false;
        read = static_cast<std::size_t>(got);
        under_way_.push_back({passes_at, std::string{buffer.data(), read}});
        return true;
    }
    [[nodiscard]] bool pass(int to, Clock::time_point now) {
        while (!under_way_.empty() && under_way_.front().passes_at <= now) {
            std::string& bytes = under_way_.front().bytes;
            const ssize_t sent =
                ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (sent < 0) return errno == EAGAIN || errno == EINTR;
            bytes.erase(0, static_cast<std::size_t>(sent));
            if (!bytes.empty()) return true;
            under_way_.pop_front();
        }
        return true;
    }
    [[nodiscard]] Clock::time_point next() const {
        return under_way_.empty() ? Clock::time_point::max() : under_way_.front().passes_at;
    }

private:
    struct Bytes {
        Clock::time_point passes_at;
        std::string bytes;
    };
    std::deque<Bytes> under_way_;
};

}  // namespace

class DistantLink::Line {
public:
    Line(int client, std::uint16_t to)
        : client_{client}, server_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
        const sockaddr_in address = at_port(to);
        if (server_ < 0 ||
            ::connect(server_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
            broken_ = true;
        }
        send_at_once(client_);
        send_at_once(server_);
    }
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;
    ~Line() {
        ::close(client_);
        ::close(server_);
    }

    [[nodiscard]] int client() const { return client_; }
    [[nodiscard]] int server() const { return server_; }
    [[nodiscard]] bool is_broken() const { return broken_; }
    [[nodiscard]] Clock::time_point next() const {
        return std::min(requests_.next(), answers_.next());
    }

    void forward(std::chrono::microseconds each_way, std::atomic<std::uint64_t>& round_trips) {
        const auto now = Clock::now();
        std::size_t asked = 0, answered = 0;
        bool alive = requests_.take(client_, now + each_way, asked) &&
                     answers_.take(server_, now + each_way, answered);
        if (asked > 0 && !asking_) ++round_trips;
        if (asked > 0) asking_ = true;
        if (answered > 0) asking_ = false;
        alive = alive && requests_.pass(server_, now) && answers_.pass(client_, now);
        broken_ = broken_ || !alive;
    }

private:
    const int client_;
    const int server_;
    bool broken_ = false;
    bool asking_ = false;  // the client has sent something, and the server has not answered yet
    Way requests_, answers_;
};

DistantLink::DistantLink(std::uint16_t to, std::chrono::microseconds each_way)
    : to_{to},
      each_way_{each_way},
      listener_{::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)},
      stopped_{::eventfd(0, EFD_CLOEXEC)} {
    sockaddr_in address = at_port(0);
    socklen_t size = sizeof address;
    if (listener_ < 0 || stopped_ < 0 ||
        ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
        ::listen(listener_, SOMAXCONN) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        fail("cannot relay");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread{[this] { work(); }};
}

DistantLink::~DistantLink() {
    ::eventfd_write(stopped_, 1);
    thread_.join();
    lines_.clear();
    ::close(listener_);
    ::close(stopped_);
}

void DistantLink::accept_line() {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    lines_.push_back(std::make_unique<Line>(client, to_));
    ++connections_;
}

void DistantLink::work() {
    ::prctl(PR_SET_TIMERSLACK, 1UL);  // bytes pass on time
    std::vector<pollfd> events;
    for (;;) {
        events.assign({{stopped_, POLLIN, 0}, {listener_, POLLIN, 0}});
        auto next = Clock::time_point::max();
        for (const auto& line : lines_) {
            events.push_back({line->client(), POLLIN, 0});
            events.push_back({line->server(), POLLIN, 0});
            next = std::min(next, line->next());
        }
        timespec left{};
        if (next != Clock::time_point::max()) {
            const auto wait = std::max(next - Clock::now(), Clock::duration::zero());
            const auto seconds = std::chrono::floor<std::chrono::seconds>(wait);
            left.tv_sec = seconds.count();
            left.tv_nsec = std::chrono::nanoseconds{wait - seconds}.count();
        }
        ::ppoll(events.data(), events.size(), next == Clock::time_point::max() ? nullptr : &left,
                nullptr);
        if (events[0].revents != 0) return;
        for (const auto& line : lines_) line->forward(each_way_, round_trips_);
        std::erase_if(lines_, [](const auto& line) { return line->is_broken(); });
        if (events[1].revents != 0) accept_line();
    }
}

}  // namespace leasehold::bench
