#include <leasehold/web/httplib.hpp>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "web/page.hpp"

namespace leasehold::testing {
namespace {

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
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const std::string request =
        "POST /v1/locks/Order/1 HTTP/1.1\r\nHost: x\r\nUser: Kim\r\nContent-Type: "
        "application/json\r\nContent-Length: " +
        std::to_string(wait_body.size()) + "\r\n\r\n" + wait_body;
    ASSERT_EQ(send(socket, request.data(), request.size(), 0),
              static_cast<ssize_t>(request.size()));
    ASSERT_TRUE(waits(1));
    close(socket);
    (void)locks.release(order, held->lock_id);
    EXPECT_TRUE(waits(0));
    EXPECT_TRUE(eventually([&] { return is_free(order); }));
}

}  // namespace
}  // namespace leasehold::testing
