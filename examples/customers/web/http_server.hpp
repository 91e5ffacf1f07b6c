#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "web/http.hpp"

namespace httplib {
class Server;
}

namespace customers::web {

// HTTP for the application, by cpp-httplib. The only place that knows of it.
class HttpServer {
public:
    using Handler = std::function<Response(Request)>;

    static constexpr std::size_t longest_target = 1'024;
    static constexpr std::size_t largest_body = 256 * 1'024;

    // Called from many threads at once.
    explicit HttpServer(Handler handler);
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;
    ~HttpServer();

    // Port 0 is any free one. Returns the port; throws std::runtime_error where it cannot listen.
    std::uint16_t bind(const std::string& address, std::uint16_t port);
    // Until stop().
    void serve();
    // From any thread; waits for serve() to have begun.
    void stop();

private:
    std::atomic<bool> has_ended_ = false;
    Handler handler_;
    std::unique_ptr<httplib::Server> server_;
};

}  // namespace customers::web
