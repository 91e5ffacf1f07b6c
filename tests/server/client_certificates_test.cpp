#include <openssl/ssl.h>

#include <leasehold/errors.hpp>
#include <leasehold/stores/http.hpp>

#include <boost/json/object.hpp>

#include <fstream>

#include "server/certificates.hpp"
#include "server/event_client.hpp"
#include "server/store_fixture.hpp"
#include "server/token_fixture.hpp"
#include "server/transport/tls.hpp"
#include "support/process.hpp"

// Clients that show a certificate instead of a token (mutual TLS).
namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using server::Role;
using server::TlsIdentity;

server::Token certified(const std::string& name, const std::string& certificate) {
    server::Token made = token(name, {Role::use, Role::see}, name);
    made.digest = {};
    made.proof = server::Proof::certificate;
    made.certificate = certificate;
    return made;
}

class ClientCertificates : public ::testing::Test {
protected:
    [[nodiscard]] std::shared_ptr<const TlsIdentity> trusting(const std::string& authorities) {
        return std::make_shared<const TlsIdentity>(certificate_.file, certificate_.key,
                                                   authorities);
    }
    [[nodiscard]] Client connect(const Certificate* own, int version = 0) {
        Client client = server_.connect();
        EXPECT_TRUE(client.secure(certificate_.file, version, nullptr, own) || own != nullptr);
        return client;
    }
    // The status of a request without a token; 0 if TLS refuses the client.
    [[nodiscard]] unsigned status(const Certificate* own, const std::string& fields = {}) {
        return connect(own).ask("GET", "/v1/locks", {}, fields).status;
    }
    [[nodiscard]] Certificate client(const std::string& name, const std::string& names = {}) {
        return {folder_.path(), name, names, authority_};
    }

    // A file with the contents of all these files.
    [[nodiscard]] std::string joined(const std::vector<std::string>& files) const {
        std::string path = folder_.path() / "joined.pem";
        std::ofstream all{path};
        for (const std::string& file : files) all << std::ifstream{file}.rdbuf();
        return path;
    }

    TemporaryFolder folder_;
    Certificate certificate_{folder_.path(), "server", "DNS:localhost"};
    Certificate authority_ = Certificate::authority(folder_.path(), "authority");
    RunningServer server_{memory::open(),
                          {.tokens = tokens({certified("by-subject", "CN=till-1"),
                                             certified("by-host", "DNS:till.example"),
                                             certified("by-uri", "URI:spiffe://shop/till"),
                                             token("secret", {Role::use, Role::see}, "secret")}),
                           .identity = trusting(authority_.file)}};
};

TEST_F(ClientCertificates, NameTheirTokenBySubjectOrAlternativeName) {
    const auto name_of = [&](const Certificate& own, int version) {
        const Answer answer = connect(&own, version).ask("GET", "/v1/token");
        return answer.status == 200 ? std::string{answer.json().at("name").as_string()}
                                    : std::to_string(answer.status);
    };
    for (const int version : {TLS1_2_VERSION, 0}) {
        EXPECT_EQ(name_of(client("till-1"), version), "by-subject");
        EXPECT_EQ(name_of(client("a", "DNS:other.example,DNS:till.example"), version), "by-host");
        EXPECT_EQ(name_of(client("b", "URI:spiffe://shop/till"), version), "by-uri");
        EXPECT_EQ(name_of(client("stranger", "DNS:stranger.example"), version), "401");
        // A name of one kind does not pass for one of another kind.
        EXPECT_EQ(name_of(client("till.example"), version), "401");
        EXPECT_EQ(name_of(client("c", "DNS:till-1,email:till.example"), version), "401");
    }
}

TEST_F(ClientCertificates, AreNotDemanded) {
    EXPECT_EQ(status(nullptr), 401U);
    EXPECT_EQ(status(nullptr, shows("secret")), 200U);
    // A token that is shown counts, also beside a certificate.
    const Certificate own = client("till-1");
    EXPECT_EQ(connect(&own).ask("GET", "/v1/token", {}, shows("secret")).json().at("name"),
              "secret");
    EXPECT_EQ(status(&own, shows("unknown")), 401U);
    // The name of a certificate is no secret that a client could show.
    EXPECT_EQ(status(nullptr, "Authorization: Bearer CN=till-1\r\n"), 401U);
}

TEST_F(ClientCertificates, OfAnotherAuthorityOrPastTheirEndAreRefused) {
    const Certificate other = Certificate::authority(folder_.path(), "other");
    const Certificate foreign{folder_.path(), "till-1", "", other};
    EXPECT_EQ(status(&foreign, shows("secret")), 0U);
    const Certificate own_authority{folder_.path(), "till-1", "DNS:till.example"};
    EXPECT_EQ(status(&own_authority), 0U);
    const Certificate expired{folder_.path(), "till-1", "", authority_, -1min};
    EXPECT_EQ(status(&expired), 0U);
}

TEST_F(ClientCertificates, AreRefusedFromTheirEndOnAlsoOnAnOpenConnection) {
    const Certificate brief{folder_.path(), "till-1", "", authority_, 3s};
    Client client = connect(&brief);
    ASSERT_EQ(client.ask("GET", "/v1/locks").status, 200U);
    EXPECT_TRUE(eventually([&] { return client.ask("GET", "/v1/locks").status == 401; }));
}

TEST_F(ClientCertificates, AreRefusedOnceTheirEntryIsGone) {
    const Certificate own = client("till-1");
    Client open = connect(&own);
    ASSERT_EQ(open.ask("GET", "/v1/locks").status, 200U);
    server_.use(tokens({certified("by-host", "DNS:till.example")}));
    EXPECT_EQ(open.ask("GET", "/v1/locks").status, 401U);
}

TEST_F(ClientCertificates, ThatTheirAuthorityHasRevokedAreRefusedAfterAReload) {
    const Certificate revoked = client("till-1");
    const Certificate good = client("till-2", "DNS:till.example");
    Client open = connect(&revoked);
    ASSERT_EQ(open.ask("GET", "/v1/locks").status, 200U);
    const std::string list = authority_.revoke({&revoked});
    server_.use(trusting(joined({authority_.file, list})));
    EXPECT_TRUE(open.closed());
    EXPECT_EQ(status(&revoked), 0U);
    EXPECT_EQ(status(&good), 200U);
    EXPECT_EQ(status(nullptr, shows("secret")), 200U);
}

// The lists of revoked certificates are read again while the client waits.
class AWaitWithACertificate : public OnAnyStore {
protected:
    [[nodiscard]] std::shared_ptr<const TlsIdentity> trusting(const std::string& authorities) {
        return std::make_shared<const TlsIdentity>(certificate_.file, certificate_.key,
                                                   authorities);
    }
    [[nodiscard]] Client waits(const Certificate& own, std::size_t waiters) {
        Client client = server_.connect();
        EXPECT_TRUE(client.secure(certificate_.file, 0, nullptr, &own));
        client.send(message("POST", "/v1/locks/Order/1", R"({"wait_ms":60000,"owner":"till"})"));
        EXPECT_TRUE(server_.waits_for(waiters));
        return client;
    }

    TemporaryFolder folder_;
    Certificate certificate_{folder_.path(), "server", "DNS:localhost"};
    Certificate authority_ = Certificate::authority(folder_.path(), "authority");
    RunningServer server_{
        store(),
        {.tokens = tokens({certified("till", "CN=till-1"), token("stays", {Role::use}, "stays")}),
         .identity = trusting(authority_.file)}};
};
LEASEHOLD_ON_ANY_STORE(AWaitWithACertificate);

TEST_P(AWaitWithACertificate, EndsWithoutALeaseWhenItMayHaveBeenRevoked) {
    const LockKey order{"Order", "1"};
    const auto held = server_.locks().try_lock(order, {.owner = "holder"});
    Client client = waits({folder_.path(), "till-1", "", authority_}, 1);
    server_.use(trusting(authority_.file));
    const Answer answer = client.receive();
    EXPECT_EQ(answer.status, 503U);
    EXPECT_EQ(answer.json().at("effect"), "none");
    EXPECT_TRUE(client.closed());
    ASSERT_TRUE(server_.locks().release(order, held->lock_id));
    EXPECT_TRUE(server_.waits_for(0));
    EXPECT_TRUE(server_.locks().holders(order).empty());
}

TEST_P(AWaitWithACertificate, GoesOnBesideItIfItsClientHasAToken) {
    const LockKey order{"Order", "1"};
    const auto held = server_.locks().try_lock(order, {.owner = "holder"});
    Client client = server_.connect();
    ASSERT_TRUE(client.secure(certificate_.file));
    client.send(message("POST", "/v1/locks/Order/1", R"({"wait_ms":60000,"owner":"stays"})",
                        shows("stays")));
    ASSERT_TRUE(server_.waits_for(1));
    server_.use(trusting(authority_.file));
    ASSERT_TRUE(server_.locks().release(order, held->lock_id));
    EXPECT_EQ(client.receive().status, 201U);
}

TEST_F(ClientCertificates, OfAnAuthorityThatWasRevokedAreRefused) {
    const Certificate below = Certificate::authority(folder_.path(), "below", &authority_);
    const Certificate own{folder_.path(), "till-1", "", below};
    const std::string none_of_below = below.revoke({});
    server_.use(
        trusting(joined({authority_.file, below.file, authority_.revoke({}), none_of_below})));
    EXPECT_EQ(status(&own), 200U);
    server_.use(trusting(
        joined({authority_.file, below.file, authority_.revoke({&below}), none_of_below})));
    EXPECT_EQ(status(&own), 0U);
    EXPECT_EQ(status(nullptr, shows("secret")), 200U);
}

// Otherwise every client of that authority would be refused, and nobody would know why.
TEST_F(ClientCertificates, NeedAListOfRevokedOnesFromEveryAuthorityOrFromNone) {
    const Certificate below = Certificate::authority(folder_.path(), "below", &authority_);
    const std::string some = joined({authority_.file, below.file, below.revoke({})});
    try {
        (void)trusting(some);
        ADD_FAILURE() << "accepted";
    } catch (const BadRequest& bad) {
        EXPECT_EQ(std::string{bad.what()},
                  "the file of client authorities '" + some +
                      "' cannot be used: it has lists of revoked certificates (CRLs), but none of "
                      "the authority 'CN=authority'; add that list, also if it is empty");
    }
    EXPECT_NO_THROW((void)trusting(joined({authority_.file, below.file})));
}

TEST_F(ClientCertificates, AreShownByTheHttpStore) {
    const Certificate own = client("till-1");
    http::ServerAddress target{.host = "localhost",
                               .port = server_.port(),
                               .transport = http::ServerAddress::Transport::tls,
                               .ca_file = certificate_.file,
                               .cert_file = own.file,
                               .key_file = own.key};
    LockManager locks{http::open(target)};
    EXPECT_TRUE(locks.try_lock(order, {.owner = "by-subject/a"}).has_value());
    EXPECT_THROW((void)locks.try_lock({"Order", "2"}, {.owner = "else"}), StoreFault);
    target.cert_file = target.key_file = {};
    EXPECT_THROW((void)LockManager{http::open(target)}.list(), StoreFault);
}

TEST_F(ClientCertificates, NeedAFileOfAuthoritiesThatCanBeUsed) {
    const std::string junk = folder_.path() / "junk";
    std::ofstream{junk} << "junk\n";
    EXPECT_THROW((void)trusting(junk), BadRequest);
    EXPECT_THROW((void)trusting(folder_.path() / "nothing"), BadRequest);
}

}  // namespace
}  // namespace leasehold::testing
