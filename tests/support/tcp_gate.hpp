#pragma once

#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace leasehold::testing {

// A TCP proxy on a port of 127.0.0.1 that can fail like a network.
// Thread-safe. A control is in effect when its call returns. Cutting is a reset (RST) to both
// sides; bytes already forwarded reach the other side before it.
class TcpGate {
public:
    TcpGate(const std::string& host, std::uint16_t upstream_port);
    ~TcpGate();
    TcpGate(const TcpGate&) = delete;
    TcpGate& operator=(const TcpGate&) = delete;

    std::uint16_t port() const { return port_; }

    // New connections go to another port of the same host; open ones stay.
    void redirect(std::uint16_t upstream_port);

    // Cuts every open connection.
    void cut();
    // New connections find nobody listening, until accept(). Open ones stay.
    void refuse();
    void accept();

    // Connections open and stay open, but nothing passes in either direction, not even their end.
    void hold();
    // The client's bytes pass; the server's bytes are held.
    void hold_answers();
    // The server's bytes pass; the clients' bytes are held, even the bytes of clients that have
    // left.
    void hold_requests();
    // Holds every connection whose first bytes from the client contain this text. All others pass.
    void hold_connections_with(std::string text);
    // Everything passes again, including the bytes that were held. A cut that was requested and has
    // not happened yet is cancelled.
    void pass_everything();

    // Forwards bytes after a random delay between the two values. A lost packet is delayed further,
    // by TCP's retransmission time. Lasts until conditions without delay and loss are set.
    struct NetworkConditions {
        std::chrono::milliseconds delay_from{};
        std::chrono::milliseconds delay_to{};
        double loss = 0;  // of everything that arrives, 0 to 1
    };
    void set_conditions(NetworkConditions conditions);

    // Lets n more bytes pass from clients to the server, over all connections, and cuts the
    // connection that brought the last of them. With n = 0 the next byte a client sends is dropped
    // and its connection cut. Happens once.
    void cut_after_client_bytes(std::size_t n);
    // Drops the next answer and cuts its connection: the server has acted, and the client does not
    // learn it. An answer is what a server sends after bytes that its client sent after this call.
    // Lets the given number of answers pass first. Happens once.
    void cut_before_answer(std::size_t answers_to_pass = 0);

    // Since the gate was made: connections accepted, of these cut by the gate, bytes forwarded to
    // the server, and answers (see cut_before_answer) that the server sent.
    std::size_t connections() const { return connections_; }
    std::size_t cuts() const { return cuts_; }
    std::size_t client_bytes() const { return client_bytes_; }
    std::size_t answers() const { return answers_; }

private:
    enum class Passing { all, client_bytes, server_bytes, none };
    enum class Next { go_on, end, cut, give_up };  // give_up: one side broke it or is not there
    class Connection;
    using Clock = std::chrono::steady_clock;

    Passing passing(const Connection& connection) const;
    [[nodiscard]] static bool requests_pass(Passing passing);
    [[nodiscard]] static bool answers_pass(Passing passing);
    // The time at which bytes that arrive now are forwarded.
    Clock::time_point passes_at();
    // Runs the change on the gate's thread and waits for it.
    void control(std::function<void()> change);
    void work();
    void run_changes();
    // False if no connection was waiting.
    bool accept_connection();
    Next forward(Connection& connection);
    Next forward_requests(Connection& connection);
    Next forward_answers(Connection& connection);

    std::uint16_t port_ = 0;
    sockaddr_storage upstream_ = {};
    socklen_t upstream_size_ = 0;
    int listener_ = -1;
    int wake_ = -1;

    // Used only by the gate's thread.
    Passing passing_ = Passing::all;
    std::string held_text_;  // of hold_connections_with(); empty: none is held
    NetworkConditions conditions_;
    std::minstd_rand dice_;
    bool accepting_ = true;
    bool stopping_ = false;
    std::optional<std::size_t> client_bytes_to_pass_;
    std::optional<std::size_t> answers_to_pass_;
    std::list<Connection> open_;

    std::atomic<std::size_t> connections_ = 0;
    std::atomic<std::size_t> cuts_ = 0;
    std::atomic<std::size_t> client_bytes_ = 0;
    std::atomic<std::size_t> answers_ = 0;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::function<void()>> changes_;  // guarded by mutex_
    std::size_t changes_asked_ = 0;               // guarded by mutex_
    std::size_t changes_made_ = 0;                // guarded by mutex_

    std::thread thread_;
};

}  // namespace leasehold::testing
