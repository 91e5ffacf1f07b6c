#include "server/transport/request_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

// The memory that a connection keeps between two requests.
namespace leasehold::testing {
namespace {

using server::HttpRequest;
using server::RequestReader;

RequestReader::State receive(RequestReader& reader, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto space = reader.space();
        const std::size_t some = std::min(space.size(), bytes.size());
        std::ranges::copy(bytes.substr(0, some), space.begin());
        bytes.remove_prefix(some);
        if (reader.received(some) == RequestReader::State::refused) break;
    }
    return reader.state();
}

std::size_t kept_by(const HttpRequest& request) {
    return request.method.capacity() + request.target.capacity() + request.content_type.capacity() +
           request.if_none_match.capacity() + request.accept.capacity() +
           request.accept_encoding.capacity() + request.accept_language.capacity() +
           request.host.capacity() + request.authorization.value_or("").capacity() +
           request.origin.value_or("").capacity() + request.audit_id.capacity() +
           request.body.capacity() + request.fields.capacity();
}

// Sends a long text in each place in which a request can have one, in a request of its own.
TEST(RequestReaderTest, KeepsLittleOfEachLongText) {
    const server::ServerOptions options;
    RequestReader reader{options};
    const std::string text(options.header_bytes - 500, 'x');
    const auto send = [&](const std::string& line, const std::string& fields,
                          const std::string& body) {
        const std::string message = line + " HTTP/1.1\r\nHost: localhost\r\n" + fields +
                                    "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                                    body;
        ASSERT_EQ(receive(reader, message), RequestReader::State::whole) << fields.substr(0, 20);
        ASSERT_GT(kept_by(reader.request()), text.size()) << "nothing long was received";
        EXPECT_EQ(reader.next(), RequestReader::State::idle);
    };
    send("GET /" + text, "", "");
    send(text + " /", "", "");
    for (const char* name : {"Accept", "Accept-Encoding", "Authorization", "Content-Type",
                             "If-None-Match", "Origin", "X-Unknown"}) {
        send("GET /", name + (": " + text) + "\r\n", "");
    }
    send("POST /", "", text);
    send("GET http://" + text.substr(0, text.size() / 2) + "/", "", text);
    EXPECT_LE(kept_by(reader.request()), 12 * server::kept_text_bytes);
    EXPECT_LE(reader.space().size(), 2048U);
}

// Reads the text in pieces of this size.
server::HeaderLines lines_of(std::string_view text, std::size_t piece) {
    server::HeaderLines lines;
    for (std::size_t size = piece; size < text.size(); size += piece) {
        lines.read(text.substr(0, size));
    }
    lines.read(text);
    return lines;
}

// The client decides in which pieces a header arrives.
TEST(HeaderLines, AreReadOnceInWhateverPiecesTheyArrive) {
    std::string header = "GET / HTTP/1.1\r\n";
    while (header.size() < 16'000) header += "a: b\r\n";
    header += "\r\n";
    for (const std::size_t piece : {1UL, 2UL, 3UL, 100UL, header.size()}) {
        const auto lines = lines_of(header, piece);
        EXPECT_EQ(lines.size(), header.size());
        EXPECT_EQ(lines.ambiguity(), "");
        EXPECT_EQ(lines.looked_at(), header.size());
    }
    EXPECT_EQ(lines_of(header + "the body", 7).size(), header.size());
    header.pop_back();
    EXPECT_EQ(lines_of(header, 1).size(), 0U);
}

TEST(HeaderLines, AreRefusedIfAmbiguousInWhateverPiecesTheyArrive) {
    const std::string first = "GET / HTTP/1.1\r\n";
    for (const std::string& header :
         {first + "a: b\n\r\n", first + "a: b\r\r\n\r\n", first + "a: \rb\r\n\r\n",
          first + " a: b\r\n\r\n", first + "a: b\r\n\tc\r\n\r\n", first + "a: b\r\n\n",
          std::string{"GET / HTTP/1.1\n\r\n"}, first + "\r\r\n"}) {
        for (std::size_t piece = 1; piece <= header.size(); ++piece) {
            EXPECT_NE(lines_of(header, piece).ambiguity(), "") << header << " by " << piece;
        }
    }
}

}  // namespace
}  // namespace leasehold::testing
