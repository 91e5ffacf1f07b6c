#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/http/client_connection.hpp"

struct ssl_ctx_st;
struct ssl_st;

namespace leasehold::server {

// A certificate, its key and the settings of TLS: version 1.2 or later, with forward secrecy, on
// elliptic curves only and without session tickets. Thread-safe.
class TlsIdentity {
public:
    // Reads PEM files. The certificate's file also contains the intermediate certificates. Throws
    // BadRequest, which names the file, if a file cannot be used.
    //
    // `client_ca_file` contains the authorities of clients' certificates, and perhaps their lists
    // of revoked certificates (CRLs). With it, a client may show a certificate. The handshake fails
    // if that certificate is not valid.
    TlsIdentity(const std::string& certificate_file, const std::string& key_file,
                const std::string& client_ca_file = {});

    // When the certificate expires.
    [[nodiscard]] std::chrono::sys_seconds valid_until() const;

private:
    friend class Tls;
    struct Free {
        void operator()(ssl_ctx_st* context) const noexcept;
    };
    std::unique_ptr<ssl_ctx_st, Free> context_;
};

// TLS on one non-blocking socket. Not thread-safe.
//
// OpenSSL reads on as long as bytes arrive that are not for us, such as updates of keys, and each
// of these costs it work. A client that never stops to send them would keep the thread for itself.
// 1. After `most_at_once` bytes a call returns Want::read, also if more have arrived: the caller
//    waits for the socket, and others have their turn.
// 2. After `most_of_handshake` bytes before the end of the handshake, or `most_without_data` bytes
//    without data for us, the connection fails. A client's certificates have at most 100 KiB, and a
//    record with data 17 KiB.
class Tls {
public:
    static constexpr std::size_t most_at_once = 16UL * 1024;
    static constexpr std::size_t most_of_handshake = 128UL * 1024;
    static constexpr std::size_t most_without_data = 32UL * 1024;

    // The socket, and how many bytes OpenSSL may still read from it.
    struct Wire {
        int socket;
        std::size_t left_at_once = most_at_once;
        std::size_t left_without_data = most_of_handshake;
    };

    // The socket outlives this. `may_begin` is called once, when a ClientHello has arrived and
    // before it costs processor time. The handshake fails if it returns false.
    Tls(const TlsIdentity& identity, int socket, std::function<bool()> may_begin = {});
    Tls(const Tls&) = delete;
    Tls& operator=(const Tls&) = delete;
    ~Tls();

    // What the socket must be ready for before the same call is repeated.
    enum class Want : std::uint8_t { nothing, read, write, closed };

    [[nodiscard]] Want handshake();
    // After the handshake: the client's certificate, if it showed one.
    [[nodiscard]] std::optional<ClientCertificate> client_certificate() const;
    // Whether the client sent a plain HTTP request instead of a handshake.
    [[nodiscard]] bool met_plain_http() const noexcept { return met_plain_http_; }

    struct Moved {
        std::size_t bytes;
        Want want;  // says how to continue if not all bytes were moved
    };
    [[nodiscard]] Moved read(std::span<char> space);
    // Writes as many bytes as the socket accepts. Pass the rest again later.
    [[nodiscard]] Moved write(std::string_view bytes);

    // Call this when the socket is closed: its descriptor may already belong to another socket.
    void forget_socket() noexcept { usable_ = false; }

    // Tells the client that no more bytes follow.
    void say_goodbye() noexcept;

private:
    struct Free {
        void operator()(ssl_st* ssl) const noexcept;
    };

    friend class TlsIdentity;
    [[nodiscard]] Want want_after(int result);
    static int on_client_hello(ssl_st* ssl, int* alert, void* unused);

    Wire wire_;
    std::unique_ptr<ssl_st, Free> ssl_;  // uses wire_
    std::function<bool()> may_begin_;    // empty once it was called
    bool usable_ = true;
    bool met_plain_http_ = false;
};

}  // namespace leasehold::server
