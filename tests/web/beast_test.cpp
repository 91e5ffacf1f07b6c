#include <leasehold/web/beast.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include <thread>

#include "web/page.hpp"

namespace leasehold::testing {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

// A server as its user would write it: one thread, and a coroutine for each connection.
class BeastTest : public RoutesTest {
protected:
    BeastTest() {
        asio::co_spawn(context, accept(), asio::detached);
        serving = std::jthread{[this] { context.run(); }};
    }
    ~BeastTest() override {
        context.stop();
        serving.join();
    }

    asio::awaitable<void> accept() {
        for (;;) {
            tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
            asio::co_spawn(context, serve(std::move(socket)), asio::detached);
        }
    }
    asio::awaitable<void> serve(tcp::socket socket) {
        boost::beast::flat_buffer buffer;
        for (;;) {
            web::BeastRequest from;
            co_await http::async_read(socket, buffer, from, asio::use_awaitable);
            web::Response response = co_await answer(socket, from);
            const auto if_unsent = response.if_unsent;
            web::BeastResponse to = web::response_to(from, std::move(response));
            boost::system::error_code error;
            http::write(socket, to, error);
            if (error && if_unsent) if_unsent();
        }
    }
    asio::awaitable<web::Response> answer(tcp::socket& socket, const web::BeastRequest& from) {
        const web::ClientWatch watch{socket};
        web::Request request = web::request_from(from, watch.client_gone());
        std::optional<web::Visitor> who{web::Visitor{"Kim", "s"}};
        co_return co_await web::async_answer(routes, std::move(request), std::move(who),
                                             asio::use_awaitable);
    }

    tcp::socket connected() {
        tcp::socket socket{client_context};
        socket.connect(acceptor.local_endpoint());
        return socket;
    }
    static void send(tcp::socket& socket, const std::string& body) {
        web::BeastRequest request{http::verb::post, "/v1/locks/Order/1", 11};
        request.set(http::field::content_type, "application/json");
        request.body() = body;
        request.prepare_payload();
        http::write(socket, request);
    }
    static unsigned status_from(tcp::socket& socket) {
        boost::beast::flat_buffer buffer;
        web::BeastResponse response;
        http::read(socket, buffer, response);
        EXPECT_EQ(response[http::field::cache_control], "no-store");
        return response.result_int();
    }

    asio::io_context client_context;
    asio::io_context context;
    tcp::acceptor acceptor{context, {asio::ip::address_v4::loopback(), 0}};
    std::jthread serving;
};

TEST_F(BeastTest, AnswersManyWaitsOnOneThread) {
    const auto held = locks.try_lock(order, {.owner = "Lee"});
    tcp::socket waiting = connected();
    send(waiting, wait_body);
    ASSERT_TRUE(waits(1));
    tcp::socket other = connected();
    send(other, R"({"owner": "other"})");
    EXPECT_EQ(status_from(other), 409U);
    (void)locks.release(order, held->lock_id);
    EXPECT_EQ(status_from(waiting), 201U);
    // The connection goes on.
    send(waiting, try_body);
    EXPECT_EQ(status_from(waiting), 201U);
}

TEST_F(BeastTest, AClientThatClosesItsConnectionLeavesTheLineAtOnce) {
    const auto held = locks.try_lock(order, {.owner = "Lee"});
    {
        tcp::socket vanishing = connected();
        send(vanishing, wait_body);
        ASSERT_TRUE(waits(1));
    }
    EXPECT_TRUE(waits(0));
    (void)locks.release(order, held->lock_id);
    EXPECT_TRUE(is_free(order));
}

}  // namespace
}  // namespace leasehold::testing
