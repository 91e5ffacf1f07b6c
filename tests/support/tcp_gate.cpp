#include "support/tcp_gate.hpp"

#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "support/process.hpp"

namespace leasehold::testing {

namespace {

using namespace std::chrono_literals;

// Otherwise a small segment would wait for the other side's acknowledgement, and a reset would
// overtake it.
void send_at_once(int socket) {
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// A reset discards bytes that the kernel has not sent yet, so they are sent first if the other side
// accepts them.
void reset(int socket) {
    const auto deadline = std::chrono::steady_clock::now() + 1s;
    int unsent = 0;
    while (::ioctl(socket, SIOCOUTQNSD, &unsent) == 0 && unsent > 0 &&
           std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(1ms);
    }
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    ::close(socket);
}

int listen_on(std::uint16_t& port) {
    for (int attempt = 1;; ++attempt) {
        port = free_port();
        const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (listener < 0) throw_errno("cannot make a socket");
        const int on = 1;
        ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
            ::listen(listener, SOMAXCONN) == 0) {
            return listener;
        }
        ::close(listener);
        if (attempt == 5) throw_errno("cannot listen");
    }
}

bool would_block() {
    return errno == EAGAIN || errno == EINTR;
}

}  // namespace

class TcpGate::Connection {
public:
    class Stream {
    public:
        bool empty() const { return begin_ == end_; }
        std::size_t size() const { return end_ - begin_; }
        bool wants_to_read() const { return empty() && !ended_; }
        bool has_to_pass(std::chrono::steady_clock::time_point now) const {
            return !empty() && now >= passes_at;
        }
        bool end_passed() const { return end_passed_; }
        std::string_view content() const { return {buffer_.data() + begin_, size()}; }

        // False if the connection is broken.
        bool receive(int from) {
            const ssize_t received = ::recv(from, buffer_.data(), buffer_.size(), 0);
            if (received < 0) return would_block();
            begin_ = 0;
            end_ = static_cast<std::size_t>(received);
            ended_ = received == 0;
            return true;
        }
        // The number of bytes sent, or nothing if the connection is broken.
        std::optional<std::size_t> send(int to, std::size_t most) {
            const ssize_t sent = ::send(to, buffer_.data() + begin_, most, MSG_NOSIGNAL);
            if (sent < 0) return would_block() ? std::optional<std::size_t>(0) : std::nullopt;
            begin_ += static_cast<std::size_t>(sent);
            return static_cast<std::size_t>(sent);
        }
        void pass_end(int to) {
            if (!ended_ || !empty() || end_passed_) return;
            ::shutdown(to, SHUT_WR);
            end_passed_ = true;
        }

        std::chrono::steady_clock::time_point passes_at;

    private:
        std::array<char, 65536> buffer_;
        std::size_t begin_ = 0;
        std::size_t end_ = 0;
        bool ended_ = false;       // the sender closed
        bool end_passed_ = false;  // and it was passed to the receiver
    };

    Connection(int client_socket, int server_socket)
        : client(client_socket), server(server_socket) {}
    ~Connection() {
        for (const int socket : {client, server}) {
            if (socket >= 0) ::close(socket);
        }
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    void break_off() {
        reset(std::exchange(client, -1));
        reset(std::exchange(server, -1));
    }

    int client;
    int server;
    bool connecting = true;   // to the server
    bool answer_due = false;  // the client's bytes were forwarded, and nothing came back yet
    std::string opening;      // what the client said first
    Stream requests;
    Stream answers;
};

TcpGate::TcpGate(const std::string& host, std::uint16_t upstream_port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int failure =
        ::getaddrinfo(host.c_str(), std::to_string(upstream_port).c_str(), &hints, &found);
    if (failure != 0) throw std::runtime_error(host + ": " + ::gai_strerror(failure));
    std::memcpy(&upstream_, found->ai_addr, found->ai_addrlen);
    upstream_size_ = found->ai_addrlen;
    ::freeaddrinfo(found);

    wake_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (wake_ < 0) throw_errno("cannot make an eventfd");
    listener_ = listen_on(port_);

    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { work(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TcpGate::~TcpGate() {
    control([this] { stopping_ = true; });
    thread_.join();
    ::close(listener_);
    ::close(wake_);
}

void TcpGate::redirect(std::uint16_t upstream_port) {
    control([this, upstream_port] {
        // The port has the same offset in the addresses of both families.
        reinterpret_cast<sockaddr_in&>(upstream_).sin_port = htons(upstream_port);
    });
}

void TcpGate::cut() {
    control([this] {
        cuts_ += open_.size();
        for (auto& connection : open_) connection.break_off();
        open_.clear();
    });
}

void TcpGate::refuse() {
    control([this] {
        if (!std::exchange(accepting_, false)) return;
        while (accept_connection()) {
        }
        // Stops listening and keeps the port.
        ::shutdown(listener_, SHUT_RDWR);
    });
}

void TcpGate::accept() {
    control([this] {
        if (!std::exchange(accepting_, true)) ::listen(listener_, SOMAXCONN);
    });
}

void TcpGate::hold() {
    control([this] { passing_ = Passing::none; });
}

void TcpGate::hold_answers() {
    control([this] { passing_ = Passing::client_bytes; });
}

void TcpGate::hold_requests() {
    control([this] { passing_ = Passing::server_bytes; });
}

void TcpGate::hold_connections_with(std::string text) {
    control([this, &text] { held_text_ = std::move(text); });
}

void TcpGate::pass_everything() {
    control([this] {
        passing_ = Passing::all;
        held_text_.clear();
        client_bytes_to_pass_.reset();
        answers_to_pass_.reset();
    });
}

void TcpGate::set_conditions(NetworkConditions conditions) {
    control([this, conditions] { conditions_ = conditions; });
}

bool TcpGate::requests_pass(Passing passing) {
    return passing == Passing::all || passing == Passing::client_bytes;
}

bool TcpGate::answers_pass(Passing passing) {
    return passing == Passing::all || passing == Passing::server_bytes;
}

TcpGate::Passing TcpGate::passing(const Connection& connection) const {
    const bool held = !held_text_.empty() && connection.opening.contains(held_text_);
    return held ? Passing::none : passing_;
}

TcpGate::Clock::time_point TcpGate::passes_at() {
    constexpr auto retransmission = 200ms;
    const auto spread = (conditions_.delay_to - conditions_.delay_from).count() + 1;
    auto delay =
        conditions_.delay_from + std::chrono::milliseconds{static_cast<long>(dice_()) % spread};
    if (std::generate_canonical<double, 24>(dice_) < conditions_.loss) delay += retransmission;
    return Clock::now() + delay;
}

void TcpGate::cut_after_client_bytes(std::size_t n) {
    control([this, n] { client_bytes_to_pass_ = n; });
}

void TcpGate::cut_before_answer(std::size_t answers_to_pass) {
    control([this, answers_to_pass] {
        answers_to_pass_ = answers_to_pass;
        for (auto& connection : open_) connection.answer_due = false;
    });
}

void TcpGate::control(std::function<void()> change) {
    std::unique_lock lock(mutex_);
    changes_.push_back(std::move(change));
    const std::size_t mine = ++changes_asked_;
    ::eventfd_write(wake_, 1);
    changed_.wait(lock, [&] { return changes_made_ >= mine; });
}

void TcpGate::work() {
    std::vector<pollfd> events;
    while (!stopping_) {
        events.assign({{wake_, POLLIN, 0}, {accepting_ ? listener_ : -1, POLLIN, 0}});
        const auto now = Clock::now();
        auto next_due = Clock::time_point::max();
        const auto due = [&](const Connection::Stream& stream) {
            if (!stream.empty() && !stream.has_to_pass(now))
                next_due = std::min(next_due, stream.passes_at);
            return stream.has_to_pass(now);
        };
        for (const auto& connection : open_) {
            short client = 0;
            short server = 0;
            const Passing passing = this->passing(connection);
            if (connection.connecting) {
                server |= POLLOUT;
            } else {
                if (requests_pass(passing)) {
                    if (connection.requests.wants_to_read()) client |= POLLIN;
                    if (due(connection.requests)) server |= POLLOUT;
                }
                if (answers_pass(passing)) {
                    if (connection.answers.wants_to_read()) server |= POLLIN;
                    if (due(connection.answers)) client |= POLLOUT;
                }
            }
            // A socket that is polled for no event would still report its end, again and again.
            events.push_back({client != 0 ? connection.client : -1, client, 0});
            events.push_back({server != 0 ? connection.server : -1, server, 0});
        }
        const int patience =
            next_due == Clock::time_point::max()
                ? -1
                : static_cast<int>(
                      std::chrono::ceil<std::chrono::milliseconds>(next_due - now).count());
        if (::poll(events.data(), events.size(), patience) < 0) continue;

        if (events[0].revents != 0) {
            run_changes();
            continue;
        }
        std::size_t event = 2;
        for (auto connection = open_.begin(); connection != open_.end(); event += 2) {
            const bool ready = events[event].revents != 0 || events[event + 1].revents != 0;
            const Next next = ready ? forward(*connection) : Next::go_on;
            if (next == Next::cut) ++cuts_;
            if (next == Next::cut || next == Next::give_up) connection->break_off();
            connection = next == Next::go_on ? std::next(connection) : open_.erase(connection);
        }
        if (events[1].revents != 0) accept_connection();
    }
    for (auto& connection : open_) connection.break_off();
    open_.clear();
}

void TcpGate::run_changes() {
    eventfd_t ignored = 0;
    ::eventfd_read(wake_, &ignored);
    const std::lock_guard lock(mutex_);
    for (auto& change : changes_) change();
    changes_made_ += changes_.size();
    changes_.clear();
    changed_.notify_all();
}

bool TcpGate::accept_connection() {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client < 0) return false;
    ++connections_;
    const int server = ::socket(upstream_.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (server < 0 ||
        (::connect(server, reinterpret_cast<const sockaddr*>(&upstream_), upstream_size_) != 0 &&
         errno != EINPROGRESS)) {
        if (server >= 0) ::close(server);
        reset(client);
        return true;
    }
    send_at_once(client);
    send_at_once(server);
    open_.emplace_back(client, server);
    return true;
}

TcpGate::Next TcpGate::forward(Connection& connection) {
    if (connection.connecting) {
        int error = 0;
        socklen_t size = sizeof error;
        ::getsockopt(connection.server, SOL_SOCKET, SO_ERROR, &error, &size);
        connection.connecting = false;
        return error == 0 ? Next::go_on : Next::give_up;
    }
    Next next = Next::go_on;
    if (requests_pass(passing(connection))) next = forward_requests(connection);
    if (answers_pass(passing(connection)) && next == Next::go_on) {
        next = forward_answers(connection);
    }
    const bool ended = connection.requests.end_passed() && connection.answers.end_passed();
    return next == Next::go_on && ended ? Next::end : next;
}

TcpGate::Next TcpGate::forward_requests(Connection& connection) {
    auto& requests = connection.requests;
    if (requests.wants_to_read()) {
        if (!requests.receive(connection.client)) return Next::give_up;
        requests.passes_at = passes_at();
        constexpr std::size_t enough = 1024;
        if (connection.opening.size() < enough) connection.opening += requests.content();
        if (passing(connection) == Passing::none) return Next::go_on;
    }
    if (requests.has_to_pass(Clock::now())) {
        const std::size_t most =
            std::min(requests.size(), client_bytes_to_pass_.value_or(SIZE_MAX));
        if (most > 0) {
            const auto sent = requests.send(connection.server, most);
            if (!sent) return Next::give_up;
            if (*sent > 0) connection.answer_due = true;
            if (client_bytes_to_pass_) *client_bytes_to_pass_ -= *sent;
            client_bytes_ += *sent;
        }
        if (client_bytes_to_pass_ == 0U) {
            client_bytes_to_pass_.reset();
            return Next::cut;
        }
    }
    requests.pass_end(connection.server);
    return Next::go_on;
}

TcpGate::Next TcpGate::forward_answers(Connection& connection) {
    auto& answers = connection.answers;
    if (answers.wants_to_read()) {
        if (!answers.receive(connection.server)) return Next::give_up;
        answers.passes_at = passes_at();
        const bool is_answer = !answers.empty() && std::exchange(connection.answer_due, false);
        if (is_answer) ++answers_;
        if (is_answer && answers_to_pass_ && (*answers_to_pass_)-- == 0) {
            answers_to_pass_.reset();
            return Next::cut;
        }
    }
    if (answers.has_to_pass(Clock::now()) && !answers.send(connection.client, answers.size())) {
        return Next::give_up;
    }
    answers.pass_end(connection.client);
    return Next::go_on;
}

}  // namespace leasehold::testing
