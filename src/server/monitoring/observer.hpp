#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <leasehold/errors.hpp>
#include <leasehold/time.hpp>

#include "server/requests.hpp"

namespace leasehold::server {

// A request that was answered. It names no key, no owner and no secret. The method and the route
// are one of a few texts that live as long as the program.
struct Served {
    std::string_view method{};
    std::string_view route{};  // "/v1/locks/{type}/{id}"; empty if no route has the URL
    std::string_view token{};  // the name of the client's token; empty if it has none
    unsigned status = 0;
    bool waited = false;              // the request asked to wait for its key
    std::chrono::nanoseconds took{};  // from the request's last byte to the answer's first
    std::size_t bytes_in = 0;         // of the body
    std::size_t bytes_out = 0;        // of the whole answer
};

// Requests that went to the store together.
struct Batch {
    std::size_t requests = 0;
    std::size_t faults = 0;  // the number of them that the store did not answer
    std::chrono::nanoseconds took{};
    // How far the store's clock is ahead of this machine's. Nothing if no answer says so, or if the
    // offset was read a moment ago.
    std::optional<Duration> clock_offset{};
};

enum class ConnectionEvent : std::uint8_t {
    accepted,
    ended,
    turned_away,       // a limit of connections or of TLS handshakes was reached
    accepting_paused,  // accepting failed, for example for lack of file descriptors
    no_handshake,      // cut: the TLS handshake failed or was too slow
    slow_header,       // cut: the header did not arrive in time
    slow_body,         // cut: the body did not arrive in time
    slow_reader,       // cut: the client did not take the answer in time
    idle,              // closed: no request came for a while
    evicted,           // closed: silent longest when another client needed its place
};

// Learns what a server does. Every function is called from any thread, often, and must not block.
class Observer : public OutcomeListener {
public:
    virtual void served(const Served&) noexcept {}
    virtual void batch_applied(const Batch&) noexcept {}
    virtual void store_failed(const StoreFault&) noexcept {}
    virtual void happened(ConnectionEvent) noexcept {}
    // A client at this address has shown no valid token.
    virtual void turned_away(std::string_view /*address*/) noexcept {}
    // An error that is not part of any answer, for example lack of memory. The server continues.
    virtual void failed(std::string_view /*what*/) noexcept {}
};

// Tells two observers.
class BothObservers final : public Observer {
public:
    // Both outlive this.
    BothObservers(Observer& one, Observer& other) : one_{one}, other_{other} {}

    void served(const Served& request) noexcept override {
        one_.served(request);
        other_.served(request);
    }
    void sending(const Request& request) override {
        one_.sending(request);
        other_.sending(request);
    }
    void answered(const Answered& answered) override {
        one_.answered(answered);
        other_.answered(answered);
    }
    void batch_applied(const Batch& batch) noexcept override {
        one_.batch_applied(batch);
        other_.batch_applied(batch);
    }
    void store_failed(const StoreFault& fault) noexcept override {
        one_.store_failed(fault);
        other_.store_failed(fault);
    }
    void happened(ConnectionEvent event) noexcept override {
        one_.happened(event);
        other_.happened(event);
    }
    void turned_away(std::string_view address) noexcept override {
        one_.turned_away(address);
        other_.turned_away(address);
    }
    void failed(std::string_view what) noexcept override {
        one_.failed(what);
        other_.failed(what);
    }

private:
    Observer& one_;
    Observer& other_;
};

}  // namespace leasehold::server
