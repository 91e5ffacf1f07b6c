#pragma once

#include <boost/json/value.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "server/sent_requests.hpp"

struct ssl_st;

namespace leasehold::testing {

struct Certificate;

struct Answer {
    unsigned status = 0;                        // 0: the connection ended before the answer
    std::string reason{};                       // of the status line
    std::map<std::string, std::string> fields;  // names in lower case
    std::string body;

    // The body, which must be JSON.
    [[nodiscard]] boost::json::value json() const;
    // The "code" of a problem document.
    [[nodiscard]] std::string code() const;
};

// One connection to a server on this machine, byte for byte. Waits at most `patience` for anything.
// Holds every answer to the server's OpenAPI document, and every request body that the server
// accepted: a disagreement fails the test.
class Client {
public:
    explicit Client(std::uint16_t port);
    Client(Client&& other) noexcept;
    Client& operator=(Client&&) = delete;
    ~Client();

    // Starts TLS with the server "localhost", whose certificate is in this file, with this version
    // at most and these groups and ciphers (of TLS 1.2) only, if they are given, and shows a
    // certificate of its own if one is given. Returns whether that succeeded. With TLS 1.3 a server
    // refuses the client's certificate only after that.
    [[nodiscard]] bool secure(const std::string& trusted, int version = 0,
                              const char* groups = nullptr, const Certificate* own = nullptr,
                              const char* ciphers = nullptr);
    // Asks for a new handshake on the same connection; whether the server agreed. TLS 1.2 only.
    [[nodiscard]] bool renegotiate();
    // Changes the keys that it sends with, as TLS 1.3 allows at any time; whether that was sent.
    [[nodiscard]] bool update_key();
    // "TLSv1.3"
    [[nodiscard]] std::string tls_version() const;
    // Whether the server has sent a ticket to resume the TLS session with.
    [[nodiscard]] bool has_session_ticket() const;

    // The server speaks a protocol that the OpenAPI document does not describe.
    void expect_another_protocol() { described_ = false; }

    void send(std::string_view bytes);
    // The next answer.
    [[nodiscard]] Answer receive();
    // The header of the next answer. For HEAD, whose answer has no body whatever its header says.
    [[nodiscard]] Answer receive_head();
    // Sends a request and receives the answer.
    Answer ask(std::string_view method, std::string_view target, std::string_view body = {},
               std::string_view fields = {});

    // The next bytes as they are; empty if the connection has ended.
    [[nodiscard]] std::string receive_some();

    // Whether bytes from the server are waiting.
    [[nodiscard]] bool hears() const;
    // Whether the server has closed the connection, and nothing is left to read.
    [[nodiscard]] bool is_cut() const;
    // Whether the server closes the connection without another byte.
    [[nodiscard]] bool closed();
    // Ends sending; receiving continues.
    void half_close();
    // Closes the connection as a killed process does.
    void close();

private:
    enum class WithBody : std::uint8_t { no, yes };

    [[nodiscard]] bool fill();
    // An answer with status 0 if the connection ends before.
    [[nodiscard]] Answer take_header();
    // Fails the test if the answer is not what the OpenAPI document describes.
    void compare_with_description(const Answer& answer, WithBody with_body);

    int socket_;
    std::shared_ptr<ssl_st> tls_;
    std::string received_;
    SentRequests sent_;
    bool described_ = true;
};

// The bytes that ask() sends.
[[nodiscard]] std::string message(std::string_view method, std::string_view target,
                                  std::string_view body = {}, std::string_view fields = {});
// The header line that names a lease.
[[nodiscard]] std::string lock_token(std::string_view lock_id);
// The same, of the lease in the answer.
[[nodiscard]] std::string lock_token_of(const Answer& granted);

}  // namespace leasehold::testing
