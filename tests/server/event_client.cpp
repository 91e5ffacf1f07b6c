#include "server/event_client.hpp"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include <sstream>

namespace leasehold::testing {

std::string SentEvent::text(std::string_view field) const {
    return std::string{std::string_view{data.at(field).as_string()}};
}

EventClient::EventClient(std::uint16_t port, std::string_view query, std::string_view fields)
    : client_{port} {
    client_.send(message("GET", "/v1/events" + std::string{query}, {},
                         "Accept: text/event-stream\r\n" + std::string{fields}));
    answer_ = client_.receive();
    if (answer_.status != 200) return;
    // The first block tells where in the stream we are.
    const auto first = block();
    if (first && first->find("event: reset") != std::string::npos) unread_ = *first + unread_;
}

std::optional<std::string> EventClient::block() {
    for (;;) {
        if (const std::size_t end = unread_.find("\n\n"); end != std::string::npos) {
            std::string lines = unread_.substr(0, end + 2);
            unread_.erase(0, end + 2);
            std::istringstream in{lines};
            for (std::string line; std::getline(in, line);) {
                if (line.starts_with("id: ")) last_id_ = line.substr(4);
            }
            return lines;
        }
        const std::string more = client_.receive_some();
        if (more.empty()) return std::nullopt;
        unread_ += more;
        bytes_ += more;
    }
}

SentEvent EventClient::next() {
    while (const auto lines = block()) {
        SentEvent event;
        std::istringstream in{*lines};
        for (std::string line; std::getline(in, line);) {
            if (line.starts_with("id: ")) event.id = line.substr(4);
            if (line.starts_with("event: ")) event.name = line.substr(7);
            if (line.starts_with("data: ")) event.data = boost::json::parse(line.substr(6));
        }
        if (event.name.empty()) continue;
        EXPECT_EQ(event.data.at("event").as_string(), event.name);
        EXPECT_EQ(OpenApi::of_this_build().problem_with_value("Event", event.data), "");
        return event;
    }
    ADD_FAILURE() << "the stream ended, or nothing came; until then:\n" << bytes_;
    return {};
}

std::string EventClient::names(std::size_t count) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) all.append(i > 0 ? " " : "").append(next().name);
    return all;
}

}  // namespace leasehold::testing
