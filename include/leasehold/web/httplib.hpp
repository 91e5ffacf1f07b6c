#pragma once

#include <httplib.h>
#include <semaphore.h>
#include <signal.h>

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

inline sem_t end_signals;  // counts the signals that ask serve_until_signal() to end

// Serves on that port until the process gets SIGINT or SIGTERM, and prints the address. Then it
// answers the pages that wait in line, lets the requests under way end, and returns true. If it
// cannot listen there, it says so on standard error and returns false. A process calls it for one
// server.
[[nodiscard]] inline bool serve_until_signal(httplib::Server& server, LockRoutes& routes,
                                             const std::string& host, int port) {
    const std::string address = host + ':' + std::to_string(port);
    if (!server.bind_to_port(host, port)) {
        std::cerr << "cannot listen on " << address << std::endl;
        return false;
    }
    std::cout << "http://" << address << std::endl;
    ::sem_init(&end_signals, 0, 0);
    struct sigaction ask_to_end{};
    struct sigaction before_int{};
    struct sigaction before_term{};
    ask_to_end.sa_handler = [](int) { ::sem_post(&end_signals); };
    ::sigaction(SIGINT, &ask_to_end, &before_int);
    ::sigaction(SIGTERM, &ask_to_end, &before_term);
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
