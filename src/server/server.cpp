#include "server/server.hpp"

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>

#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/retry.hpp"
#include "server/http/phrases.hpp"
#include "server/monitoring/observer.hpp"
#include "server/protocol/dispatcher.hpp"
#include "server/transport/connections.hpp"
#include "server/transport/peers.hpp"
#include "server/transport/tls.hpp"
#include "server/transport/worker.hpp"
#include "server/v1/native.hpp"

namespace leasehold::server {
namespace {

using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t most_send_buffer = 1U << 30U;

// Answers a connection that is not served, if that is possible without waiting for the client.
void turn_away(Socket socket, const Dispatcher& dispatcher) {
    std::string out;
    print(out, dispatcher.error({}, overloaded(phrases::connections)),
          http_date(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now())),
          AfterReply::close, WithBody::yes);
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(out), ignored);
    socket.shutdown(Socket::shutdown_send, ignored);
}

// Makes sure that there is an observer.
ServerOptions observed(ServerOptions options) {
    static Observer ignores_everything;
    if (options.observer == nullptr) options.observer = &ignores_everything;
    return options;
}

std::vector<std::unique_ptr<Protocol>> protocols_of(const ServerOptions& options,
                                                    Backend& backend) {
    std::vector<std::unique_ptr<Protocol>> protocols;
    protocols.push_back(std::make_unique<v1::Native>(backend));
    for (const auto& make : options.protocols) protocols.push_back(make(backend));
    return protocols;
}

}  // namespace

class Server::Parts {
public:
    Parts(LockManager& locks, ServerOptions options)
        : options_{observed(std::move(options))},
          workers_{make_workers()},
          backend_{locks, first(), options_},
          dispatcher_{protocols_of(options_, backend_), backend_, options_} {
        listen();
        const int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (event < 0) throw std::system_error{errno, std::generic_category(), "eventfd"};
        stop_event_.assign(event);
    }

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] std::size_t connections() const noexcept { return connections_.all(); }
    [[nodiscard]] std::size_t waiting() noexcept { return backend_.waiting(); }
    [[nodiscard]] std::size_t listening() { return backend_.listening(); }

    void use(std::shared_ptr<const Tokens> tokens) { backend_.use(std::move(tokens)); }
    void use(std::shared_ptr<const TlsIdentity> identity) {
        {
            const std::lock_guard lock{identity_mutex_};
            identity_ = std::move(identity);
        }
        for (const auto& worker : workers_) worker->stop_certified();
    }

    void run() {
        asio::co_spawn(first(), wait_for_stop(), rethrow);
        run_all(
            workers_, [](std::function<void()> work) { return std::jthread{std::move(work)}; },
            [this] { asio::co_spawn(first(), accept(), rethrow); }, [this] { stop(); });
    }

    void stop() noexcept {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written =
            ::write(stop_event_.native_handle(), &one, sizeof one);
    }

private:
    using Acceptor = asio::basic_socket_acceptor<tcp, Executor>;
    using Event = asio::posix::basic_stream_descriptor<Executor>;

    [[nodiscard]] asio::io_context& first() noexcept { return workers_.front()->context(); }

    [[nodiscard]] std::vector<std::unique_ptr<Worker>> make_workers() {
        std::vector<std::unique_ptr<Worker>> workers;
        for (std::size_t i = 0; i < std::max<std::size_t>(options_.threads, 1); ++i) {
            workers.push_back(std::make_unique<Worker>(options_, connections_));
        }
        return workers;
    }

    void listen() try {
        const tcp::endpoint endpoint{asio::ip::make_address(options_.address), options_.port};
        if (!options_.tokens && !endpoint.address().is_loopback()) {
            throw BadRequest{"a server without tokens listens on a loopback address only"};
        }
        acceptor_.open(endpoint.protocol());
        acceptor_.set_option(Acceptor::reuse_address{true});
        bound_send_buffers();
        acceptor_.bind(endpoint);
        acceptor_.listen(4096);
        port_ = acceptor_.local_endpoint().port();
    } catch (const boost::system::system_error& error) {
        throw std::system_error{error.code(), "listen"};
    }

    // Connections inherit these from the acceptor. Without them the system keeps megabytes for each
    // client that does not read.
    void bound_send_buffers() {
        constexpr int unsent_bytes = 16 * 1024;
        using NotSent = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_NOTSENT_LOWAT>;
        acceptor_.set_option(Acceptor::send_buffer_size{
            static_cast<int>(std::min(options_.send_buffer_bytes, most_send_buffer))});
        acceptor_.set_option(NotSent{unsent_bytes});
    }

    [[nodiscard]] std::shared_ptr<const TlsIdentity> identity() {
        const std::lock_guard lock{identity_mutex_};
        return identity_;
    }

    void serve(Worker& worker, Socket socket, const asio::ip::address& address) {
        Peer peer{.name = name_of(address)};
        if (const std::size_t most = most_strangers_from(address, options_); most > 0) {
            peer.place = peers_.enter(peer.name, most);
            if (!peer.place) return refuse(std::move(socket));
        }
        if (options_.identity) {
            peer.may_shake_hands = [this, name = peer.name] {
                const bool may = peers_.may_shake_hands(name, options_.handshakes_per_address);
                if (!may) options_.observer->happened(ConnectionEvent::turned_away);
                return may;
            };
        }
        worker.serve(std::move(socket), dispatcher_, identity(), std::move(peer));
    }

    void refuse(Socket socket) {
        options_.observer->happened(ConnectionEvent::turned_away);
        if (!options_.identity) turn_away(std::move(socket), dispatcher_);
    }

    // Whether there is a place for another connection, perhaps that of a silent client.
    Task<bool> make_room() {
        using Expendable = Worker::Expendable;
        if (!connections_.full_of_strangers() && !connections_.full()) co_return true;
        bool evicted = false;
        if (connections_.has_many_strangers()) evicted = co_await evict(Expendable::stranger);
        if (evicted || !connections_.full()) co_return evicted;
        evicted = co_await evict(Expendable::idle);
        if (!evicted) evicted = co_await evict(Expendable::stranger);
        co_return evicted;
    }

    Task<bool> evict(Worker::Expendable client) {
        for (std::size_t i = 0; i < workers_.size(); ++i) {
            Worker& worker = *workers_[++evictions_ % workers_.size()];
            auto begin = [&worker, client](auto resume) {
                asio::post(worker.context(),
                           [&worker, client, resume] { resume(worker.evict(client)); });
            };
            const bool evicted = co_await answer_from<bool>(begin);
            if (evicted) co_return true;
        }
        co_return false;
    }

    Task<void> accept() {
        for (std::size_t turn = 0; acceptor_.is_open(); ++turn) {
            bool accepted = false;
            try {
                accepted = co_await accept_one(*workers_[turn % workers_.size()]);
            } catch (const std::exception& error) {
                options_.observer->failed(error.what());
            }
            if (!accepted && acceptor_.is_open()) co_await pause();
        }
    }

    // False if no connection could be accepted.
    Task<bool> accept_one(Worker& worker) {
        Socket socket{worker.context()};
        tcp::endpoint client;
        error_code error;
        co_await acceptor_.async_accept(socket, client, asio::redirect_error(use_task, error));
        if (error == asio::error::operation_aborted) co_return false;
        if (error) {
            options_.observer->happened(ConnectionEvent::accepting_paused);
            co_return false;
        }
        const bool room = co_await make_room();
        room ? serve(worker, std::move(socket), client.address()) : refuse(std::move(socket));
        co_return true;
    }

    // For example, there are no file descriptors left until other connections end.
    Task<void> pause() {
        Timer timer{first().get_executor(), retries::accept_pause};
        error_code ignored;
        co_await timer.async_wait(asio::redirect_error(use_task, ignored));
    }

    Task<void> wait_for_stop() {
        error_code ignored;
        co_await stop_event_.async_wait(Event::wait_read, asio::redirect_error(use_task, ignored));
        acceptor_.close(ignored);
        backend_.close();
        for (const auto& worker : workers_) worker->stop();
    }

    const ServerOptions options_;
    Peers peers_;
    Connections connections_{options_.connections};
    std::size_t evictions_ = 0;  // the workers take turns
    std::vector<std::unique_ptr<Worker>> workers_;
    Backend backend_;
    Dispatcher dispatcher_;
    Acceptor acceptor_{first()};
    Event stop_event_{first()};
    std::uint16_t port_ = 0;
    std::mutex identity_mutex_;
    std::shared_ptr<const TlsIdentity> identity_ = options_.identity;  // guarded by identity_mutex_
};

Server::Server(LockManager& locks, ServerOptions options)
    : parts_{std::make_unique<Parts>(locks, std::move(options))} {}

Server::~Server() = default;

std::uint16_t Server::port() const noexcept {
    return parts_->port();
}

std::size_t Server::connections() const noexcept {
    return parts_->connections();
}

std::size_t Server::waiting() const noexcept {
    return parts_->waiting();
}

std::size_t Server::listening() const {
    return parts_->listening();
}

void Server::run() {
    parts_->run();
}

void Server::use(std::shared_ptr<const Tokens> tokens) {
    parts_->use(std::move(tokens));
}

void Server::use(std::shared_ptr<const TlsIdentity> identity) {
    parts_->use(std::move(identity));
}

void Server::stop() noexcept {
    parts_->stop();
}

}  // namespace leasehold::server
