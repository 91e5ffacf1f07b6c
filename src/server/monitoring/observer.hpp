#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <leasehold/store.hpp>

namespace leasehold::server {

enum class Method : std::uint8_t;    // http.hpp
enum class Resource : std::uint8_t;  // target.hpp

// A request that was answered. Nothing in it names what was locked, by whom, or with which secret.
struct Served {
    Method method{};
    std::optional<Resource> resource{};  // nothing where there is no such one
    std::string_view token{};  // the name of the one that was shown; empty where there was none
    unsigned status = 0;
    bool waited = false;              // it asked to wait for its key
    std::chrono::nanoseconds took{};  // from the request's last byte to the answer's first
    std::size_t bytes_in = 0;         // of the body
    std::size_t bytes_out = 0;        // of the whole answer
};

// Requests that went to the store together.
struct Batch {
    std::size_t requests = 0;
    std::size_t faults = 0;  // of them, how many were not answered
    std::chrono::nanoseconds took{};
    // The store's clock ahead of this machine's; nothing where no answer tells, or one was
    // looked at a moment ago.
    std::optional<Duration> clock_offset{};
};

enum class ConnectionEvent : std::uint8_t {
    accepted,
    ended,
    turned_away,       // one too many
    accepting_paused,  // no more can be accepted now: out of file descriptors, say
    no_handshake,      // cut: TLS did not come about, in time or at all
    slow_header,       // cut: a deadline was missed
    slow_body,
    slow_reader,
    idle,  // closed: nothing was asked for long enough
};
inline constexpr std::size_t connection_events = 9;

// Sees what a server does. Every function is called from any thread, often, and must not block.
class Observer {
public:
    Observer() = default;
    Observer(const Observer&) = delete;
    Observer& operator=(const Observer&) = delete;
    virtual ~Observer() = default;

    virtual void served(const Served&) noexcept {}
    // What a client is told. The request may have been moved from: only its kind is there to see.
    virtual void answered(const Request&, const Outcome&) noexcept {}
    virtual void batch_applied(const Batch&) noexcept {}
    virtual void store_failed(const StoreFault&) noexcept {}
    virtual void happened(ConnectionEvent) noexcept {}
    // Somebody at this address has shown no valid token.
    virtual void turned_away(std::string_view /*address*/) noexcept {}
    // Something that nobody is answered for went wrong: out of memory, say. The server goes on.
    virtual void failed(std::string_view /*what*/) noexcept {}
};

// Two of them.
class BothObservers final : public Observer {
public:
    // Both outlive this.
    BothObservers(Observer& one, Observer& other) : one_{one}, other_{other} {}

    void served(const Served& request) noexcept override {
        one_.served(request);
        other_.served(request);
    }
    void answered(const Request& request, const Outcome& outcome) noexcept override {
        one_.answered(request, outcome);
        other_.answered(request, outcome);
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
