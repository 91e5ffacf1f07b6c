#include "stores/http/connection.hpp"

#include <sys/socket.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <optional>
#include <utility>

namespace leasehold::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::uint64_t longest_answer = 64 << 20;
// Shorter than a server keeps an idle connection: one that it is just closing must not be used.
constexpr std::chrono::seconds longest_idle{15};

StoreFault unreachable(const std::string& server, StoreFault::Effect effect,
                       const std::string& problem) {
    return {effect, StoreFault::Cause::unavailable,
            "the Leasehold server at " + server + ": " + problem};
}

}  // namespace

struct Connection::Sending {
    beast::http::verb method;
    const std::string& path;
    std::string body;
    StoreFault::Effect effect_once_sent;
};

// A connection that stands, plain or with TLS around it.
class Connection::Link {
public:
    Link(const Target& target, const std::string& server, Moment deadline)
        : server_{server}, deadline_{deadline} {
        tcp::resolver resolver{context_};
        tcp::resolver::results_type addresses;
        complete(StoreFault::Effect::none, "cannot be found", [&](auto ended) {
            resolver.async_resolve(target.host, std::to_string(target.port),
                                   [&addresses, ended](error_code error, auto found) {
                                       addresses = std::move(found);
                                       ended(error);
                                   });
        });
        complete(StoreFault::Effect::none, "cannot be reached",
                 [&](auto ended) { asio::async_connect(socket_, addresses, ended); });
        socket_.set_option(tcp::no_delay{true});
        if (target.transport == Target::Transport::tls) secure(target);
    }

    // Whether it can carry one more request, as far as can be seen from here.
    [[nodiscard]] bool usable() {
        if (!kept_ || buffer_.size() > 0 || SteadyClock::now() > last_used_ + longest_idle)
            return false;
        char byte = 0;
        const ssize_t got = recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    }

    Response exchange(const beast::http::request<beast::http::string_body>& request,
                      StoreFault::Effect effect_once_sent, Moment deadline) {
        deadline_ = deadline;
        kept_ = false;
        beast::http::response_parser<beast::http::string_body> parser;
        parser.body_limit(longest_answer);
        with_stream([&](auto& stream) {
            complete(effect_once_sent, "the connection was lost",
                     [&](auto ended) { beast::http::async_write(stream, request, ended); });
            complete(effect_once_sent, "the connection was lost",
                     [&](auto ended) { beast::http::async_read(stream, buffer_, parser, ended); });
        });
        kept_ = parser.get().keep_alive();
        last_used_ = SteadyClock::now();
        return {parser.get().result_int(), std::move(parser.get().body())};
    }

private:
    void secure(const Target& target) {
        tls_context_.emplace(asio::ssl::context::tls_client);
        error_code error;
        if (target.ca_file.empty()) {
            tls_context_->set_default_verify_paths(error);
        } else {
            tls_context_->load_verify_file(target.ca_file, error);
        }
        if (error) {
            throw StoreFault{StoreFault::Effect::none, StoreFault::Cause::configuration,
                             "the certificates to trust cannot be read: " + error.message()};
        }
        SSL_CTX_set_min_proto_version(tls_context_->native_handle(), TLS1_2_VERSION);
        tls_.emplace(socket_, *tls_context_);
        tls_->set_verify_mode(asio::ssl::verify_peer);
        expect(target.host);
        try {
            complete(StoreFault::Effect::none, "TLS failed", [&](auto ended) {
                tls_->async_handshake(asio::ssl::stream_base::client, ended);
            });
        } catch (const StoreFault&) {
            const long verdict = SSL_get_verify_result(tls_->native_handle());
            if (verdict == X509_V_OK) throw;
            throw StoreFault{
                StoreFault::Effect::none, StoreFault::Cause::configuration,
                "the Leasehold server at " + server_ +
                    ": its certificate is not accepted: " + X509_verify_cert_error_string(verdict)};
        }
    }

    // Whose certificate it must be.
    void expect(const std::string& host) {
        SSL* const ssl = tls_->native_handle();
        error_code is_name;
        (void)asio::ip::make_address(host, is_name);
        if (is_name) {
            SSL_set1_host(ssl, host.c_str());
            SSL_set_tlsext_host_name(ssl, host.c_str());
        } else {
            X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str());
        }
    }

    template <class Use>
    void with_stream(Use use) {
        if (tls_)
            use(*tls_);
        else
            use(socket_);
    }

    // Runs one asynchronous step to its end, or to the deadline.
    template <class Start>
    void complete(StoreFault::Effect effect, const std::string& problem, Start start) {
        std::optional<error_code> result;
        start([&result](error_code error, auto&&...) { result = error; });
        context_.restart();
        while (!result && context_.run_one_until(deadline_) > 0) {
        }
        if (!result) throw unreachable(server_, effect, problem + ": no answer in time");
        if (*result) throw unreachable(server_, effect, problem + ": " + result->message());
    }

    const std::string& server_;
    asio::io_context context_{1};
    tcp::socket socket_{context_};
    std::optional<asio::ssl::context> tls_context_;
    std::optional<asio::ssl::stream<tcp::socket&>> tls_;
    beast::flat_buffer buffer_;
    Moment deadline_;  // of the call that is under way
    SteadyClock::time_point last_used_ = SteadyClock::now();
    bool kept_ = true;
};

Connection::Connection(Target target, Duration io_timeout)
    : target_{std::move(target)},
      io_timeout_{io_timeout},
      server_{(target_.host.contains(':') ? '[' + target_.host + ']' : target_.host) + ':' +
              std::to_string(target_.port)} {}

Connection::~Connection() = default;

Response Connection::get(const std::string& path) {
    return exchange({beast::http::verb::get, path, {}, StoreFault::Effect::none});
}

Response Connection::post(const std::string& path, std::string body,
                          StoreFault::Effect effect_once_sent) {
    return exchange({beast::http::verb::post, path, std::move(body), effect_once_sent});
}

Connection::Link& Connection::connected(Moment deadline) {
    if (!link_ || !link_->usable()) {
        link_.reset();
        link_ = std::make_unique<Link>(target_, server_, deadline);
    }
    return *link_;
}

Response Connection::exchange(const Sending& sending) {
    beast::http::request<beast::http::string_body> request{sending.method,
                                                           target_.prefix + sending.path, 11};
    request.set(beast::http::field::host, server_);
    request.set(beast::http::field::accept, "application/json");
    if (!target_.token.empty()) {
        request.set(beast::http::field::authorization, "Bearer " + target_.token);
    }
    if (sending.method == beast::http::verb::post) {
        request.set(beast::http::field::content_type, "application/json");
        request.body() = sending.body;
        request.prepare_payload();
    }
    const Moment deadline = std::chrono::steady_clock::now() + io_timeout_;
    try {
        return connected(deadline).exchange(request, sending.effect_once_sent, deadline);
    } catch (...) {
        link_.reset();
        throw;
    }
}

}  // namespace leasehold::http
