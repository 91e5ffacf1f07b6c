#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct ssl_ctx_st;
struct ssl_st;

namespace leasehold::server {

// A certificate and its key, and how TLS is spoken with them: 1.2 or later, with forward secrecy.
// Thread-safe.
class TlsIdentity {
public:
    // Of PEM files: the certificate with those between it and the authority. Throws BadRequest,
    // which names the file, where they cannot be used.
    TlsIdentity(const std::string& certificate_file, const std::string& key_file);

    // The end of the certificate's validity.
    [[nodiscard]] std::chrono::sys_seconds valid_until() const;

private:
    friend class Tls;
    struct Free {
        void operator()(ssl_ctx_st* context) const noexcept;
    };
    std::unique_ptr<ssl_ctx_st, Free> context_;
};

// TLS around one connection, on a socket that does not block. Not thread-safe.
class Tls {
public:
    // The socket outlives this.
    Tls(const TlsIdentity& identity, int socket);
    Tls(const Tls&) = delete;
    Tls& operator=(const Tls&) = delete;
    ~Tls();

    // What must happen on the socket before the same call can go on.
    enum class Want : std::uint8_t { nothing, read, write, closed };

    [[nodiscard]] Want handshake();
    // Whether the other side, instead of shaking hands, has sent a request as it is.
    [[nodiscard]] bool met_plain_http() const noexcept { return met_plain_http_; }

    struct Moved {
        std::size_t bytes;
        Want want;  // where there are none
    };
    [[nodiscard]] Moved read(std::span<char> space);
    // As much of it as the socket takes. What it did not take must be given again.
    [[nodiscard]] Moved write(std::string_view bytes);

    // The socket is closed: its number may be another's by now.
    void forget_socket() noexcept { usable_ = false; }

    // Says that nothing more comes.
    void say_goodbye() noexcept;

private:
    struct Free {
        void operator()(ssl_st* ssl) const noexcept;
    };

    [[nodiscard]] Want want_after(int result);

    std::unique_ptr<ssl_st, Free> ssl_;
    bool usable_ = true;
    bool met_plain_http_ = false;
};

}  // namespace leasehold::server
