#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "server/http/message.hpp"
#include "server/http/problem.hpp"
#include "server/options.hpp"
#include "server/transport/header_lines.hpp"

namespace leasehold::server {

// Reads requests from the bytes of one connection, one after the other. Refuses requests that two
// HTTP implementations could read differently (request smuggling). After a refusal the connection
// must be closed.
class RequestReader {
public:
    enum class State : std::uint8_t {
        idle,     // no byte of a request was received
        header,   // in the middle of a header
        body,     // in the middle of a body
        whole,    // request() is complete
        refused,  // problem() says why, unless refuse() was called
    };

    // `options` outlive this.
    explicit RequestReader(const ServerOptions& options);
    RequestReader(const RequestReader&) = delete;
    RequestReader& operator=(const RequestReader&) = delete;
    ~RequestReader();

    // Write the next bytes of the connection to space(), then call received() with their number.
    [[nodiscard]] std::span<char> space();
    State received(std::size_t bytes);
    // Call this instead of received() while request() is in use. next() reads these bytes. space()
    // may be empty then.
    void keep_for_later(std::size_t bytes) noexcept { filled_ += bytes; }

    [[nodiscard]] State state() const noexcept { return state_; }
    [[nodiscard]] HttpRequest& request() noexcept { return request_; }
    // Why the request is refused.
    [[nodiscard]] const std::optional<Problem>& problem() const noexcept { return problem_; }

    // The Content-Length, if the header has one.
    [[nodiscard]] std::optional<std::uint64_t> body_bytes() const;
    // Reads no more of this request.
    State refuse() { return state_ = State::refused; }

    // Whether the client waits for "100 Continue" before it sends the body. True once per request.
    [[nodiscard]] bool take_expect_continue();

    // Starts with the next request. Some of its bytes may have been received already.
    State next();

private:
    class Parser;

    State refuse(Problem problem);
    State advance();
    // Checks the lines of the header before they are parsed. Returns a state if the header is
    // incomplete or refused.
    [[nodiscard]] std::optional<State> check_header();
    // Parses this number of bytes of the buffer. Returns a state if they are refused.
    [[nodiscard]] std::optional<State> parse(std::size_t bytes);

    const ServerOptions& options_;
    State state_ = State::idle;
    std::string buffer_;      // bytes that are not parsed yet, then free space
    std::size_t filled_ = 0;  // bytes of buffer_ that were received
    HeaderLines header_lines_;
    bool header_checked_ = false;
    HttpRequest request_;
    std::optional<Problem> problem_;
    std::unique_ptr<Parser> parser_;
};

}  // namespace leasehold::server
