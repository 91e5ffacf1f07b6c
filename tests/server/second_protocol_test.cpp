// A second protocol beside the native one. It shows that a protocol needs nothing but its own
// folder: its table, its methods, its way to authenticate, its media type and its errors.
#include <boost/beast/core/detail/base64.hpp>

#include <array>
#include <new>
#include <string>

#include "server/monitoring/metrics.hpp"
#include "server/protocol/backend.hpp"
#include "server/protocol/dispatcher.hpp"
#include "server/protocol/protocol.hpp"
#include "server/server_fixture.hpp"
#include "server/token_fixture.hpp"
#include "server/v1/native.hpp"

namespace leasehold::testing {
namespace {

namespace base64 = boost::beast::detail::base64;
using namespace std::chrono_literals;
using server::Backend;
using server::Problem;
using server::Reply;
using server::Route;
using server::RoutedRequest;
using server::Task;

// The password of "Basic base64(user:password)" is the token.
std::optional<std::string_view> basic_token(std::string_view authorization, std::string& space) {
    constexpr std::string_view scheme = "Basic ";
    if (!authorization.starts_with(scheme)) return std::nullopt;
    authorization.remove_prefix(scheme.size());
    space.resize(base64::decoded_size(authorization.size()));
    space.resize(base64::decode(space.data(), authorization.data(), authorization.size()).first);
    const std::size_t colon = space.find(':');
    if (colon == std::string::npos) return std::nullopt;
    return std::string_view{space}.substr(colon + 1);
}

constexpr server::Scheme basic{.token_in = basic_token,
                               .form = "Basic USER:TOKEN",
                               .challenge = R"(Basic realm="doors")",
                               .challenge_after_failure = R"(Basic realm="doors")"};

// Doors: LOCK /doors/{door} and UNLOCK /doors/{door}, in plain text.
class Doors final : public server::Protocol {
public:
    explicit Doors(Backend& backend) : backend_{backend} {}

    std::string_view prefix() const noexcept override { return "/doors/"; }
    std::span<const Route> routes() const noexcept override;
    const server::Scheme& scheme() const noexcept override { return basic; }
    std::string_view cors_fields() const noexcept override { return "Authorization"; }

    void check_body_type(const server::HttpRequest& request) const override {
        if (request.content_type == "text/door") return;
        throw server::Refused{{.status = 415, .detail = "a door is text/door"}};
    }
    Reply error(const Problem& problem, Language preferred) const override {
        return {.status = problem.status,
                .body = "no: " + problem.detail.in(preferred) + "\n",
                .content_type = "text/door",
                .fields = problem.fields};
    }
    Reply error(const StoreFault& fault) const override {
        return error(Problem{.status = 503, .detail = fault.what()}, Language::english);
    }
    Reply without_memory(StoreFault::Effect effect) const noexcept override {
        return {.status = 503,
                .static_body = effect == StoreFault::Effect::none
                                   ? "no: the porter is tired\n"
                                   : "no: the porter is tired, look at the door\n",
                .content_type = "text/door"};
    }

private:
    struct Table;

    static Reply text(unsigned status, std::string body) {
        return {.status = status, .body = std::move(body), .content_type = "text/door"};
    }

    Task<Reply> lock(RoutedRequest& request) {
        Request wanted = TryLock{.key = {"Door", request.names[0]},
                                 .lock_id = LockId::random(),
                                 .owner = request.http.body,
                                 .ttl = std::chrono::minutes{1}};
        const Outcome outcome = co_await backend_.ask(request, std::move(wanted));
        if (const auto* lease = std::get_if<Lease>(&outcome)) {
            co_return text(200, "locked by " + lease->owner + "\n");
        }
        throw server::Refused{{.status = 423, .detail = "the door is locked"}};
    }
    Task<Reply> unlock(RoutedRequest& request) {
        Request wanted = ReleaseAll{.owner = request.names[1]};
        (void)co_await backend_.ask(request, std::move(wanted));
        co_return text(200, "unlocked\n");
    }
    Task<Reply> find(RoutedRequest& request) {
        if (request.names[3] == "heavy") throw std::bad_alloc{};
        std::string place;
        for (std::size_t i = 0; i < 4; ++i) place += request.names[i] + ' ';
        co_return text(200, place + "is a door\n");
    }

    Backend& backend_;
};

struct Doors::Table {
    static constexpr std::array rows{
        Route{"LOCK",
              "/doors/{door}",
              {server::Need::use, server::Pace::asks},
              {},
              server::TakesBody::yes,
              server::handler<&Doors::lock>},
        Route{"UNLOCK",
              "/doors/{door}/{owner}",
              {server::Need::use, server::Pace::keeps},
              {},
              server::TakesBody::no,
              server::handler<&Doors::unlock>},
        Route{"GET",
              "/doors/{city}/{street}/{house}/{door}",
              {server::Need::use, server::Pace::asks},
              {},
              server::TakesBody::no,
              server::handler<&Doors::find>},
    };
};

std::span<const Route> Doors::routes() const noexcept {
    return Table::rows;
}

std::string basic_field(const std::string& password) {
    const std::string text = "somebody:" + password;
    std::string encoded(base64::encoded_size(text.size()), '\0');
    encoded.resize(base64::encode(encoded.data(), text.data(), text.size()));
    return "Authorization: Basic " + encoded + "\r\n";
}

std::string door(std::string_view owner) {
    return "Content-Type: text/door\r\nContent-Length: " + std::to_string(owner.size()) + "\r\n";
}

class ASecondProtocol : public ::testing::Test {
protected:
    ASecondProtocol() { client_.expect_another_protocol(); }

    // With the body's own media type.
    Answer lock(std::string_view owner, std::string_view fields = {}) {
        client_.send("LOCK /doors/front HTTP/1.1\r\nHost: localhost\r\n" + std::string{fields} +
                     door(owner) + "\r\n" + std::string{owner});
        return client_.receive();
    }

    server::Metrics metrics_{"1"};
    RunningServer server_{
        memory::open(),
        {.tokens = tokens({token("user", {server::Role::use}), token("watch", {server::Role::see}),
                           token("shop", {server::Role::use}, "shop")}),
         .protocols = {[](Backend& backend) { return std::make_unique<Doors>(backend); }},
         .observer = &metrics_,
         .metrics = &metrics_}};
    Client client_ = server_.connect();
};

TEST_F(ASecondProtocol, HasItsOwnMethodsAndMediaType) {
    const Answer locked = lock("alice", basic_field("secret-of-user"));
    EXPECT_EQ(locked.status, 200);
    EXPECT_EQ(locked.fields.at("content-type"), "text/door");
    EXPECT_EQ(locked.body, "locked by alice\n");
    const Answer refused = lock("bob", basic_field("secret-of-user"));
    EXPECT_EQ(refused.status, 423);
    EXPECT_EQ(refused.reason, "Locked");
    EXPECT_EQ(refused.body, "no: the door is locked\n");
    EXPECT_EQ(client_.ask("UNLOCK", "/doors/front/alice", {}, basic_field("secret-of-user")).body,
              "unlocked\n");
    EXPECT_EQ(lock("bob", basic_field("secret-of-user")).status, 200);
}

TEST_F(ASecondProtocol, AuthenticatesInItsOwnWay) {
    const Answer stranger = lock("alice");
    EXPECT_EQ(stranger.status, 401);
    EXPECT_EQ(stranger.fields.at("www-authenticate"), R"(Basic realm="doors")");
    EXPECT_EQ(
        stranger.body,
        "no: this server wants a token that it accepts, as in Authorization: Basic USER:TOKEN\n");
    EXPECT_EQ(lock("alice", basic_field("wrong")).status, 401);
    EXPECT_EQ(lock("alice", shows("user")).status, 401);  // Bearer
    EXPECT_EQ(lock("alice", basic_field("secret-of-watch")).status, 403);

    const Answer native = client_.ask("GET", "/v1/locks", {}, basic_field("secret-of-watch"));
    EXPECT_EQ(native.status, 401);
    EXPECT_TRUE(native.fields.at("www-authenticate").starts_with("Bearer "));
}

TEST_F(ASecondProtocol, CannotLetATokenActForAnotherOwner) {
    const std::string shop = basic_field("secret-of-shop");
    const Answer refused = lock("alice", shop);
    EXPECT_EQ(refused.status, 403);
    EXPECT_TRUE(refused.body.starts_with("no: the token 'shop' speaks only for")) << refused.body;
    EXPECT_EQ(lock("shop/till-1", shop).status, 200);
    EXPECT_EQ(client_.ask("UNLOCK", "/doors/front/alice", {}, shop).status, 403);
}

TEST_F(ASecondProtocol, WritesEveryErrorItself) {
    const std::string user = basic_field("secret-of-user");
    const auto is_door = [](const Answer& answer, unsigned status) {
        EXPECT_EQ(answer.status, status) << answer.body;
        EXPECT_EQ(answer.fields.at("content-type"), "text/door");
        EXPECT_TRUE(answer.body.starts_with("no: ")) << answer.body;
    };
    is_door(client_.ask("GET", "/doors/a/b/c", {}, user), 404);
    const Answer wrong = client_.ask("GET", "/doors/front", {}, user);
    is_door(wrong, 405);
    EXPECT_EQ(wrong.fields.at("allow"), "LOCK");
    is_door(client_.ask("LOCK", "/doors/front?now=1", {}, user), 400);
    is_door(client_.ask("UNLOCK", "/doors/front/alice", "x", user), 400);
    // Refused by the transport, before the body is read.
    Client large = server_.connect();
    large.expect_another_protocol();
    large.send("LOCK /doors/front HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n");
    is_door(large.receive(), 413);
    Client other_type = server_.connect();
    other_type.expect_another_protocol();
    other_type.send("LOCK /doors/front HTTP/1.1\r\nHost: localhost\r\n" + user +
                    "Content-Type: text/html\r\nContent-Length: 5\r\n\r\n");
    is_door(other_type.receive(), 415);
    // The same when the body arrives together with the header.
    is_door(client_.ask("LOCK", "/doors/front", R"("alice")", user), 415);

    const Answer tired = client_.ask("GET", "/doors/a/b/c/heavy", {}, user);
    is_door(tired, 503);
    EXPECT_EQ(tired.body, "no: the porter is tired\n");

    EXPECT_EQ(client_.ask("GET", "/doorstep", {}, shows("watch")).code(), "not_found");
}

// A reply that cannot be printed for lack of memory is a message of the protocol as well, with the
// header fields of every answer.
TEST_F(ASecondProtocol, WritesTheErrorThatTakesThePlaceOfAReply) {
    boost::asio::io_context home;
    LockManager locks{memory::open()};
    server::Observer observer;
    const server::ServerOptions options{.hsts = 60s, .observer = &observer};
    Backend backend{locks, home, options};
    std::vector<std::unique_ptr<server::Protocol>> protocols;
    protocols.push_back(std::make_unique<server::v1::Native>(backend));
    protocols.push_back(std::make_unique<Doors>(backend));
    const server::Dispatcher dispatcher{std::move(protocols), backend, options};
    const auto message = [&](const char* target, server::WithTls tls) {
        server::HttpRequest request;
        request.target = target;
        return std::string{dispatcher.without_memory(request, tls)};
    };
    const std::string plain = message("/doors/front", server::WithTls::no);
    EXPECT_TRUE(plain.starts_with("HTTP/1.1 503 Service Unavailable\r\n")) << plain;
    EXPECT_TRUE(plain.ends_with("\r\n\r\nno: the porter is tired, look at the door\n")) << plain;
    EXPECT_TRUE(plain.contains("Content-Type: text/door\r\n")) << plain;
    EXPECT_TRUE(plain.contains("Content-Length: 42\r\n")) << plain;
    EXPECT_TRUE(plain.contains("Connection: close\r\n")) << plain;
    EXPECT_TRUE(plain.contains("X-Content-Type-Options: nosniff\r\n")) << plain;
    EXPECT_FALSE(plain.contains("Strict-Transport-Security")) << plain;
    const std::string native = message("/v1/locks", server::WithTls::yes);
    EXPECT_TRUE(native.contains("Content-Type: application/problem+json\r\n")) << native;
    EXPECT_TRUE(native.contains("X-Content-Type-Options: nosniff\r\n")) << native;
    EXPECT_TRUE(native.contains("Strict-Transport-Security: max-age=60\r\n")) << native;
    EXPECT_TRUE(native.ends_with(R"("effect":"unknown","cause":"unavailable"})")) << native;
    backend.close();
    home.run();
}

TEST_F(ASecondProtocol, MayHaveManyNamesInAPath) {
    const Answer found =
        client_.ask("GET", "/doors/Seoul/Main/7/front", {}, basic_field("secret-of-user"));
    EXPECT_EQ(found.body, "Seoul Main 7 front is a door\n");
}

TEST_F(ASecondProtocol, IsCountedByItsRoutesAndMethods) {
    const std::string user = basic_field("secret-of-user");
    EXPECT_EQ(lock("alice", user).status, 200);
    EXPECT_EQ(lock("bob", user).status, 423);
    EXPECT_EQ(client_.ask("UNLOCK", "/doors", {}, user).status, 404);
    Client unclear = server_.connect();
    unclear.expect_another_protocol();
    unclear.send("LOCK /doors/front HTTP/1.1\r\nHost: localhost\r\nContent-Length: ten\r\n\r\n");
    EXPECT_EQ(unclear.receive().status, 400);  // refused before it reached a route
    const std::string text = client_.ask("GET", "/metrics", {}, shows("watch")).body;
    for (const std::string counted : {R"({method="LOCK",route="/doors/{door}",status="200"} 1)",
                                      R"({method="LOCK",route="/doors/{door}",status="423"} 1)",
                                      R"({method="LOCK",route="other",status="400"} 1)",
                                      R"({method="UNLOCK",route="other",status="404"} 1)"}) {
        EXPECT_NE(text.find("leasehold_requests_total" + counted), std::string::npos) << text;
    }
}

}  // namespace
}  // namespace leasehold::testing
