#pragma once

#include <boost/json/value.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/client.hpp"

namespace leasehold::testing {

// An event as a browser's EventSource reads it from a block of lines.
struct SentEvent {
    std::string id{};
    std::string name{};  // empty: a comment, or nothing but an id
    boost::json::value data{};

    [[nodiscard]] std::string text(std::string_view field) const;
    [[nodiscard]] std::int64_t fence() const { return data.at("fence").as_int64(); }
};

// Listens to GET /v1/events of a server on this machine. Waits at most `patience` for anything.
class EventClient {
public:
    // Returns when the server has answered.
    explicit EventClient(std::uint16_t port, std::string_view query = {},
                         std::string_view fields = {});

    [[nodiscard]] const Answer& answer() const { return answer_; }

    // The next event, without comments. Fails the test, and is empty, where none comes.
    SentEvent next();
    // The names of the next events, in words: "granted released".
    std::string names(std::size_t count);
    // The next block of lines, comments included; nothing where the stream ends.
    std::optional<std::string> block();

    [[nodiscard]] const std::string& last_id() const { return last_id_; }
    // Every byte that came.
    [[nodiscard]] const std::string& bytes() const { return bytes_; }
    void close() { client_.close(); }

private:
    Client client_;
    Answer answer_;
    std::string unread_;
    std::string bytes_;
    std::string last_id_;
};

}  // namespace leasehold::testing
