#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/findings.hpp"
#include "server/quota.hpp"

namespace leasehold::server {

class Audit;
class Backend;
class Metrics;
class Observer;
class Protocol;
class TlsIdentity;
class Tokens;

// How often something may be done: on average, and in one burst.
struct Rate {
    double per_second = 0;
    double at_once = 0;
};

// The settings of a server. Every size, time and number that clients could drive up has a limit
// here.
struct ServerOptions {
    std::string address = "127.0.0.1";
    std::uint16_t port = 7470;  // 0: any free port, see Server::port()
    std::size_t threads = 1;

    // The most bytes of a request's header (request line and fields), and of its body.
    std::size_t header_bytes = 16 * 1024;
    std::size_t body_bytes = 1024 * 1024;
    // The most bytes of all large bodies together. A token gets at most half of them, and loses its
    // slowest body if others need the room; a body without room is answered 429 or 503. A body is
    // large if it exceeds the buffer that each connection keeps. One large body always fits.
    std::size_t bodies_bytes = 64 * 1024 * 1024;
    // The most requests that one HTTP request may bring as a batch.
    std::size_t batch_requests = 1024;
    // The most bytes of all large batches that are being answered, where a request counts as 4 KiB.
    // A token gets at most half of them; a further batch is answered 429 or 503, but one batch of
    // each token is always accepted.
    std::size_t batches_bytes = 128 * 1024 * 1024;
    // The most bytes of rows and of named holders in the answer to one batch.
    std::size_t answer_bytes = 512 * 1024;
    // The most bytes of all large answers that are not sent yet, together and to clients with the
    // same token. If there are more, a request for rows is answered 503 or 429 at once. Renewals,
    // releases and other short answers are always made.
    std::size_t answers_bytes = 64 * 1024 * 1024;
    std::size_t answers_bytes_per_token = 16 * 1024 * 1024;
    // The most bytes of one connection's answers that the system keeps in its buffers.
    std::size_t send_buffer_bytes = 64 * 1024;

    // The most connections at once. A further connection takes the place of the client that has
    // been silent longest: of a client that has shown no valid token, or of one that is idle. If
    // no client is, the further connection is answered 503 and closed.
    std::size_t connections = 20'000;
    // The most connections at once from one address on which no valid token was shown. 0: no limit.
    // Nothing: usual_connections_per_address for clients on other machines, no limit for clients on
    // this machine, such as a proxy.
    std::optional<std::size_t> connections_per_address{};
    static constexpr std::size_t usual_connections_per_address = 1000;
    // How many TLS handshakes an address may begin. 0: no limit.
    Rate handshakes_per_address{.per_second = 100, .at_once = 1000};
    // The most requests at once in the store, where a page counts by its rows and a try of several
    // keys by its keys. Further requests queue, and renewals and releases leave the queue before
    // new tries. Twice the size of one batch to the store: a renewal waits for two batches at most.
    std::size_t requests_under_way = 512;
    // The most tries in that queue. A further try is answered 503.
    std::size_t queued_tries = 4096;

    // The most clients that wait for a key at once, and the longest wait of each.
    std::size_t waiters = 20'000;
    std::chrono::milliseconds longest_wait = std::chrono::seconds{60};
    // The most delayed releases that are scheduled at once, and the longest delay that a client may
    // ask for. If too many are scheduled, the lease is released without a delay.
    std::size_t delayed_releases = 20'000;
    std::chrono::milliseconds longest_delay = std::chrono::seconds{60};
    // The most waiting clients that an answer lists for one key.
    std::size_t waiters_named = 100;
    // How often the store is asked for a key that a client waits for, in case the store's watch has
    // missed a release. Less often if clients wait for very many different keys.
    std::chrono::milliseconds wait_poll{250};
    // How long a client whose wait has ended keeps its place in the line, in case it asks again.
    std::chrono::milliseconds place_kept = std::chrono::seconds{5};

    // The most clients that listen to events at once.
    std::size_t events_clients = 2'000;
    // How many of the latest events are kept for clients that are slow or reconnect. A client that
    // needs an older event gets a reset and reads the whole list again.
    std::size_t events_kept = 10'000;
    // While a client listens: how often the store is asked for changes that other servers made, and
    // for how many leases at most.
    std::chrono::milliseconds events_poll = std::chrono::seconds{1};
    std::size_t events_leases = 10'000;
    // How long the server continues to ask after the last listener has left. A listener that loses
    // its connection and reconnects within this time misses no event.
    std::chrono::milliseconds events_linger = std::chrono::seconds{60};
    // How often an idle stream sends a heartbeat, so that each side notices if the other is gone.
    std::chrono::milliseconds events_heartbeat = std::chrono::seconds{15};

    // The shortest time between two counts of the live leases, for metrics and statistics.
    std::chrono::milliseconds leases_counted_every = std::chrono::seconds{10};

    // From accepting a connection to the end of its TLS handshake.
    std::chrono::milliseconds handshake_deadline = std::chrono::seconds{10};
    // How long a connection may be silent on which no valid token was shown, before the first byte
    // of a request. A server without tokens waits that long for the first request only.
    std::chrono::milliseconds first_byte = std::chrono::seconds{10};
    // How long any other connection may be idle between two requests.
    std::chrono::milliseconds idle = std::chrono::seconds{75};
    // From the first byte of a request to the end of its header, and then to the end of its body.
    std::chrono::milliseconds header_deadline = std::chrono::seconds{10};
    std::chrono::milliseconds body_deadline = std::chrono::seconds{30};
    // How long a client may take to receive an answer.
    std::chrono::milliseconds write_deadline = std::chrono::seconds{30};
    // How long stop() waits for requests under way before it closes their connections.
    std::chrono::milliseconds drain_deadline = std::chrono::seconds{20};

    // The tokens that clients may use. Without tokens every client is allowed everything, and the
    // server listens on a loopback address only.
    std::shared_ptr<const Tokens> tokens{};
    // The certificate for TLS. Without it the server speaks plain HTTP.
    std::shared_ptr<const TlsIdentity> identity{};
    // How long a browser that has used TLS refuses plain HTTP for this host (HSTS). 0: it does not.
    std::chrono::milliseconds hsts = std::chrono::days{365};
    // The server's host names besides localhost, as a Host field contains them. A server without
    // tokens refuses requests for other hosts.
    std::vector<std::string> hosts{};
    // The origins whose pages may send requests, for example "https://shop.example". The server's
    // own pages always may.
    std::vector<std::string> cors_origins{};
    // How many requests a token may make. Renewals and releases are counted apart, at the same
    // rate. 0: no limit.
    Rate rate{};
    // How many requests without a valid token an address may make in a minute. 0: no limit.
    std::size_t failed_tokens = 600;
    // How much each token may use, unless its entry says otherwise. A server without tokens has no
    // quotas.
    QuotaLimits quotas{};
    // How many percent of its token's quotas one owner may use. 100: no limit of its own.
    std::size_t owner_share = 50;

    // Constructs the protocols besides the native one. Called after the backend, which the
    // protocols use, is constructed.
    std::vector<std::function<std::unique_ptr<Protocol>(Backend&)>> protocols{};

    // A folder with the documentation as a compressed site, which is served under /docs/. Empty:
    // the server has no documentation.
    std::filesystem::path documentation{};

    // Is notified of requests, connections and failures. Outlives the server.
    Observer* observer = nullptr;
    // Records who broke leases and who was refused. Outlives the server.
    Audit* audit = nullptr;
    // What is open in this installation, for protocols that report it. Called on any thread.
    std::function<std::vector<Finding>()> findings{};
    // Answers GET /metrics. Outlives the server. Without it GET /metrics is answered 404.
    const Metrics* metrics = nullptr;
};

}  // namespace leasehold::server
