#pragma once

#include <httplib.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <leasehold/web/lock_routes.hpp>

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

}  // namespace leasehold::web
