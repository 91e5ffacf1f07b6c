#pragma once

#include <httplib.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <leasehold/web/client_files.hpp>
#include <leasehold/web/lock_routes.hpp>
#include <leasehold/web/sessions.hpp>

// The web kit on cpp-httplib (0.11 and later). Include it in programs that link cpp-httplib.
namespace leasehold::web {

[[nodiscard]] inline Request request_from(const httplib::Request& from) {
    Request request{.method = from.method, .target = from.target, .body = from.body};
    for (const auto& [name, value] : from.headers) request.headers.emplace_back(name, value);
    return request;
}

inline void send(const Response& response, httplib::Response& to) {
    to.status = response.status;
    for (const auto& [name, value] : response.headers) to.set_header(name, value);
    if (!response.if_unsent) {
        to.set_content(response.body, response.content_type);
        return;
    }
    // Tells whether the client was still there. A client that closed its connection while it waited
    // is noticed before the response is written.
    to.set_content_provider(
        response.body.size(), response.content_type,
        [body = response.body](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
            return sink.is_writable() && sink.write(body.data() + offset, length);
        },
        [if_unsent = response.if_unsent](bool sent) {
            if (!sent) if_unsent();
        });
}

// The visitor with the cookie of a session.
[[nodiscard]] inline std::optional<Visitor> visitor(Sessions& sessions,
                                                    const httplib::Request& request) {
    return sessions.visitor(request_from(request));
}

// Takes anybody's word for the form's field `name`: to try the kit out.
[[nodiscard]] inline std::optional<std::string> by_name(const httplib::Request& form) {
    return form.get_param_value("name");
}

// Lets the server answer POST /sign-in, such as sign_in_form sends it. `user` says who has sent the
// form, and nothing if its password is wrong. Either way the browser goes to "/".
inline void add_sign_in(httplib::Server& server, Sessions& sessions,
                        std::function<std::optional<std::string>(const httplib::Request&)> user,
                        CookieFor connections = CookieFor::https) {
    server.Post("/sign-in", [&sessions, user = std::move(user), connections](
                                const httplib::Request& form, httplib::Response& to) {
        to.set_redirect("/", 303);
        auto name = user(form);
        if (!name) return;
        try {
            if (const auto session = sessions.sign_in(*std::move(name))) {
                to.set_header("Set-Cookie", set_cookie("session", session->token, connections));
            }
        } catch (const BadRequest&) {
            // The name cannot be a part of an owner: the person is asked again.
        }
    });
}

// Sends a page with this HTML in its body.
inline void send_page(const std::string& body, httplib::Response& to, int status = 200) {
    to.status = status;
    to.set_content(
        "<!doctype html><meta name=viewport content=\"width=device-width\"><body>" + body,
        "text/html; charset=utf-8");
}

// Lets the server answer the routes of <leasehold-guard>. `who` says who has signed in; it is
// called on many threads. Both outlive the server's work.
inline void add_lock_routes(httplib::Server& server, LockRoutes& routes,
                            std::function<std::optional<Visitor>(const httplib::Request&)> who) {
    const auto answer = [&routes, who = std::move(who)](const httplib::Request& from,
                                                        httplib::Response& to) {
        send(routes.answer(request_from(from), who(from)), to);
    };
    const std::string locks = "/v1/locks/.*";
    server.Get("/client/.*", answer);
    server.Get(locks, answer);
    server.Post(locks, answer);
    server.Patch(locks, answer);
    server.Delete(locks, answer);
}

struct HandlerLimits {
    // In bytes; longer ones are answered with 414. cpp-httplib finds a handler by a regular
    // expression, and libstdc++ matches one with a stack frame for every byte.
    std::size_t longest_target = 2'000;
    // In bytes; larger ones are answered with 413. cpp-httplib alone refuses forms above 8 KiB.
    std::size_t largest_body = 1'000'000;
};

// Answers without having read the body, and closes the connection: cpp-httplib would take the rest
// of the body for the next request. It closes when a content provider fails.
inline void refuse_unread(int status, httplib::Response& to) {
    to.status = status;
    to.set_header("Connection", "close");
    to.set_content_provider("text/plain", [](std::size_t, httplib::DataSink&) { return false; });
}

// Lets one handler answer every request, for an application with a front controller. It is called
// on many threads, and not for a request above the limits. A form as multipart/form-data is
// answered with 415. Sets the server's pre-routing handler.
inline void add_handler(httplib::Server& server, std::function<Response(const Request&)> handler,
                        HandlerLimits limits = {}) {
    server.set_pre_routing_handler([limits](const httplib::Request& from, httplib::Response& to) {
        using enum httplib::Server::HandlerResponse;
        if (from.target.size() <= limits.longest_target) return Unhandled;
        refuse_unread(414, to);
        return Handled;
    });
    const auto answer = [handler](const httplib::Request& from, httplib::Response& to) {
        send(handler(request_from(from)), to);
    };
    const auto answer_body = [handler = std::move(handler), limits](
                                 const httplib::Request& from, httplib::Response& to,
                                 const httplib::ContentReader& read) {
        if (from.is_multipart_form_data()) return refuse_unread(415, to);
        Request request = request_from(from);
        const bool is_whole = read([&](const char* data, std::size_t size) {
            request.body.append(data, size);
            return request.body.size() <= limits.largest_body;
        });
        if (is_whole) return send(handler(request), to);
        refuse_unread(413, to);
    };
    const std::string any_path = "[\\s\\S]*";
    server.set_payload_max_length(limits.largest_body);
    server.Get(any_path, answer);
    server.Options(any_path, answer);
    server.Post(any_path, answer_body);
    server.Put(any_path, answer_body);
    server.Patch(any_path, answer_body);
    server.Delete(any_path, answer_body);
}

inline sem_t end_signals;  // counts the signals that ask serve_until_signal() to end

// Makes the server refuse a port on which another process listens. Without this, cpp-httplib shares
// the port, and each process gets a part of the requests. Call it before the server is bound.
inline void use_port_alone(httplib::Server& server) {
    server.set_socket_options([](socket_t socket) {
        const int yes = 1;
        ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
}

// Serves on that port until the process gets SIGINT or SIGTERM. Port 0 is any free one. When it
// listens, it calls `greet` with the address, "http://127.0.0.1:8080"; without one it prints it.
// At the end it answers the pages that wait in line, lets the requests under way end, and returns
// true. If it cannot listen there, it says so on standard error and returns false. A process calls
// it for one server. Sets the server's socket options, as use_port_alone().
[[nodiscard]] inline bool serve_until_signal(
    httplib::Server& server, LockRoutes& routes, const std::string& host, int port,
    const std::function<void(const std::string& address)>& greet = {}) {
    use_port_alone(server);
    const int bound = port == 0                         ? server.bind_to_any_port(host)
                      : server.bind_to_port(host, port) ? port
                                                        : -1;
    if (bound < 0) {
        std::cerr << "cannot listen on " << host << ':' << port << std::endl;
        return false;
    }
    ::sem_init(&end_signals, 0, 0);
    struct sigaction ask_to_end{};
    struct sigaction before_int{};
    struct sigaction before_term{};
    ask_to_end.sa_handler = [](int) { ::sem_post(&end_signals); };
    ::sigaction(SIGINT, &ask_to_end, &before_int);
    ::sigaction(SIGTERM, &ask_to_end, &before_term);
    const std::string address = "http://" + host + ':' + std::to_string(bound);
    if (greet) {
        greet(address);
    } else {
        std::cout << address << std::endl;
    }
    std::atomic<bool> ended{false};
    std::jthread serving{[&] {
        server.listen_after_bind();
        ended = true;
        ::sem_post(&end_signals);
    }};
    while (::sem_wait(&end_signals) != 0) {
        // Another signal was handled.
    }
    routes.stop_waiting();
    while (!server.is_running() && !ended) std::this_thread::yield();  // stop() before that is lost
    server.stop();
    serving.join();
    ::sigaction(SIGINT, &before_int, nullptr);
    ::sigaction(SIGTERM, &before_term, nullptr);
    return true;
}

// add_lock_routes() for applications that use Sessions.
inline void add_lock_routes(httplib::Server& server, LockRoutes& routes, Sessions& sessions) {
    add_lock_routes(server, routes, [&sessions](const httplib::Request& request) {
        return visitor(sessions, request);
    });
}

// serve_until_signal() for this machine alone.
[[nodiscard]] inline bool serve_until_signal(httplib::Server& server, LockRoutes& routes,
                                             int port) {
    return serve_until_signal(server, routes, "127.0.0.1", port);
}

}  // namespace leasehold::web
