#include <leasehold/web/httplib.hpp>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <future>
#include <thread>

#include "web/page.hpp"

namespace leasehold::testing {
namespace {

// A connection for bytes that an HTTP client would not send.
class RawConnection {
public:
    explicit RawConnection(int port) : socket_{::socket(AF_INET, SOCK_STREAM, 0)} {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        const timeval timeout{.tv_sec = patience_s, .tv_usec = 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    }
    RawConnection(const RawConnection&) = delete;
    RawConnection& operator=(const RawConnection&) = delete;
    ~RawConnection() { ::close(socket_); }

    void send(const std::string& bytes) const {
        EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(bytes.size()));
    }
    // Until the server closes the connection.
    [[nodiscard]] std::string receive_all() const {
        std::string all;
        std::array<char, 4096> some{};
        for (;;) {
            const auto got = ::recv(socket_, some.data(), some.size(), 0);
            if (got <= 0) return all;
            all.append(some.data(), static_cast<std::size_t>(got));
        }
    }

private:
    static constexpr int patience_s = 60;
    const int socket_;
};

std::string post(const std::string& target, const std::string& headers, const std::string& body) {
    return "POST " + target + " HTTP/1.1\r\nHost: x\r\n" + headers +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

class HttplibTest : public RoutesTest {
protected:
    HttplibTest() {
        web::add_lock_routes(server, routes, [](const httplib::Request& request) {
            const std::string user = request.get_header_value("User");
            return user.empty() ? std::nullopt : std::optional{web::Visitor{user, "s"}};
        });
        port = server.bind_to_any_port("127.0.0.1");
        serving = std::jthread{[this] { server.listen_after_bind(); }};
        EXPECT_TRUE(eventually([this] { return server.is_running(); }));
    }
    ~HttplibTest() override {
        routes.stop_waiting();
        server.stop();
    }
    [[nodiscard]] httplib::Client client() const { return httplib::Client{"127.0.0.1", port}; }

    httplib::Server server;
    int port = 0;
    std::jthread serving;
};

const httplib::Headers as_kim{{"User", "Kim"}};

TEST_F(HttplibTest, ServesTheRoutesAndTheFiles) {
    EXPECT_EQ(client().Get("/v1/locks/Order/1")->status, 401);
    const auto element = client().Get("/client/leasehold-guard.js");
    EXPECT_EQ(element->get_header_value("Content-Type"), "text/javascript; charset=utf-8");
    const auto taken = client().Post("/v1/locks/Order/a%2Fb", as_kim, try_body, "application/json");
    ASSERT_EQ(taken->status, 201);
    const auto lease = boost::json::parse(taken->body).as_object();
    EXPECT_EQ(lease.at("id").as_string(), "a/b");
    auto headers = as_kim;
    headers.emplace("Lock-Token", std::string{lease.at("lock_id").as_string()});
    EXPECT_EQ(
        client()
            .Patch("/v1/locks/Order/a%2Fb", headers, R"({"ttl_ms": 1000})", "application/json")
            ->status,
        200);
    EXPECT_EQ(client().Delete("/v1/locks/Order/a%2Fb?after_ms=60000", headers)->status, 202);
    EXPECT_EQ(client().Delete("/v1/locks/Order/a%2Fb", headers)->status, 200);
    EXPECT_TRUE(is_free({"Order", "a/b"}));
}

TEST_F(HttplibTest, SignsInWithACookieThatTheRoutesKnow) {
    web::Sessions sessions{locks};
    httplib::Server application;
    web::add_lock_routes(application, routes, sessions);
    web::add_sign_in(application, sessions, web::by_name, web::CookieFor::any_http);
    application.Get("/", [&](const httplib::Request& request, httplib::Response& response) {
        const auto person = web::visitor(sessions, request);
        web::send_page(person ? web::guarded_form(*person, {"Order", "\"1\""}, "save", "<b>") : "",
                       response);
    });
    const int its_port = application.bind_to_any_port("127.0.0.1");
    const std::jthread its_thread{[&] { application.listen_after_bind(); }};
    ASSERT_TRUE(eventually([&] { return application.is_running(); }));
    httplib::Client browser{"127.0.0.1", its_port};
    EXPECT_EQ(browser.Get("/v1/locks/Order/1")->status, 401);
    const auto nobody = browser.Post("/sign-in", httplib::Params{{"name", "a/b"}});
    EXPECT_EQ(nobody->status, 303);
    EXPECT_FALSE(nobody->has_header("Set-Cookie"));
    const auto signed_in = browser.Post("/sign-in", httplib::Params{{"name", "Kim & Lee"}});
    EXPECT_EQ(signed_in->get_header_value("Location"), "/");
    const std::string cookie = signed_in->get_header_value("Set-Cookie");
    const httplib::Headers as_signed_in{{"Cookie", cookie.substr(0, cookie.find(';'))}};
    EXPECT_EQ(browser.Get("/v1/locks/Order/1", as_signed_in)->status, 200);
    const std::string page = browser.Get("/", as_signed_in)->body;
    EXPECT_NE(page.find("key-id=\"&quot;1&quot;\" owner=\"Kim &amp; Lee\" session=\""),
              std::string::npos)
        << page;
    EXPECT_NE(page.find("action=\"save\"><b></form></leasehold-guard>"), std::string::npos) << page;
    application.stop();
}

TEST_F(HttplibTest, AWaitIsAnsweredWithTheLock) {
    const auto held = locks.try_lock(order, {.owner = "Lee"});
    std::jthread releasing{[&] {
        EXPECT_TRUE(waits(1));
        (void)locks.release(order, held->lock_id);
    }};
    EXPECT_EQ(client().Post("/v1/locks/Order/1", as_kim, wait_body, "application/json")->status,
              201);
    EXPECT_FALSE(is_free(order));
}

// The server cannot tell while it waits; it notices when it answers.
TEST_F(HttplibTest, AClientThatVanishedWhileItWaitedIsNotLeftWithTheLock) {
    const auto held = locks.try_lock(order, {.owner = "Lee"});
    {
        const RawConnection vanishing{port};
        vanishing.send(post("/v1/locks/Order/1", "User: Kim\r\nContent-Type: application/json\r\n",
                            wait_body));
        ASSERT_TRUE(waits(1));
    }
    (void)locks.release(order, held->lock_id);
    EXPECT_TRUE(waits(0));
    EXPECT_TRUE(eventually([&] { return is_free(order); }));
}

// One handler for everything, on any free port.
class HttplibHandlerTest : public RoutesTest {
protected:
    static constexpr std::size_t largest_body = 20'000;

    HttplibHandlerTest() {
        web::add_handler(server,
                         [](const web::Request& request) {
                             return web::Response{.body = request.method + ' ' +
                                                          std::string{request.path()} + ' ' +
                                                          std::to_string(request.body.size())};
                         },
                         {.longest_target = 1'000, .largest_body = largest_body});
    }

    httplib::Server server;
};

TEST_F(HttplibHandlerTest, GetsEveryRequestWithinTheLimits) {
    const int port = server.bind_to_any_port("127.0.0.1");
    std::jthread serving{[this] { server.listen_after_bind(); }};
    EXPECT_TRUE(eventually([this] { return server.is_running(); }));
    httplib::Client client{"127.0.0.1", port};
    EXPECT_EQ(client.Get("/a%0Ab?c")->body, "GET /a%0Ab 0");
    EXPECT_EQ(client.Options("/")->body, "OPTIONS / 0");
    EXPECT_EQ(client.Delete("/a")->body, "DELETE /a 0");
    const std::string form(largest_body, 'x');
    const char* type = "application/x-www-form-urlencoded";
    EXPECT_EQ(client.Post("/a", form, type)->body, "POST /a 20000");
    EXPECT_EQ(client.Put("/a", form, type)->body, "PUT /a 20000");
    EXPECT_EQ(client.Patch("/a", form, type)->body, "PATCH /a 20000");
    EXPECT_EQ(client.Get('/' + std::string(999, 'a'))->status, 200);
    EXPECT_EQ(client.Get('/' + std::string(1'000, 'a'))->status, 414);
    EXPECT_EQ(client.Post("/a", form + 'x', type)->status, 413);
    // The client does not say beforehand how long it is.
    const auto in_chunks = [&](std::size_t, httplib::DataSink& sink) {
        sink.write(form.data(), form.size());
        sink.write("x", 1);
        sink.done();
        return true;
    };
    EXPECT_EQ(client.Post("/a", in_chunks, type)->status, 413);
    server.stop();
}

// Or cpp-httplib would answer it as a request.
TEST_F(HttplibHandlerTest, ClosesTheConnectionInsteadOfLeavingABodyOnIt) {
    const int port = server.bind_to_any_port("127.0.0.1");
    std::jthread serving{[this] { server.listen_after_bind(); }};
    EXPECT_TRUE(eventually([this] { return server.is_running(); }));
    const std::string second = "GET /second HTTP/1.1\r\nHost: x\r\n\r\n";
    const std::string chunk(largest_body + 1, 'x');
    const auto expect_only = [&](const char* status, const std::string& request) {
        const RawConnection connection{port};
        connection.send(request);
        const std::string answer = connection.receive_all();
        EXPECT_TRUE(answer.starts_with(status)) << answer;
        EXPECT_NE(answer.find("\r\nConnection: close\r\n"), std::string::npos) << answer;
        EXPECT_EQ(answer.find("second"), std::string::npos) << answer;
    };
    expect_only("HTTP/1.1 414", post('/' + std::string(1'000, 'a'), {}, second));
    expect_only("HTTP/1.1 415",
                post("/a", "Content-Type: multipart/form-data; boundary=b\r\n", second));
    expect_only("HTTP/1.1 413",
                "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4e21\r\n" +
                    chunk + "\r\n" + second);
    server.stop();
}

TEST_F(HttplibHandlerTest, ServesOnAFreePortUntilASignal) {
    std::promise<std::string> greeted;
    auto address = greeted.get_future();
    std::jthread asking{[&] {
        // The port could not be bound, or it would be known at once.
        if (address.wait_for(patience) != std::future_status::ready) return;
        const std::string url = address.get();
        EXPECT_EQ(httplib::Client{url}.Get("/a")->body, "GET /a 0");
        // The port is taken.
        httplib::Server second;
        web::use_port_alone(second);
        EXPECT_FALSE(second.bind_to_port("127.0.0.1", std::stoi(url.substr(url.rfind(':') + 1))));
        ::kill(::getpid(), SIGTERM);
    }};
    EXPECT_TRUE(web::serve_until_signal(server, routes, "127.0.0.1", 0,
                                        [&](const std::string& url) { greeted.set_value(url); }));
}

}  // namespace
}  // namespace leasehold::testing
