#include "net/http_connection.hpp"

#include <sys/socket.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <optional>
#include <utility>

#include "core/secret_file.hpp"

namespace leasehold::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using boost::system::error_code;

using Request = beast::http::request<beast::http::string_body>;

constexpr std::uint64_t longest_answer = 64 << 20;
// Shorter than a server keeps an idle connection, so that we never use one that it is closing.
constexpr std::chrono::seconds longest_idle{15};

StoreFault unreachable(const std::string& name, StoreFault::Effect effect,
                       const std::string& problem) {
    return {effect, StoreFault::Cause::unavailable, name + ": " + problem};
}

StoreFault misconfigured(const std::string& problem) {
    return {StoreFault::Effect::none, StoreFault::Cause::configuration, problem};
}

std::string pem_in(const std::string& path) {
    constexpr std::size_t most_bytes = 1 << 20;
    auto content = read_regular_file(path, most_bytes);
    if (content) return *std::move(content);
    throw misconfigured("our certificate or its key cannot be read: '" + path +
                        "': " + content.error());
}

}  // namespace

// An open connection, plain or with TLS.
class HttpConnection::Link {
public:
    Link(const Peer& peer, const std::string& name, Lookup& lookup, Moment deadline)
        : name_{name}, deadline_{deadline} {
        const auto found = lookup.find(deadline);
        require(StoreFault::Effect::none, "cannot be found",
                found ? std::optional{found->error} : std::nullopt);
        complete(StoreFault::Effect::none, "cannot be reached",
                 [&](auto ended) { asio::async_connect(socket_, found->addresses, ended); });
        socket_.set_option(tcp::no_delay{true});
        if (peer.transport == Transport::tls) secure(peer);
    }

    // Whether it can carry one more request, as far as can be seen from here.
    [[nodiscard]] bool usable() {
        if (!kept_ || buffer_.size() > 0 || SteadyClock::now() > last_used_ + longest_idle)
            return false;
        char byte = 0;
        const ssize_t got = recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    }

    Response exchange(const Request& request, StoreFault::Effect effect_once_sent,
                      const Deadlines& deadlines) {
        deadline_ = deadlines.answered;
        kept_ = false;
        beast::http::response_parser<beast::http::string_body> parser;
        parser.body_limit(longest_answer);
        const std::stop_callback cut{deadlines.ended,
                                     [this] { asio::post(context_, [this] { close(); }); }};
        with_stream([&](auto& stream) {
            complete(effect_once_sent, "the connection was lost",
                     [&](auto ended) { beast::http::async_write(stream, request, ended); });
            complete(effect_once_sent, "the connection was lost",
                     [&](auto ended) { beast::http::async_read(stream, buffer_, parser, ended); });
        });
        // After an interim answer the final one is still to come: it must not be taken for the
        // answer to the next request.
        kept_ = parser.get().keep_alive() && parser.get().result_int() >= 200;
        last_used_ = SteadyClock::now();
        return {parser.get().result_int(), std::move(parser.get().body())};
    }

    unsigned open_stream(const Request& request, const Deadlines& deadlines) {
        deadline_ = deadlines.answered;
        kept_ = false;
        stream_.emplace();
        stream_->body_limit(boost::none);
        const std::stop_callback cut{deadlines.ended,
                                     [this] { asio::post(context_, [this] { close(); }); }};
        with_stream([&](auto& stream) {
            complete(StoreFault::Effect::none, "the connection was lost",
                     [&](auto ended) { beast::http::async_write(stream, request, ended); });
            complete(StoreFault::Effect::none, "the connection was lost", [&](auto ended) {
                beast::http::async_read_header(stream, buffer_, *stream_, ended);
            });
        });
        return stream_->get().result_int();
    }

    std::optional<std::string> next_line(const Deadlines& deadlines) {
        deadline_ = deadlines.answered;
        const std::stop_callback cut{deadlines.ended,
                                     [this] { asio::post(context_, [this] { close(); }); }};
        std::string& body = stream_->get().body();
        for (std::size_t end = body.find('\n');; end = body.find('\n')) {
            if (end != std::string::npos) {
                std::string line = body.substr(0, end);
                body.erase(0, end + 1);
                return line;
            }
            if (stream_->is_done() || body.size() > longest_answer) {
                throw unreachable(name_, StoreFault::Effect::none, "the stream has ended");
            }
            if (!read_more()) return std::nullopt;
        }
    }

private:
    // One read of the stream may last for several calls. False if nothing came by the deadline.
    bool read_more() {
        if (!reading_) {
            reading_ = true;
            read_.reset();
            with_stream([&](auto& stream) {
                beast::http::async_read_some(
                    stream, buffer_, *stream_,
                    [this](error_code error, std::size_t) { read_ = error; });
            });
        }
        context_.restart();
        while (!read_ && context_.run_one_until(deadline_) > 0) {
        }
        if (!read_) return false;
        reading_ = false;
        require(StoreFault::Effect::none, "the connection was lost", read_);
        return true;
    }

    void close() {
        error_code ignored;
        socket_.close(ignored);
    }

    void secure(const Peer& peer) {
        tls_context_.emplace(asio::ssl::context::tls_client);
        error_code error;
        if (peer.ca_file.empty()) {
            tls_context_->set_default_verify_paths(error);
        } else {
            tls_context_->load_verify_file(peer.ca_file, error);
        }
        if (error) {
            throw misconfigured("the certificates to trust cannot be read: " + error.message());
        }
        if (!peer.cert_file.empty()) {
            const std::string chain = pem_in(peer.cert_file);
            const std::string key = peer.key_file.empty() ? chain : pem_in(peer.key_file);
            tls_context_->use_certificate_chain(asio::buffer(chain), error);
            if (!error) {
                tls_context_->use_private_key(asio::buffer(key), asio::ssl::context::pem, error);
            }
            if (error) {
                throw misconfigured("our certificate or its key cannot be read: " +
                                    error.message());
            }
        }
        SSL_CTX_set_min_proto_version(tls_context_->native_handle(), TLS1_2_VERSION);
        tls_.emplace(socket_, *tls_context_);
        tls_->set_verify_mode(asio::ssl::verify_peer);
        expect(peer.host);
        try {
            complete(StoreFault::Effect::none, "TLS failed", [&](auto ended) {
                tls_->async_handshake(asio::ssl::stream_base::client, ended);
            });
        } catch (const StoreFault&) {
            const long verdict = SSL_get_verify_result(tls_->native_handle());
            if (verdict == X509_V_OK) throw;
            throw misconfigured(name_ + ": its certificate is not accepted: " +
                                X509_verify_cert_error_string(verdict));
        }
    }

    // The name that the certificate must have.
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
        require(effect, problem, result);
    }

    // Throws if there is no result, or if it is an error.
    void require(StoreFault::Effect effect, const std::string& problem,
                 const std::optional<error_code>& result) const {
        if (!result) throw unreachable(name_, effect, problem + ": no answer in time");
        if (*result) throw unreachable(name_, effect, problem + ": " + result->message());
    }

    const std::string& name_;
    // The answer of open_stream().
    std::optional<beast::http::response_parser<beast::http::string_body>> stream_;
    bool reading_ = false;
    std::optional<error_code> read_;  // the result of the read, once it has ended
    asio::io_context context_{1};
    tcp::socket socket_{context_};
    std::optional<asio::ssl::context> tls_context_;
    std::optional<asio::ssl::stream<tcp::socket&>> tls_;
    beast::flat_buffer buffer_;
    Moment deadline_;  // of the call that is under way
    SteadyClock::time_point last_used_ = SteadyClock::now();
    bool kept_ = true;
};

HttpConnection::HttpConnection(Peer peer)
    : peer_{std::move(peer)},
      server_{(peer_.host.contains(':') ? '[' + peer_.host + ']' : peer_.host) + ':' +
              std::to_string(peer_.port)},
      name_{peer_.what + " at " + server_},
      lookup_{peer_.host, peer_.port} {}

HttpConnection::~HttpConnection() = default;

namespace {

Request request_for(const Message& message, const std::string& server) {
    const bool posts = message.method == Method::post;
    Request request{posts ? beast::http::verb::post : beast::http::verb::get, message.path, 11};
    request.set(beast::http::field::host, server);
    request.set(beast::http::field::accept, "application/json");
    for (const Header& header : message.headers) request.set(header.name, header.value);
    if (posts) {
        request.set(beast::http::field::content_type, "application/json");
        request.body() = message.body;
        request.prepare_payload();
    }
    return request;
}

}  // namespace

void HttpConnection::link(Moment deadline) {
    if (link_ && link_->usable()) return;
    link_.reset();
    link_ = std::make_unique<Link>(peer_, name_, lookup_, deadline);
}

Response HttpConnection::exchange(const Message& message, const Deadlines& deadlines) {
    const Request request = request_for(message, server_);
    try {
        link(deadlines.connected);
        return link_->exchange(request, message.effect_once_sent, deadlines);
    } catch (...) {
        link_.reset();
        throw;
    }
}

unsigned HttpConnection::open_stream(const Message& message, const Deadlines& deadlines) {
    const Request request = request_for(message, server_);
    try {
        link(deadlines.connected);
        return link_->open_stream(request, deadlines);
    } catch (...) {
        link_.reset();
        throw;
    }
}

std::optional<std::string> HttpConnection::next_line(const Deadlines& deadlines) {
    if (!link_) throw unreachable(name_, StoreFault::Effect::none, "there is no stream");
    try {
        return link_->next_line(deadlines);
    } catch (...) {
        link_.reset();
        throw;
    }
}

}  // namespace leasehold::net
