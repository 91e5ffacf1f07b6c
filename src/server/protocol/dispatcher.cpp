#include "server/protocol/dispatcher.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <string>
#include <utility>

#include "server/access/audit.hpp"
#include "server/counted.hpp"
#include "server/http/site.hpp"
#include "server/protocol/audited.hpp"

namespace leasehold::server {
namespace {

std::vector<std::unique_ptr<Protocol>> longest_prefix_first(
    std::vector<std::unique_ptr<Protocol>> protocols) {
    std::ranges::sort(protocols, std::ranges::greater{},
                      [](const auto& protocol) { return protocol->prefix().size(); });
    return protocols;
}

// HEAD is a GET whose reply is sent without its body.
bool answers(const Route& route, std::string_view method) {
    return route.method == method || (route.method == "GET" && method == "HEAD");
}

Problem wrong_method(const Protocol& protocol, const PathPattern& path) {
    const std::string allowed = methods_of(protocol.routes(), path);
    return {.status = 405,
            .code = "method_not_allowed",
            .detail = "this URL takes " + allowed + " only",
            .fields = "Allow: " + allowed + "\r\n"};
}

// Writes the problem in the protocol's form, and adds the header fields that HTTP requires, in case
// the protocol left them out.
Reply error_of(const Protocol& protocol, const Problem& problem, const HttpRequest& request) {
    Reply reply = protocol.error(problem, request.language());
    if (!reply.fields.contains(problem.fields)) reply.fields += problem.fields;
    reply.retry_after_s = std::max(reply.retry_after_s, problem.retry_after_s);
    reply.last = reply.last || problem.last;
    return reply;
}

// The reply to the exception that is being handled. `effect` is that of a lack of memory.
Reply error_of_exception(const Protocol& protocol, const HttpRequest& request,
                         StoreFault::Effect effect) try {
    try {
        throw;
    } catch (const Refused& refused) {
        return error_of(protocol, refused.problem, request);
    } catch (const BadRequest& bad) {
        return error_of(protocol, {.status = 400, .code = "bad_request", .detail = bad.what()},
                        request);
    } catch (const StoreFault& fault) {
        return protocol.error(fault);
    } catch (const std::bad_alloc&) {
        return protocol.without_memory(effect);
    } catch (const std::exception&) {
        return error_of(protocol,
                        {.status = 500,
                         .code = "internal",
                         .detail = "the server could not answer this request"},
                        request);
    }
} catch (const std::bad_alloc&) {
    return protocol.without_memory(effect);
}

// Replaces a reply, except for what is known about its route.
void replace(Reply& reply, Reply other) {
    other.route = reply.route;
    other.method = reply.method;
    reply = std::move(other);
}

void check_site(const HttpRequest& request, const ServerOptions& options) {
    if (auto refusal = site_refusal(request, options)) throw Refused{*std::move(refusal)};
}

void check_body(const HttpRequest& request, const Route& route, const Protocol& protocol) {
    if (request.body.empty()) return;
    if (route.body == TakesBody::no) throw Refused{takes_no_body()};
    protocol.check_body_type(request);
}

}  // namespace

struct Dispatcher::Match {
    const Route* route;
    Target target;

    [[nodiscard]] RoutedRequest request(HttpRequest& request, ClientConnection& connection,
                                        const Scheme& scheme) const {
        RoutedRequest routed{.http = request,
                             .query = read_query(target),
                             .connection = connection,
                             .rule = route->rule,
                             .scheme = scheme};
        std::size_t names = 0;
        for (std::size_t i = 0; i < target.path->size; ++i) {
            if (i >= route->path.size()) {
                routed.names.at(names - 1).append("/").append(*decoded(target.path->segments[i]));
            } else if (route->path.is_name(i)) {
                routed.names.at(names++) = *decoded(target.path->segments[i]);
            }
        }
        return routed;
    }
};

Dispatcher::Dispatcher(std::vector<std::unique_ptr<Protocol>> protocols, Backend& backend,
                       const ServerOptions& options)
    : protocols_{longest_prefix_first(std::move(protocols))},
      backend_{backend},
      options_{options},
      bodies_{std::max(options.bodies_bytes, options.body_bytes)} {
    for (const auto& protocol : protocols_) {
        const Reply reply = protocol->without_memory(StoreFault::Effect::unknown);
        Messages& messages = without_memory_.emplace_back();
        for (const WithTls tls : {WithTls::no, WithTls::yes}) {
            std::string& message = messages[tls];
            print(message, reply, {}, AfterReply::close, WithBody::yes,
                  tls == WithTls::yes ? strict_transport(options) : "");
            message += reply.static_body;
        }
    }
}

std::size_t Dispatcher::index_of_protocol(std::string_view target) const noexcept {
    const auto found = std::ranges::find_if(
        protocols_, [&](const auto& protocol) { return target.starts_with(protocol->prefix()); });
    // A target that cannot be read belongs to the protocol of all other URLs.
    const auto last = std::prev(protocols_.end());
    return static_cast<std::size_t>((found == protocols_.end() ? last : found) -
                                    protocols_.begin());
}

Protocol& Dispatcher::protocol_of(std::string_view target) const noexcept {
    return *protocols_[index_of_protocol(target)];
}

std::string_view Dispatcher::without_memory(const HttpRequest& request,
                                            WithTls tls) const noexcept {
    return without_memory_[index_of_protocol(request.target)][tls];
}

Reply Dispatcher::error(const HttpRequest& request, const Problem& problem) const {
    Reply reply = error_of(protocol_of(request.target), problem, request);
    reply.method = label_of_method(request.method);
    return reply;
}

Reply Dispatcher::refusal_of_body(HttpRequest& request, const ClientConnection& connection,
                                  const Problem& problem) const {
    const Protocol& protocol = protocol_of(request.target);
    Reply reply{.method = label_of_method(request.method)};
    (void)find_route(protocol, request, reply);
    replace(reply, error_of(protocol, problem, request));
    audit(request, connection, reply);
    permit_origin(reply, request, options_);
    return reply;
}

std::string_view Dispatcher::label_of_method(std::string_view method) const noexcept {
    for (const auto& protocol : protocols_) {
        for (const Route& route : protocol->routes()) {
            if (answers(route, method)) return method == "HEAD" ? "HEAD" : route.method;
        }
    }
    return "other";
}

Dispatcher::Match Dispatcher::find_route(const Protocol& protocol, const HttpRequest& request,
                                         Reply& reply) {
    const Target target = read_target(request.target);
    if (!target.path) throw Refused{not_found()};
    const PathPattern* pattern = nullptr;
    for (const Route& route : protocol.routes()) {
        if (!route.path.matches(*target.path)) continue;
        if (pattern == nullptr) pattern = &route.path;
        reply.route = pattern->text();
        if (!answers(route, request.method)) continue;
        if (route.applies != nullptr && !route.applies(request)) continue;
        return {&route, target};
    }
    throw Refused{pattern == nullptr ? not_found() : wrong_method(protocol, *pattern)};
}

void Dispatcher::let_in(HttpRequest& request, const Protocol& protocol, const Route& route,
                        ClientConnection& connection) {
    AccessControl& access = backend_.access_;
    if (std::exchange(request.let_in, true)) {
        access.admit_again(request, route.rule.need, protocol.scheme());
    } else {
        access.admit(request, route.rule, protocol.scheme(), connection);
    }
    if (connection.is_known()) return;
    if (!options_.tokens) {
        connection.identified(nullptr);
    } else if (request.token) {
        // A token beyond its connection quota is served, but its connections can be evicted like
        // the connections of clients without a token.
        auto place = backend_.quotas_.enter(*request.token, Quota::connections);
        if (place) connection.identified(*std::move(place));
    }
}

std::optional<Reply> Dispatcher::refusal_before_body(std::optional<std::uint64_t> body_bytes,
                                                     HttpRequest& request,
                                                     ClientConnection& connection) {
    const Protocol& protocol = protocol_of(request.target);
    Reply reply{.method = label_of_method(request.method)};
    try {
        check_site(request, options_);
        const Match match = find_route(protocol, request, reply);
        let_in(request, protocol, *match.route, connection);
        request.takes_body = match.route->body == TakesBody::yes;
        if (body_bytes > 0U && !request.takes_body) throw Refused{takes_no_body()};
        if (body_bytes > 0U) protocol.check_body_type(request);
        return std::nullopt;
    } catch (...) {
        replace(reply, error_of_exception(protocol, request, StoreFault::Effect::none));
    }
    audit(request, connection, reply);
    permit_origin(reply, request, options_);
    return reply;
}

void Dispatcher::audit(HttpRequest& request, const ClientConnection& connection,
                       Reply& reply) const {
    if (options_.audit == nullptr) return;
    const bool is_refused = reply.status == 401 || reply.status == 403 || reply.status == 429;
    if (is_refused || request.refused_in_batch > 0) {
        constexpr std::size_t most_path_bytes = 300;
        const std::string_view path =
            std::string_view{request.target}.substr(0, request.target.find('?'));
        AuditEvent event = event_of("access", "refused", request, connection, *options_.audit);
        event.status = is_refused ? reply.status : 429;
        event.facts["method"] = reply.method;
        event.facts["route"] = reply.route;
        event.facts["path"] = path.substr(0, most_path_bytes);
        if (request.refused_in_batch > 0) event.facts["requests"] = request.refused_in_batch;
        options_.audit->record(std::move(event));
    }
    if (request.audit_id.empty()) return;
    reply.fields.append("X-Request-Id: ").append(request.audit_id).append("\r\n");
}

Task<Reply> Dispatcher::answer(HttpRequest& request, ClientConnection& connection) {
    const Counted counted{backend_.under_way_};
    Protocol& protocol = protocol_of(request.target);
    Reply reply{.method = label_of_method(request.method)};
    std::optional<RoutedRequest> routed;
    try {
        check_site(request, options_);
        if (is_preflight(request, options_)) {
            reply = preflight_reply(methods_of(protocol.routes()), protocol.cors_fields());
            reply.method = "OPTIONS";
        } else {
            const Match match = find_route(protocol, request, reply);
            const Route& route = *match.route;
            let_in(request, protocol, route, connection);
            routed.emplace(match.request(request, connection, protocol.scheme()));
            if (!route.query.takes_any()) routed->query.refuse_all_but(route.query.names());
            check_body(request, route, protocol);
            replace(reply, co_await route.handler(protocol, *routed));
        }
    } catch (...) {
        const bool untouched = !routed || !routed->asked_store;
        replace(reply, error_of_exception(
                           protocol, request,
                           untouched ? StoreFault::Effect::none : StoreFault::Effect::unknown));
    }
    reply.waited = routed && routed->waited;
    const Executor executor = co_await asio::this_coro::executor;
    backend_.count_leases_if_due(executor);
    audit(request, connection, reply);
    permit_origin(reply, request, options_);
    co_return reply;
}

}  // namespace leasehold::server
