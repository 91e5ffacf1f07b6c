#include "stores/etcd/gateway.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <utility>

namespace leasehold::etcd {
namespace {

namespace json = boost::json;
using Effect = StoreFault::Effect;
using Cause = StoreFault::Cause;

// gRPC's codes in the body of an error.
enum Code : std::int64_t {
    invalid_argument = 3,
    permission_denied = 7,
    resource_exhausted = 8,
    failed_precondition = 9,
    out_of_range = 11,
    unauthenticated = 16,
};

// etcd does not know our token (any more). We need a new one, and nothing was done.
struct TokenRefused {};

StoreFault no_gateway(const std::string& server, unsigned status) {
    return {Effect::none, Cause::configuration,
            "etcd at " + server + " says " + std::to_string(status) +
                " and no more: is it etcd 3.4 or later, with its JSON gateway?"};
}

[[noreturn]] void refuse(const std::string& server, const net::Response& response,
                         const json::value& body, Effect effect) {
    const json::object* const error = body.if_object();
    const json::value* const text = error != nullptr ? error->if_contains("error") : nullptr;
    const json::value* const number = error != nullptr ? error->if_contains("code") : nullptr;
    if (text == nullptr || !text->is_string()) throw no_gateway(server, response.status);
    const std::string problem{text->get_string()};
    const std::string said = "etcd at " + server + " says: " + problem;
    const std::int64_t code = number != nullptr && number->is_int64() ? number->get_int64() : 0;

    const bool about_users = problem.contains("auth") || problem.contains("user name");
    if (code == unauthenticated || problem.contains("revision of auth store is old")) {
        throw TokenRefused{};
    }
    if (code == permission_denied || code == failed_precondition ||
        (code == invalid_argument && about_users)) {
        throw StoreFault{Effect::none, Cause::configuration, said};
    }
    if (code == invalid_argument || code == out_of_range) {
        throw StoreFault{Effect::none, Cause::internal, said};
    }
    // Too many requests wait: etcd refused this one before it started. A request that fills the
    // disk quota has the same code, but may have been carried out.
    if (code == resource_exhausted && !problem.contains("space exceeded")) {
        throw StoreFault{Effect::none, Cause::unavailable, said};
    }
    throw StoreFault{effect, Cause::unavailable, said};
}

json::value understood(const std::string& server, const net::Response& response, Effect effect) {
    json::error_code error;
    json::value body = json::parse(response.body, error);
    if (response.status != 200) {
        refuse(server, response, error ? json::value{} : std::move(body), effect);
    }
    if (error || !body.is_object()) {
        throw StoreFault{effect, Cause::internal,
                         "etcd at " + server + " answered something that is no JSON object"};
    }
    return body;
}

}  // namespace

void Members::pass_over(std::size_t member) {
    preferred_.compare_exchange_strong(member, (member + 1) % count_);
}

std::string Members::token() const {
    const std::lock_guard lock{mutex_};
    return token_;
}

void Members::set_token(std::string token) {
    const std::lock_guard lock{mutex_};
    token_ = std::move(token);
}

Gateway::Gateway(const Cluster& target, Duration io_timeout, Members& members,
                 std::stop_token ended)
    : user_{target.user},
      password_{target.password},
      io_timeout_{io_timeout},
      members_{members},
      ended_{std::move(ended)} {
    for (const Endpoint& endpoint : target.endpoints) {
        connections_.push_back(std::make_unique<net::HttpConnection>(net::Peer{
            .what = "etcd",
            .host = endpoint.host,
            .port = endpoint.port,
            .transport = target.transport == Cluster::Transport::tls ? net::Transport::tls
                                                                     : net::Transport::plain,
            .ca_file = target.ca_file,
            .cert_file = target.cert_file,
            .key_file = target.key_file}));
    }
}

json::value Gateway::post(const std::string& path, const std::string& body, Effect effect) {
    return ask_members({.method = net::Method::post,
                        .path = path,
                        .body = body,
                        .headers = {},
                        .effect_once_sent = effect});
}

json::value Gateway::get(const std::string& path) {
    return ask_members({.method = net::Method::get, .path = path, .body = {}, .headers = {}});
}

void Gateway::open_stream(const std::string& path, const std::string& body, Moment deadline,
                          const std::stop_token& stop) {
    streaming_ = members_.preferred();
    net::HttpConnection& connection = *connections_[streaming_];
    try {
        net::Message message{
            .method = net::Method::post, .path = path, .body = body, .headers = {}};
        if (!user_.empty()) {
            if (members_.token().empty()) authenticate(streaming_, deadline);
            message.headers = {{"Authorization", members_.token()}};
        }
        const unsigned status = connection.open_stream(
            message, {.connected = deadline, .answered = deadline, .ended = stop});
        if (status == 200) return;
    } catch (const TokenRefused&) {
        // As below.
    } catch (const StoreFault&) {
        members_.pass_over(streaming_);
        throw;
    }
    members_.set_token({});
    throw StoreFault{Effect::none, Cause::unavailable,
                     "etcd at " + connection.server() + " refused a stream"};
}

std::optional<json::value> Gateway::next_of_stream(Moment deadline, const std::stop_token& stop) {
    net::HttpConnection& connection = *connections_[streaming_];
    const auto line =
        connection.next_line({.connected = deadline, .answered = deadline, .ended = stop});
    if (!line) return std::nullopt;
    json::error_code error;
    json::value value = json::parse(*line, error);
    if (!error) return value;
    throw StoreFault{Effect::none, Cause::internal,
                     "etcd at " + connection.server() + " sent something that is no JSON"};
}

json::value Gateway::ask_members(net::Message message) {
    const auto deadline = std::chrono::steady_clock::now() + io_timeout_;
    for (std::size_t asked = 1;; ++asked) {
        const std::size_t member = members_.preferred();
        try {
            return ask_as_user(member, message, deadline);
        } catch (const StoreFault& fault) {
            if (fault.cause() == Cause::unavailable) members_.pass_over(member);
            // lab: next-member
            const bool may_go_on =
                fault.effect() == Effect::none && fault.cause() == Cause::unavailable &&
                !ended_.stop_requested() && std::chrono::steady_clock::now() < deadline;
            if (!may_go_on || asked == members_.count()) throw;
        }
    }
}

json::value Gateway::ask_as_user(std::size_t member, net::Message& message, Moment deadline) {
    for (bool again = false;; again = true) {
        try {
            if (!user_.empty()) {
                if (members_.token().empty()) authenticate(member, deadline);
                message.headers = {{"Authorization", members_.token()}};
            }
            return ask(member, message, deadline);
        } catch (const TokenRefused&) {
            if (user_.empty() || again) {
                throw StoreFault{
                    Effect::none, Cause::configuration,
                    "etcd at " + connections_[member]->server() + " does not accept our user"};
            }
            members_.set_token({});
        }
    }
}

void Gateway::authenticate(std::size_t member, Moment deadline) {
    const json::object who{{"name", user_}, {"password", password_}};
    const json::value answer = ask(member,
                                   {.method = net::Method::post,
                                    .path = "/v3/auth/authenticate",
                                    .body = json::serialize(who),
                                    .headers = {}},
                                   deadline);
    const json::value* const token = answer.get_object().if_contains("token");
    if (token == nullptr || !token->is_string()) {
        throw StoreFault{Effect::none, Cause::internal, "etcd gave our user no token"};
    }
    members_.set_token(std::string{token->get_string()});
}

json::value Gateway::ask(std::size_t member, const net::Message& message, Moment deadline) {
    // A request without effect must leave time to ask another member.
    const auto now = std::chrono::steady_clock::now();
    const auto share =
        now + (deadline - now) / static_cast<int>(std::min<std::size_t>(members_.count(), 3));
    net::HttpConnection& connection = *connections_[member];
    const net::Response response = connection.exchange(
        message, {.connected = share,
                  .answered = message.effect_once_sent == Effect::none ? share : deadline,
                  .ended = ended_});
    return understood(connection.server(), response, message.effect_once_sent);
}

}  // namespace leasehold::etcd
