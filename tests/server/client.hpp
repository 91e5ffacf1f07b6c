#pragma once

#include <boost/json/value.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

struct ssl_st;

namespace leasehold::testing {

struct Answer {
    unsigned status = 0;                        // 0: the connection ended before an answer
    std::map<std::string, std::string> fields;  // names in lower case
    std::string body;

    // The body, which must be JSON.
    [[nodiscard]] boost::json::value json() const;
    // The "code" of a problem document.
    [[nodiscard]] std::string code() const;
};

// One connection to a server on this machine, byte for byte. Waits at most `patience` for anything.
class Client {
public:
    explicit Client(std::uint16_t port);
    Client(Client&& other) noexcept;
    Client& operator=(Client&&) = delete;
    ~Client();

    // Speaks TLS from now on with the server "localhost", whose certificate is in this file.
    // Nothing more than this version, if it is given. False where that fails.
    [[nodiscard]] bool secure(const std::string& trusted, int version = 0);
    // "TLSv1.3"
    [[nodiscard]] std::string tls_version() const;

    void send(std::string_view bytes);
    // What the server says next.
    [[nodiscard]] Answer receive();
    // The same of an answer that has no body, whatever its header says: that of a HEAD.
    [[nodiscard]] Answer receive_head();
    // Sends a request with what HTTP needs around it, and receives the answer.
    Answer ask(std::string_view method, std::string_view target, std::string_view body = {},
               std::string_view fields = {});

    // Whatever comes next, as it is; empty where the connection has ended.
    [[nodiscard]] std::string receive_some();

    // Something from the server is there to be received.
    [[nodiscard]] bool hears() const;
    // True where the server closes the connection without another byte.
    [[nodiscard]] bool closed();
    // Sends no more, but still listens.
    void half_close();
    // Ends it as a process does that is killed.
    void close();

private:
    [[nodiscard]] bool fill();
    // Empty where the connection ends before.
    [[nodiscard]] Answer take_header();

    int socket_;
    std::shared_ptr<ssl_st> tls_;
    std::string received_;
};

// As ask() sends it.
[[nodiscard]] std::string message(std::string_view method, std::string_view target,
                                  std::string_view body = {}, std::string_view fields = {});

}  // namespace leasehold::testing
