#include "stores/http/server_connection.hpp"

#include <utility>

namespace leasehold::http {

ServerConnection::ServerConnection(const ServerAddress& target, Duration io_timeout)
    : prefix_{target.prefix},
      token_{target.token},
      io_timeout_{io_timeout},
      connection_{{.what = "the Leasehold server",
                   .host = target.host,
                   .port = target.port,
                   .transport = target.transport == ServerAddress::Transport::tls
                                    ? net::Transport::tls
                                    : net::Transport::plain,
                   .ca_file = target.ca_file,
                   .cert_file = target.cert_file,
                   .key_file = target.key_file}} {}

Response ServerConnection::post(const std::string& path, std::string body,
                                StoreFault::Effect effect_once_sent) {
    return wait_for({.method = net::Method::post,
                     .path = path,
                     .body = std::move(body),
                     .effect_once_sent = effect_once_sent},
                    {}, {});
}

Response ServerConnection::wait_for(net::Message message, Duration patience,
                                    const std::stop_token& ended) {
    message.path = prefix_ + message.path;
    if (!token_.empty()) message.headers.push_back({"Authorization", "Bearer " + token_});
    const auto deadline = std::chrono::steady_clock::now() + io_timeout_;
    const net::HttpConnection::Deadlines deadlines{
        .connected = deadline, .answered = deadline + patience, .ended = ended};
    return connection_.exchange(message, deadlines);  // lab: exchange
}

}  // namespace leasehold::http
