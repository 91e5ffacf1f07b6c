#include "web/http_server.hpp"

#include <leasehold/web/httplib.hpp>

#include <stdexcept>
#include <thread>

#include "web/language.hpp"

namespace customers::web {
namespace {

// A connection that is kept open keeps a thread.
constexpr std::size_t threads = 64;
constexpr std::chrono::seconds read_timeout{10};
constexpr std::size_t requests_per_connection = 1'000;
constexpr std::time_t idle_seconds = 5;
// libstdc++ matches a regular expression with a stack frame for every character: the pattern is
// short, and longest_target bounds the rest.
constexpr const char* any_path = "[\\s\\S]*";

constexpr std::string_view unreadable = "The application cannot read this request.";

// No scripts, styles or frames from other sites, and no inline ones.
constexpr const char* content_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'";

const httplib::Headers& headers_of_everything() {
    static const httplib::Headers headers{{"Content-Security-Policy", content_policy},
                                          {"X-Content-Type-Options", "nosniff"},
                                          {"X-Frame-Options", "DENY"},
                                          {"Referrer-Policy", "same-origin"},
                                          {"Cross-Origin-Opener-Policy", "same-origin"},
                                          {"Cross-Origin-Resource-Policy", "same-origin"}};
    return headers;
}

void reply(httplib::Response& to, const Response& response) {
    to.headers = headers_of_everything();
    leasehold::web::send(response, to);
    if (!to.has_header("Cache-Control")) to.set_header("Cache-Control", "no-store");
}

// Refuses a request that the application does not see.
void refuse(const httplib::Request& from, httplib::Response& to, int status,
            std::string_view english) {
    const std::string text{
        in(leasehold::preferred_language(from.get_header_value("Accept-Language")), english)};
    reply(to, {.status = status, .content_type = "text/plain; charset=utf-8", .body = text + '\n'});
}

bool is_form(const httplib::Request& from) {
    return from.get_header_value("Content-Type").starts_with("application/x-www-form-urlencoded");
}

// Nothing where the request is not well-formed.
std::optional<Request> read(const httplib::Request& from, std::string body) {
    Request request{.method = from.method, .headers = leasehold::web::request_from(from).headers};
    const std::string_view target = from.target;
    const std::size_t question = target.find('?');
    auto path = leasehold::web::decode_url(target.substr(0, question));
    auto query =
        Fields::parse(question == std::string_view::npos ? "" : target.substr(question + 1));
    if (!path || !query) return std::nullopt;
    request.path = *std::move(path);
    request.query = *std::move(query);
    if (is_form(from)) {
        auto form = Fields::parse(body);
        if (!form) return std::nullopt;
        request.form = *std::move(form);
    }
    request.body = std::move(body);
    return request;
}

// The library's own option would also share the port with another process that listens on it.
void only_reuse_address(socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

}  // namespace

HttpServer::HttpServer(Handler handler)
    : handler_{std::move(handler)}, server_{std::make_unique<httplib::Server>()} {
    server_->new_task_queue = [] { return new httplib::ThreadPool(threads); };
    server_->set_socket_options(only_reuse_address);
    server_->set_tcp_nodelay(true);
    server_->set_read_timeout(read_timeout);
    server_->set_keep_alive_max_count(requests_per_connection);
    server_->set_keep_alive_timeout(idle_seconds);
    server_->set_payload_max_length(largest_body);

    using Handled = httplib::Server::HandlerResponse;
    server_->set_pre_routing_handler([](const httplib::Request& from, httplib::Response& to) {
        if (from.target.size() <= longest_target) return Handled::Unhandled;
        refuse(from, to, 414, "The address is too long.");
        return Handled::Handled;
    });
    const auto handle = [this](const httplib::Request& from, httplib::Response& to,
                               std::string body) {
        auto request = read(from, std::move(body));
        if (!request) return refuse(from, to, 400, unreadable);
        reply(to, handler_(*std::move(request)));
    };
    const auto plain = [handle](const httplib::Request& from, httplib::Response& to) {
        handle(from, to, {});
    };
    // Reads the body itself, because the library refuses forms above 8 KiB.
    const auto with_body = [handle](const httplib::Request& from, httplib::Response& to,
                                    const httplib::ContentReader& read_content) {
        std::string body;
        const bool whole = read_content([&](const char* data, std::size_t size) {
            body.append(data, size);
            return body.size() <= largest_body;
        });
        if (!whole) return refuse(from, to, 413, "The request is too large.");
        handle(from, to, std::move(body));
    };
    server_->Get(any_path, plain);
    server_->Options(any_path, plain);
    server_->Post(any_path, with_body);
    server_->Put(any_path, with_body);
    server_->Patch(any_path, with_body);
    server_->Delete(any_path, with_body);
    server_->set_error_handler([](const httplib::Request& from, httplib::Response& to) {
        // What the library refused by itself.
        if (to.body.empty() && to.headers.empty()) refuse(from, to, to.status, unreadable);
    });
}

HttpServer::~HttpServer() = default;

std::uint16_t HttpServer::bind(const std::string& address, std::uint16_t port) {
    const int bound = port == 0
                          ? server_->bind_to_any_port(address)
                          : (server_->bind_to_port(address, port) ? static_cast<int>(port) : -1);
    if (bound <= 0) {
        throw std::runtime_error{"cannot listen on " + address + " port " + std::to_string(port)};
    }
    return static_cast<std::uint16_t>(bound);
}

void HttpServer::serve() {
    server_->listen_after_bind();
    has_ended_ = true;
}

void HttpServer::stop() {
    // The library ignores a stop before it has started.
    while (!server_->is_running() && !has_ended_) std::this_thread::yield();
    server_->stop();
}

}  // namespace customers::web
