#include <string>

#include "server/server_fixture.hpp"

namespace leasehold::testing {
namespace {

using namespace std::string_literals;

class Malformed : public ServerTest {
protected:
    // The answer to these bytes, after which the server must close the connection.
    Answer last_words(std::string_view bytes) {
        Client client = server_.connect();
        client.send(bytes);
        Answer answer = client.receive();
        EXPECT_TRUE(client.closed()) << bytes;
        if (answer.status != 0) {
            EXPECT_EQ(answer.fields["connection"], "close") << bytes;
        }
        return answer;
    }
};

const std::string post =
    "POST /v1/locks/Order/1 HTTP/1.1\r\nHost: localhost\r\n"
    "Content-Type: application/json\r\n";

TEST_F(Malformed, IsRefusedWithTheReasonAlsoAfterAHead) {
    Client client = server_.connect();
    client.send(
        "HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /healthz HTTP/1.1\nHost: a\n\n");
    EXPECT_EQ(client.receive_head().status, 200U);
    EXPECT_EQ(client.receive().code(), "bad_request");
}

TEST_F(Malformed, IsRefusedAndTheConnectionClosed) {
    const std::pair<std::string, unsigned> cases[]{
        {"GARBAGE\r\n\r\n", 400},
        {"GET /healthz\r\n\r\n", 400},
        {"GET  /healthz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /healthz HTTP/2.0\r\nHost: a\r\n\r\n", 505},
        {"GET /healthz HTTP/1.1\r\n\r\n", 400},                        // no Host
        {"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400},  // two
        {"GET /healthz HTTP/1.1\nHost: a\n\n", 400},                   // bare LF
        {"GET /healthz HTTP/1.1\r\nHost: a\nX: y\r\n\r\n", 400},
        {"GET /healthz HTTP/1.1\r\nHost: a\r\r\n\r\n", 400},
        {"GET /healthz HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", 400},   // obs-fold
        {"GET /healthz HTTP/1.1\r\nHost: a\r\nX: b\r\n\tc\r\n\r\n", 400},  // obs-fold
        {"GET /healthz HTTP/1.1\r\n Host: a\r\n\r\n", 400},
        {"GET /healthz HTTP/1.1\r\nHost : a\r\n\r\n", 400},
        {"GET /healthz HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400},
        {"GET /healthz HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n"s, 400},
        {post + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400},
        {post + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400},
        {post + "Content-Length: 2, 2\r\n\r\n{}", 400},
        {post + "Content-Length: +2\r\n\r\n{}", 400},
        {post + "Content-Length: -2\r\n\r\n{}", 400},
        {post + "Content-Length: 0x2\r\n\r\n{}", 400},
        {post + "Content-Length: 99999999999999999999999\r\n\r\n{}", 400},
        {post + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 400},
        {post + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 400},
        {post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
        {post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400},
        {post + "Transfer-Encoding: identity\r\n\r\n", 400},
        {post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400},
        {post + "Transfer-Encoding: chunked\r\n\r\nx\r\n{}\r\n0\r\n\r\n", 400},
        {post + "Transfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\n\r\n", 400},
        {post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nLock-Token: x\r\n\r\n", 400},
        {post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}XX0\r\n\r\n", 400},
        {"POST /v1/batch HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
        {post + "Lock-Token: a\r\nLock-Token: b\r\n\r\n", 400},
        {post + "Content-Type: text/plain\r\n\r\n", 400},
        {post + "Expect: a miracle\r\n\r\n", 417},
    };
    for (const auto& [bytes, status] : cases) {
        const Answer answer = last_words(bytes);
        EXPECT_EQ(answer.status, status) << bytes << answer.body;
    }
    EXPECT_TRUE(server_.locks().list().empty());
    EXPECT_EQ(server_.connect().ask("GET", "/healthz").status, 200U);
}

TEST_F(Malformed, NothingBehindARefusedRequestIsRead) {
    Client client = server_.connect();
    client.send(post + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}" +
                message("POST", "/v1/locks/Order/2"));
    EXPECT_EQ(client.receive().status, 400U);
    EXPECT_TRUE(client.closed());
    EXPECT_TRUE(server_.locks().list().empty());
}

TEST_F(Malformed, ATruncatedRequestDoesNothing) {
    const std::string whole = message("POST", "/v1/locks/Order/1", R"({"owner":"alice"})");
    for (std::size_t size = 0; size < whole.size(); ++size) {
        Client client = server_.connect();
        client.send(std::string_view{whole}.substr(0, size));
        client.half_close();
        EXPECT_TRUE(client.closed()) << size;
    }
    EXPECT_TRUE(server_.locks().list().empty());
}

TEST_F(Malformed, ARequestMayComeByteByByte) {
    Client client = server_.connect();
    for (const char byte : message("POST", "/v1/locks/Order/1", R"({"owner":"alice"})")) {
        client.send({&byte, 1});
    }
    EXPECT_EQ(client.receive().status, 201U);
}

TEST_F(Malformed, ABodyMayComeInChunks) {
    Client client = server_.connect();
    const std::string chunks =
        "8\r\n{\"owner\"\r\n1\r\n:\r\n8\r\n\"alice\"}\r\n0\r\n\r\n" + message("GET", "/healthz");
    client.send(post + "Transfer-Encoding: chunked\r\n\r\n");
    for (const char byte : chunks) client.send({&byte, 1});
    EXPECT_EQ(client.receive().status, 201U);
    EXPECT_EQ(client.receive().status, 200U);
}

TEST_F(Malformed, AHeaderIsJudgedByItselfWhateverFollows) {
    for (const std::string header : {"GET /healthz\r\n\r\n", "GET /healthz x: 1\r\n\r\n"}) {
        const unsigned status = last_words(header).status;
        EXPECT_GE(status, 400U);
        EXPECT_EQ(last_words(header + "and more than the end of a line").status, status);
    }
}

TEST_F(Malformed, SizesAreBounded) {
    const std::string huge(20'000, 'x');
    EXPECT_EQ(last_words("GET /" + huge).status, 431U);
    EXPECT_EQ(last_words("GET /healthz HTTP/1.1\r\nX: " + huge + "\r\n\r\n").status, 431U);
    EXPECT_EQ(last_words(post + "Content-Length: 1048577\r\n\r\n").status, 413U);
    EXPECT_EQ(last_words(post + "Content-Length: 18446744073709551615\r\n\r\n").status, 413U);
    EXPECT_EQ(last_words(post + "Transfer-Encoding: chunked\r\n\r\n100001\r\n").status, 413U);
    EXPECT_EQ(last_words(post + "Transfer-Encoding: chunked\r\n\r\n" + huge).status, 400U);
}

TEST_F(Malformed, ALargeBodyWithinTheBoundIsRead) {
    std::string body = "{\"requests\":[";
    for (int i = 0; i < 1000; ++i) {
        body.append(i == 0 ? "" : ",")
            .append(R"({"op":"try","type":"Order","id":")" + std::to_string(i) + R"(","note":")" +
                    std::string(900, 'n') + "\"}");
    }
    const Answer answer = server_.connect().ask("POST", "/v1/batch", body + "]}");
    ASSERT_EQ(answer.status, 200U);
    EXPECT_EQ(answer.json().at("answers").as_array().size(), 1000U);
}

TEST_F(Malformed, AClientThatExpects100ContinueGetsIt) {
    Client client = server_.connect();
    client.send(post + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    EXPECT_EQ(client.receive().status, 100U);
    client.send("{}");
    EXPECT_EQ(client.receive().status, 201U);
}

}  // namespace
}  // namespace leasehold::testing
