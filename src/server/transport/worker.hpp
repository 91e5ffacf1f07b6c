#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/transport/connections.hpp"
#include "server/transport/session.hpp"

namespace leasehold::server {

// One thread's share of the connections: its io_context, its sessions and their deadlines.
class Worker {
public:
    // Both outlive this.
    Worker(const ServerOptions& options, Connections& connections);
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    ~Worker();

    // Runs until stop() was called and all sessions have ended. Reports exceptions to the observer
    // and continues.
    void run();

    // May be called from any thread, like serve().
    void stop();
    // Serves the connection, with TLS if there is an identity. Destroys the place of the peer when
    // the client is known or the connection ends.
    void serve(Socket socket, Dispatcher& dispatcher, std::shared_ptr<const TlsIdentity> identity,
               Peer peer);

    // Ends the connections of clients that a certificate has authenticated, after the requests
    // under way. From any thread.
    void stop_certified();

    [[nodiscard]] asio::io_context& context() noexcept { return context_; }
    [[nodiscard]] const ServerOptions& options() const noexcept { return options_; }
    // Sends the session's answer at the end of this turn of the event loop, and then resumes the
    // session. All answers of a turn are sent together: a client process that reads several of them
    // is woken once, and can send its next requests while the sessions resume.
    void send_soon(Session& session, Resume resume);

    // On this worker's thread: the stranger has sent something, or the known client is idle now.
    void heard_of(Session& stranger);
    void is_idle(Session& known);

    // Which clients may lose their connection to another client.
    enum class Expendable : std::uint8_t { stranger, idle };
    // On this worker's thread: closes the connection that has been silent longest of these clients.
    // False if no connection can be closed. An idle client is not expendable for its first seconds.
    [[nodiscard]] bool evict(Expendable client);

    // The value of the Date field of an answer made now.
    [[nodiscard]] std::string_view date();
    // The header fields of every answer on a connection with TLS.
    [[nodiscard]] std::string_view fields_with_tls() const noexcept { return fields_with_tls_; }

private:
    [[nodiscard]] Task<void> hold(std::unique_ptr<Session> session, std::shared_ptr<void> ended);
    void tick();
    void send_all();

    asio::io_context context_{1};
    const ServerOptions& options_;
    Connections& connections_;
    std::optional<asio::executor_work_guard<Executor>> open_;  // empty after stop()
    Timer ticks_{context_.get_executor()};
    bool ticking_ = false;
    bool tick_is_due_ = false;                           // the timer is set
    std::vector<std::pair<Session*, Resume>> answered_;  // in this turn of the event loop
    Clock::time_point cut_at_ = Clock::time_point::max();
    const std::string fields_with_tls_;
    std::chrono::sys_seconds date_of_{};
    std::string date_;
    boost::intrusive::list<Session, boost::intrusive::constant_time_size<false>> sessions_;
    // The ones that have been silent longest come first.
    using Line = boost::intrusive::list<
        Session,
        boost::intrusive::member_hook<Session, decltype(Session::in_line), &Session::in_line>,
        boost::intrusive::constant_time_size<false>>;
    Line strangers_;
    Line idle_;
};

// Starts a thread, or throws std::system_error.
using StartThread = std::function<std::jthread(std::function<void()>)>;

// Runs all workers, the first on this thread and each of the others on its own, until they have
// stopped. The first one ends last, because it runs what all workers share. Calls `begin` once all
// threads have started. If one cannot be started, calls `stop` instead, which stops the workers,
// and throws std::system_error once they have ended.
void run_all(std::span<const std::unique_ptr<Worker>> workers, const StartThread& start,
             const std::function<void()>& begin, const std::function<void()>& stop);

}  // namespace leasehold::server
