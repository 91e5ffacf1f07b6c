#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace leasehold::server {

class Backend;
class Metrics;
class Observer;
class Protocol;
class TlsIdentity;
class Tokens;

// How often something may be done, and how often at once.
struct Rate {
    double per_second = 0;
    double at_once = 0;
};

// Every size, time and number that a client can drive up, in one place.
struct ServerOptions {
    std::string address = "127.0.0.1";
    std::uint16_t port = 7470;  // 0: any free one, see Server::port()
    std::size_t threads = 1;

    // A request's line and fields, and its body.
    std::size_t header_bytes = 16 * 1024;
    std::size_t body_bytes = 1024 * 1024;
    // Of all bodies together that are larger than a connection keeps anyway; one more is answered
    // 503. One of them always fits.
    std::size_t bodies_bytes = 64 * 1024 * 1024;
    // How many requests one POST /v1/batch carries.
    std::size_t batch_requests = 1024;

    // How many connections are served at once; one more is answered 503 and closed.
    std::size_t connections = 20'000;
    // The same for those from one address. 0: no fewer.
    std::size_t connections_per_address = 0;
    // How many requests are with the store at once. When that many are, the others queue: renewals
    // and releases are served before new tries.
    std::size_t requests_under_way = 1024;
    // How many tries may queue so; one more is answered 503.
    std::size_t queued_tries = 4096;

    // How many may wait for a key at once, and how long at most.
    std::size_t waiters = 20'000;
    std::chrono::milliseconds longest_wait = std::chrono::seconds{60};
    // How many leases may be about to be released, and how long ahead.
    std::size_t delayed_releases = 20'000;
    std::chrono::milliseconds longest_delay = std::chrono::seconds{60};
    // How many of those who wait for a key are named.
    std::size_t waiters_named = 100;
    // How soon a waiter learns at the latest that another server has released its key. Longer when
    // very many different keys are waited for.
    std::chrono::milliseconds wait_poll{250};
    // How long a place in the line stays that of somebody whose wait was over.
    std::chrono::milliseconds place_kept = std::chrono::seconds{5};

    // How many may listen to events at once, and how many of the latest events are kept for those
    // who are slow or come back: who misses one that is not kept any more starts anew.
    std::size_t events_clients = 2'000;
    std::size_t events_kept = 10'000;
    // While somebody listens: how often the store is asked what others did, and for how many leases
    // at most.
    std::chrono::milliseconds events_poll = std::chrono::seconds{1};
    std::size_t events_leases = 10'000;
    // For how long that goes on when nobody listens any more: who was cut off and comes back
    // within this time misses nothing.
    std::chrono::milliseconds events_linger = std::chrono::seconds{60};
    // How often a stream says something, so that each side sees whether the other is there.
    std::chrono::milliseconds events_heartbeat = std::chrono::seconds{15};

    // How often, at most, the live leases are counted for those who look after the server.
    std::chrono::milliseconds leases_counted_every = std::chrono::seconds{10};

    // From a connection to the end of its TLS handshake.
    std::chrono::milliseconds handshake_deadline = std::chrono::seconds{10};
    // How long a connection may stay silent between two requests.
    std::chrono::milliseconds idle = std::chrono::seconds{75};
    // From the first byte of a request to the end of its header, and then to the end of its body.
    std::chrono::milliseconds header_deadline = std::chrono::seconds{10};
    std::chrono::milliseconds body_deadline = std::chrono::seconds{30};
    // How long a client may take to accept an answer.
    std::chrono::milliseconds write_deadline = std::chrono::seconds{30};
    // How long stop() waits for what is under way before connections are cut.
    std::chrono::milliseconds drain_deadline = std::chrono::seconds{20};

    // Who may ask. Without, everybody may, and the server listens on a loopback address only.
    std::shared_ptr<const Tokens> tokens{};
    // The certificate, where TLS is spoken.
    std::shared_ptr<const TlsIdentity> identity{};
    // The names the server is known by besides localhost, as a Host field has them. Without tokens
    // it answers to no others.
    std::vector<std::string> hosts{};
    // The sites whose pages may ask, "https://shop.example"; its own pages always may.
    std::vector<std::string> cors_origins{};
    // How many requests a token may make; for renewals and releases as many again. None: any
    // number.
    Rate rate{};
    // How many requests without a valid token an address may make in a minute. 0: any number.
    std::size_t failed_tokens = 600;

    // The protocols besides the native one. A protocol is made once the parts that it uses are
    // there.
    std::vector<std::function<std::unique_ptr<Protocol>(Backend&)>> protocols{};

    // Sees what happens; outlives the server.
    Observer* observer = nullptr;
    // What GET /metrics tells; outlives the server. Without it there is no such resource.
    const Metrics* metrics = nullptr;
};

}  // namespace leasehold::server
