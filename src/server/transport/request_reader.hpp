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

namespace leasehold::server {

// Reads requests from the bytes of one connection, one after the other. Refuses bytes that two
// readers could understand differently; the connection must be closed after that.
class RequestReader {
public:
    enum class State : std::uint8_t {
        idle,     // no byte of a request is there
        header,   // in the middle of a header
        body,     // in the middle of a body
        whole,    // request() is there
        refused,  // problem() says why, unless refuse() was called
    };

    // `options` outlive this.
    explicit RequestReader(const ServerOptions& options);
    RequestReader(const RequestReader&) = delete;
    RequestReader& operator=(const RequestReader&) = delete;
    ~RequestReader();

    // Where the next bytes of the connection go, and how many of them came.
    [[nodiscard]] std::span<char> space();
    State received(std::size_t bytes);
    // The same while request() is in use: they are looked at by next(). There may be no space.
    void keep_for_later(std::size_t bytes) noexcept { filled_ += bytes; }

    [[nodiscard]] State state() const noexcept { return state_; }
    [[nodiscard]] HttpRequest& request() noexcept { return request_; }
    // Why the bytes are refused.
    [[nodiscard]] const std::optional<Problem>& problem() const noexcept { return problem_; }

    // Of the body, where the header tells.
    [[nodiscard]] std::optional<std::uint64_t> body_bytes() const;
    // Reads no more of this request.
    State refuse() { return state_ = State::refused; }

    // The client waits for a word before it sends the body. True once.
    [[nodiscard]] bool take_expect_continue();

    // Goes on with the next request, of which bytes may be there already.
    State next();

private:
    class Parser;

    State refuse(Problem problem);
    State advance();
    // The whole header is there and can be read in one way.
    [[nodiscard]] std::optional<State> check_header();
    // Of the first so many bytes of the buffer; a state where they are refused.
    [[nodiscard]] std::optional<State> parse(std::size_t bytes);

    const ServerOptions& options_;
    State state_ = State::idle;
    std::string buffer_;      // what is not parsed yet, and space
    std::size_t filled_ = 0;  // bytes of buffer_ that were received
    bool header_checked_ = false;
    std::size_t header_size_ = 0;  // once it is checked
    HttpRequest request_;
    std::optional<Problem> problem_;
    std::unique_ptr<Parser> parser_;
};

}  // namespace leasehold::server
