#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include <leasehold/web/lock_routes.hpp>

// The web kit on Boost.Beast. Include it in programs that use Boost.Beast.
namespace leasehold::web {

using BeastRequest = boost::beast::http::request<boost::beast::http::string_body>;
using BeastResponse = boost::beast::http::response<boost::beast::http::string_body>;

[[nodiscard]] inline Request request_from(const BeastRequest& from,
                                          std::stop_token client_gone = {}) {
    Request request{.method = std::string{from.method_string()},
                    .target = std::string{from.target()},
                    .body = from.body(),
                    .client_gone = std::move(client_gone)};
    for (const auto& field : from) {
        request.headers.emplace_back(std::string{field.name_string()}, std::string{field.value()});
    }
    return request;
}

[[nodiscard]] inline BeastResponse response_to(const BeastRequest& request, Response&& response) {
    BeastResponse to{static_cast<boost::beast::http::status>(response.status), request.version()};
    to.set(boost::beast::http::field::content_type, response.content_type);
    for (const auto& [name, value] : response.headers) to.insert(name, value);
    to.body() = std::move(response.body);
    to.keep_alive(request.keep_alive());
    to.prepare_payload();
    return to;
}

// Stops a token when the client closes its connection while its request is being answered. Keep it
// until the answer is there, and read nothing from the socket until then. For the thread or strand
// of the socket, which outlives this.
class ClientWatch {
public:
    explicit ClientWatch(boost::asio::ip::tcp::socket& socket)
        : watch_{new Watch{socket, {}, false}} {
        watch_->socket.async_wait(boost::asio::ip::tcp::socket::wait_read,
                                  [watch = watch_](boost::system::error_code error) {
                                      if (error || watch->over) return;
                                      // The next request of the client is not its end.
                                      char byte = 0;
                                      const auto size = watch->socket.receive(
                                          boost::asio::buffer(&byte, 1),
                                          boost::asio::socket_base::message_peek, error);
                                      if (error || size == 0) watch->gone.request_stop();
                                  });
    }
    ClientWatch(const ClientWatch&) = delete;
    ClientWatch& operator=(const ClientWatch&) = delete;
    ~ClientWatch() {
        watch_->over = true;
        boost::system::error_code ignored;
        watch_->socket.cancel(ignored);
    }

    [[nodiscard]] std::stop_token client_gone() const { return watch_->gone.get_token(); }

private:
    struct Watch {
        boost::asio::ip::tcp::socket& socket;
        std::stop_source gone;
        bool over = false;
    };
    std::shared_ptr<Watch> watch_;
};

// Answers the request: void(Response), on the handler's executor. A request that waits for a lock
// occupies no thread; the others ask the store on this thread before this function returns. Send
// the answer with response_to(); if that fails, call its if_unsent.
template <class Token>
auto async_answer(LockRoutes& routes, Request request, std::optional<Visitor> who, Token&& token) {
    return boost::asio::async_initiate<Token, void(Response)>(
        [&routes](auto handler, Request asked, std::optional<Visitor> visitor) {
            auto work = boost::asio::make_work_guard(boost::asio::get_associated_executor(handler));
            auto shared = std::make_shared<std::pair<decltype(handler), decltype(work)>>(
                std::move(handler), std::move(work));
            routes.answer(asked, visitor, [shared](Response response) {
                const auto executor = shared->second.get_executor();
                boost::asio::post(executor, [shared, response = std::move(response)]() mutable {
                    auto handle = std::move(shared->first);
                    shared->second.reset();
                    std::move(handle)(std::move(response));
                });
            });
        },
        token, std::move(request), std::move(who));
}

}  // namespace leasehold::web
