#include "server/transport/tls.hpp"

#include <openssl/ssl.h>

#include <leasehold/errors.hpp>
#include <leasehold/stores/http.hpp>

#include <boost/json/object.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <vector>

#include "server/certificates.hpp"
#include "server/token_fixture.hpp"
#include "support/process.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using server::Role;
using server::TlsIdentity;

class TlsTest : public ::testing::Test {
protected:
    static std::shared_ptr<const TlsIdentity> identity(const Certificate& certificate) {
        return std::make_shared<const TlsIdentity>(certificate.file, certificate.key);
    }
    Client connect(int version = 0) const {
        Client client = server_.connect();
        EXPECT_TRUE(client.secure(certificate_.file, version));
        return client;
    }
    http::ServerAddress target(const std::string& host = "localhost") const {
        return {.host = host,
                .port = server_.port(),
                .transport = http::ServerAddress::Transport::tls,
                .ca_file = certificate_.file};
    }

    TemporaryFolder folder_;
    Certificate certificate_{folder_.path(), "one", "DNS:localhost"};
    RunningServer server_{memory::open(), {.identity = identity(certificate_)}};
};

std::string try_over_tls(const std::string& owner) {
    return message("POST", "/v1/locks/Order/1", R"({"wait_ms":20000,"owner":")" + owner + "\"}");
}

TEST_F(TlsTest, CarriesEverythingThatPlainConnectionsDo) {
    Client client = connect();
    EXPECT_EQ(client.tls_version(), "TLSv1.3");
    // Kept alive.
    EXPECT_EQ(client.ask("POST", "/v1/locks/Order/1", R"({"owner":"alice"})").status, 201U);
    EXPECT_EQ(client.ask("GET", "/v1/locks/Order/1").status, 200U);
    // Pipelined, in one record and in many.
    std::string many;
    for (int i = 0; i < 100; ++i) many += message("GET", "/v1/locks/Order/" + std::to_string(i));
    client.send(many);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(client.receive().status, 200U);
    for (const char byte : message("GET", "/healthz")) client.send({&byte, 1});
    EXPECT_EQ(client.receive().status, 200U);
    // HEAD.
    client.send(message("HEAD", "/v1/locks/Order/1"));
    EXPECT_EQ(client.receive_head().status, 200U);
    // A word before the body.
    const std::string body = R"({"owner":"bob"})";
    client.send(
        "POST /v1/locks/Order/2 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Expect: 100-continue\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n");
    EXPECT_EQ(client.receive().status, 100U);
    client.send(body);
    EXPECT_EQ(client.receive().status, 201U);
    // The end.
    EXPECT_EQ(client.ask("GET", "/healthz", {}, "Connection: close\r\n").status, 200U);
    EXPECT_TRUE(client.closed());
}

TEST_F(TlsTest, CarriesLargeAnswersToSlowReaders) {
    for (int i = 0; i < 500; ++i) {
        (void)server_.locks().try_lock({"Order", std::to_string(i)},
                                       {.note = std::string(1000, 'n')});
    }
    Client client = connect();
    std::string many;
    for (int i = 0; i < 20; ++i) many += message("GET", "/v1/locks?limit=500");
    client.send(many);
    Client other = connect();
    EXPECT_EQ(other.ask("GET", "/healthz").status, 200U);
    for (int i = 0; i < 20; ++i) {
        const Answer answer = client.receive();
        ASSERT_EQ(answer.status, 200U);
        ASSERT_GT(answer.body.size(), 200'000U);
    }
}

TEST_F(TlsTest, SpeaksNothingOlderThanTls12) {
    Client older = connect(TLS1_2_VERSION);
    EXPECT_EQ(older.tls_version(), "TLSv1.2");
    EXPECT_EQ(older.ask("GET", "/healthz").status, 200U);
    Client old = server_.connect();
    EXPECT_FALSE(old.secure(certificate_.file, TLS1_1_VERSION));
}

// With an RSA key the client could send its secret encrypted for that key. A thief of the key could
// then read everything that was recorded before.
TEST_F(TlsTest, SpeaksForwardSecretCiphersOnly) {
    const Certificate rsa = Certificate::with_rsa_key(folder_.path(), "rsa", "DNS:localhost");
    server_.use(identity(rsa));
    const auto accepts = [&](const char* ciphers) {
        return server_.connect().secure(rsa.file, TLS1_2_VERSION, nullptr, nullptr, ciphers);
    };
    for (const char* ciphers : {"AES128-GCM-SHA256", "AES256-SHA256", "AES128-SHA",
                                "ECDHE-RSA-AES128-SHA", "DHE-RSA-AES128-GCM-SHA256"}) {
        EXPECT_FALSE(accepts(ciphers)) << ciphers;
    }
    EXPECT_TRUE(accepts("ECDHE-RSA-AES128-GCM-SHA256"));
    EXPECT_TRUE(accepts("AES128-GCM-SHA256:ECDHE-RSA-CHACHA20-POLY1305"));
}

TEST_F(TlsTest, AClientCannotRenegotiate) {
    Client client = connect(TLS1_2_VERSION);
    EXPECT_EQ(client.ask("GET", "/healthz").status, 200U);
    EXPECT_FALSE(client.renegotiate());
}

// Each update costs the server as much work as the client, and no request comes with it.
TEST_F(TlsTest, AClientThatUpdatesItsKeysWithoutEndLosesItsConnection) {
    Client client = connect();
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(client.update_key());
    EXPECT_EQ(client.ask("GET", "/healthz").status, 200U);
    for (int i = 0; i < 5000 && client.update_key(); ++i) {
    }
    EXPECT_EQ(client.ask("GET", "/healthz").status, 0U);
    EXPECT_EQ(connect().ask("GET", "/healthz").status, 200U);
}

// The client's side of a connection whose bytes are sent together.
class BytewiseClient {
public:
    explicit BytewiseClient(int socket) : socket_{socket} {
        BIO* const wire = BIO_new_socket(socket, BIO_NOCLOSE);
        SSL_set_bio(ssl_.get(), wire, wire);
        SSL_set_connect_state(ssl_.get());
    }

    [[nodiscard]] bool shake_hands() { return SSL_do_handshake(ssl_.get()) == 1; }
    // Each byte in a record of its own.
    void send(std::size_t bytes) {
        BIO* const memory = BIO_new(BIO_s_mem());
        SSL_set0_wbio(ssl_.get(), memory);
        for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(SSL_write(ssl_.get(), "x", 1), 1);
        char* begin = nullptr;
        const long size = BIO_get_mem_data(memory, &begin);
        ASSERT_EQ(::send(socket_, begin, static_cast<std::size_t>(size), 0), size);
    }

private:
    int socket_;
    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_{SSL_CTX_new(TLS_client_method()),
                                                               SSL_CTX_free};
    std::unique_ptr<SSL, decltype(&SSL_free)> ssl_{SSL_new(context_.get()), SSL_free};
};

// A request of 16 KiB in as many records would keep a thread for itself while it arrives.
TEST_F(TlsTest, WaitsForTheSocketNowAndThenAlsoIfMoreHasArrived) {
    using Want = server::Tls::Want;
    std::array<int, 2> sockets{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets.data()),
              0);
    const auto used = identity(certificate_);
    server::Tls tls{*used, sockets[0]};
    BytewiseClient client{sockets[1]};
    bool shaken = false;
    for (int i = 0; i < 10 && !shaken; ++i) {
        const bool by_client = client.shake_hands();
        shaken = tls.handshake() == Want::nothing && by_client;
    }
    ASSERT_TRUE(shaken);
    constexpr std::size_t sent = 4000;
    client.send(sent);
    std::vector<std::size_t> turns{0};
    std::array<char, 100> space{};
    for (std::size_t read = 0; read < sent;) {
        const auto [bytes, want] = tls.read(space);
        ASSERT_NE(want, Want::closed);
        read += bytes;
        turns.back() += bytes;
        if (want == Want::read) turns.push_back(0);
    }
    for (const std::size_t bytes : turns) EXPECT_LE(bytes, 1000U);
    for (const int socket : sockets) ::close(socket);
}

// A handshake with ffdhe8192 costs the server 100 ms of processor time, with X25519 less than 1 ms.
TEST_F(TlsTest, AClientCannotChooseAnExpensiveGroup) {
    // With a key on a curve, TLS 1.2 would refuse clients that do not offer this curve.
    const Certificate rsa = Certificate::with_rsa_key(folder_.path(), "rsa", "DNS:localhost");
    server_.use(identity(rsa));
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        for (const char* groups : {"ffdhe8192", "ffdhe2048", "P-521", "X448"}) {
            EXPECT_FALSE(server_.connect().secure(rsa.file, version, groups))
                << groups << " with version " << version;
        }
        for (const char* groups : {"X25519:P-256", "P-256", "P-384:P-256", "ffdhe8192:P-256"}) {
            Client client = server_.connect();
            ASSERT_TRUE(client.secure(rsa.file, version, groups)) << groups;
            EXPECT_EQ(client.ask("GET", "/healthz").status, 200U) << groups;
        }
    }
}

TEST_F(TlsTest, HandsOutNoSessionTicketsWhoseKeysWouldNeverChange) {
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        Client client = connect(version);
        // A ticket of TLS 1.3 comes before the first answer.
        EXPECT_EQ(client.ask("GET", "/healthz").status, 200U);
        EXPECT_FALSE(client.has_session_ticket()) << version;
    }
}

TEST_F(TlsTest, LimitsTheHandshakesOfAnAddress) {
    RunningServer server{memory::open(),
                         {.handshakes_per_address = {.per_second = 1e-9, .at_once = 2},
                          .identity = identity(certificate_)}};
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(server.connect().secure(certificate_.file));
    EXPECT_FALSE(server.connect().secure(certificate_.file));
}

// Others at the same address, behind a router or a proxy, must not be shut out that cheaply.
TEST_F(TlsTest, AConnectionCountsAsAHandshakeOnlyOnceItBegins) {
    RunningServer server{memory::open(),
                         {.handshakes_per_address = {.per_second = 1e-9, .at_once = 1},
                          .identity = identity(certificate_)}};
    std::vector<Client> silent;
    for (int i = 0; i < 5; ++i) silent.push_back(server.connect());
    silent.front().send("\x16\x03\x01");
    ASSERT_TRUE(server.has_connections(5));
    EXPECT_TRUE(server.connect().secure(certificate_.file));
    EXPECT_FALSE(server.connect().secure(certificate_.file));
}

TEST_F(TlsTest, TellsAPlainClientWhatItSpeaks) {
    Client plain = server_.connect();
    const Answer answer = plain.ask("GET", "/healthz");
    EXPECT_EQ(answer.status, 400U);
    EXPECT_EQ(answer.json().at("detail"),
              "this server speaks TLS: use a URL that begins with https://");
    EXPECT_TRUE(plain.closed());
    Client nonsense = server_.connect();
    nonsense.send(std::string(300, '\xff'));
    while (!nonsense.closed()) (void)nonsense.receive();
    EXPECT_EQ(connect().ask("GET", "/healthz").status, 200U);
}

TEST_F(TlsTest, AHandshakeThatDoesNotComeIsNotWaitedFor) {
    RunningServer server{memory::open(),
                         {.handshake_deadline = 100ms, .identity = identity(certificate_)}};
    Client silent = server.connect();
    Client slow = server.connect();
    slow.send("\x16\x03\x01");
    EXPECT_TRUE(silent.closed());
    EXPECT_TRUE(slow.closed());
    EXPECT_TRUE(server.has_connections(0));
}

TEST_F(TlsTest, AWaiterWhoseConnectionIsGoneIsNeverGranted) {
    Client holder = connect();
    const Answer held = holder.ask("POST", "/v1/locks/Order/1", R"({"owner":"alice"})");
    const std::string lock_token =
        "Lock-Token: " + std::string{held.json().at("lock_id").as_string()} + "\r\n";
    {
        Client gone = connect();
        gone.send(try_over_tls("gone"));
        ASSERT_TRUE(server_.waits_for(1));
    }
    ASSERT_TRUE(server_.waits_for(0));
    Client patient = connect();
    patient.send(try_over_tls("bob"));
    ASSERT_TRUE(server_.waits_for(1));
    // Bytes that arrive in the meantime are kept for later.
    patient.send(message("GET", "/healthz"));
    EXPECT_EQ(holder.ask("DELETE", "/v1/locks/Order/1", {}, lock_token).status, 200U);
    EXPECT_EQ(patient.receive().status, 201U);
    EXPECT_EQ(patient.receive().status, 200U);
    for (const PastLease& past : server_.locks().history()) EXPECT_NE(past.lease.owner, "gone");
}

TEST_F(TlsTest, NewConnectionsSeeTheNewCertificateAndOldOnesGoOn) {
    Client before = connect();
    EXPECT_EQ(before.ask("GET", "/healthz").status, 200U);
    const Certificate next{folder_.path(), "two", "DNS:localhost"};
    server_.use(identity(next));
    EXPECT_FALSE(server_.connect().secure(certificate_.file));
    Client after = server_.connect();
    EXPECT_TRUE(after.secure(next.file));
    EXPECT_EQ(after.ask("GET", "/healthz").status, 200U);
    EXPECT_EQ(before.ask("GET", "/healthz").status, 200U);
}

TEST_F(TlsTest, StopsAsGracefullyAsAPlainServer) {
    Client idle = connect();
    EXPECT_EQ(idle.ask("GET", "/healthz").status, 200U);
    Client waiting = connect();
    (void)server_.locks().try_lock({"Order", "1"}, {.owner = "alice"});
    waiting.send(try_over_tls("bob"));
    ASSERT_TRUE(server_.waits_for(1));
    server_.begin_stop();
    EXPECT_EQ(waiting.receive().status, 503U);
    EXPECT_TRUE(idle.closed());
    server_.stop();
}

TEST_F(TlsTest, FilesThatCannotBeUsedAreNamed) {
    const std::string nothing = folder_.path() / "nothing";
    const std::string junk = folder_.path() / "junk";
    std::ofstream{junk} << "junk\n";
    const Certificate other{folder_.path(), "other", "DNS:localhost"};
    const auto problem = [](const std::string& file, const std::string& key) -> std::string {
        try {
            const TlsIdentity identity{file, key};
            return "";
        } catch (const BadRequest& bad) {
            return bad.what();
        }
    };
    EXPECT_EQ(problem(nothing, other.key),
              "the certificate '" + nothing + "' cannot be used: No such file or directory");
    EXPECT_EQ(problem(other.file, nothing),
              "the key '" + nothing + "' cannot be used: No such file or directory");
    EXPECT_TRUE(problem(junk, other.key).starts_with("the certificate '" + junk + "'"));
    EXPECT_TRUE(problem(other.file, junk).starts_with("the key '" + junk + "'"));
    EXPECT_NE(problem(other.file, certificate_.key), "");
    EXPECT_EQ(problem(other.file, other.key), "");
}

TEST_F(TlsTest, TheHttpStoreTrustsTheRightServerOnly) {
    const auto problem = [](const http::ServerAddress& target) -> std::string {
        try {
            (void)http::open(target);
            return "";
        } catch (const StoreFault& fault) {
            EXPECT_EQ(fault.cause(), StoreFault::Cause::configuration);
            EXPECT_EQ(fault.effect(), StoreFault::Effect::none);
            return fault.what();
        }
    };
    EXPECT_EQ(problem(target()), "");
    const std::string place = ":" + std::to_string(server_.port());
    EXPECT_EQ(problem(target("127.0.0.1")),
              "the Leasehold server at 127.0.0.1" + place +
                  ": its certificate is not accepted: IP address mismatch");
    http::ServerAddress stranger = target();
    stranger.ca_file.clear();
    EXPECT_EQ(problem(stranger), "the Leasehold server at localhost" + place +
                                     ": its certificate is not accepted: self-signed certificate");
    stranger.ca_file = Certificate{folder_.path(), "other", "DNS:localhost"}.file;
    EXPECT_NE(problem(stranger).find("its certificate is not accepted"), std::string::npos);
    stranger.ca_file = folder_.path() / "nothing";
    EXPECT_NE(problem(stranger).find("the certificates to trust cannot be read"),
              std::string::npos);
    const Certificate renamed{folder_.path(), "renamed", "DNS:locks.example"};
    server_.use(identity(renamed));
    http::ServerAddress elsewhere = target();
    elsewhere.ca_file = renamed.file;
    EXPECT_EQ(problem(elsewhere), "the Leasehold server at localhost" + place +
                                      ": its certificate is not accepted: hostname mismatch");
}

TEST(TlsWithTokens, TheHttpStoreShowsItsTokenAndOneRequestTooManyStopsNoOther) {
    const TemporaryFolder folder;
    const Certificate certificate{folder.path(), "one", "DNS:localhost,IP:127.0.0.1"};
    RunningServer server{
        memory::open(),
        {.tokens = tokens({token("shop", {Role::use}, "shop")}),
         .identity = std::make_shared<const TlsIdentity>(certificate.file, certificate.key)}};
    const auto store = http::open({.host = "127.0.0.1",
                                   .port = server.port(),
                                   .transport = http::ServerAddress::Transport::tls,
                                   .token = "secret-of-shop",
                                   .ca_file = certificate.file});
    const LockId mine = LockId::random();
    const std::vector<Request> requests{
        TryLock{.key = {"Order", "1"}, .lock_id = mine, .owner = "shop", .ttl = 1min}, List{},
        TryLock{.key = {"Order", "2"}, .lock_id = LockId::random(), .ttl = 1min},
        Renew{.lock_id = mine, .ttl = 2min}};
    std::vector<Outcome> outcomes(requests.size());
    store->apply(requests, outcomes);
    EXPECT_TRUE(std::holds_alternative<Lease>(outcomes[0]));
    EXPECT_TRUE(std::holds_alternative<Lease>(outcomes[3]));
    for (const std::size_t denied : {1U, 2U}) {
        const auto* const fault = std::get_if<StoreFault>(&outcomes[denied]);
        ASSERT_NE(fault, nullptr);
        EXPECT_EQ(fault->effect(), StoreFault::Effect::none);
        EXPECT_NE(std::string{fault->what()}.find(" says 403: the token 'shop' "),
                  std::string::npos)
            << fault->what();
    }
    std::vector<Outcome> one(1);
    EXPECT_THROW(store->apply(std::span{requests}.subspan(1, 1), one), StoreFault);
    EXPECT_THROW((void)http::open({.port = server.port()}), StoreFault);
}

}  // namespace
}  // namespace leasehold::testing
