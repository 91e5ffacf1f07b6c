#include <gtest/gtest.h>

#include <sys/stat.h>

#include <boost/json/object.hpp>

#include <filesystem>
#include <fstream>

#include "cli/serve/token_file.hpp"
#include "command/host.hpp"
#include "command/serving.hpp"
#include "server/certificates.hpp"
#include "server/jwt_issuer.hpp"
#include "unit/waiting.hpp"

#include <leasehold/errors.hpp>

// JWTs, client certificates and tokens that expire, with the server and the command as programs.
namespace leasehold::command {
namespace {

using testing::Certificate;
using testing::claims_of;
using testing::JwtKey;

class ServeCredentials : public ::testing::Test {
protected:
    [[nodiscard]] std::string file(const std::string& name) const {
        return (folder_.path() / name).string();
    }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream{file(name + ".new")} << text;
        ::chmod(file(name + ".new").c_str(), 0600);
        std::filesystem::rename(file(name + ".new"), file(name));
        return file(name);
    }
    [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

    // The tokens in a file with this entry, or what is wrong with it.
    [[nodiscard]] std::string problem(const std::string& rest) const {
        const std::string path = "tokens.toml";
        try {
            (void)cli::tokens_in(path, "[[token]]\nname = \"a\"\nroles = [\"see\"]\n" + rest);
            return "";
        } catch (const BadRequest& bad) {
            return bad.what();
        }
    }

private:
    testing::TemporaryFolder folder_;
};

TEST_F(ServeCredentials, AnIssuersNewKeysAreReadWithoutASignal) {
    const JwtKey first{"ES256", "first"};
    const JwtKey second{"EdDSA", "second"};
    const std::string keys = write("keys.json", testing::key_set({&first}));
    Serving server{"memory:",
                   {"--jwt-keys", keys, "--jwt-issuer", "https://login.example", "--jwt-audience",
                    "leasehold", "--failed-tokens", "0", "--audit", file("audit")}};
    testing::Client client = server.connect();
    const auto status = [&](const JwtKey& key) {
        return client
            .ask("GET", "/v1/locks", {},
                 "Authorization: Bearer " + key.jwt(claims_of("alice", {"see"})) + "\r\n")
            .status;
    };
    EXPECT_EQ(status(first), 200U);
    EXPECT_EQ(status(second), 401U);
    write("keys.json", testing::key_set({&second}));
    EXPECT_TRUE(testing::eventually([&] { return status(second) == 200; })) << server.output();
    EXPECT_EQ(status(first), 401U);
    write("keys.json", R"({"keys":[{"kty":"oct","k":"AAAA"}]})");
    EXPECT_TRUE(server.says("the keys of JWTs were not read again; the old ones stay"));
    EXPECT_EQ(status(second), 200U);
    EXPECT_EQ(server.stop(), 0);
    EXPECT_TRUE(contains(content_of(file("audit")), "\"action\":\"jwt_keys\""));
}

TEST_F(ServeCredentials, AnotherIssuerIsReadAtASignalAndEndsTheWaitsOfTheOldOnes) {
    const JwtKey key{"EdDSA", "one"};
    const std::string config = write("config.toml", "jwt_issuer = \"https://login.example\"\n");
    Serving server{"memory:",
                   {"--jwt-keys", write("keys.json", testing::key_set({&key})), "--jwt-audience",
                    "leasehold", "--failed-tokens", "0", "--config", config}};
    const std::string fields =
        "Authorization: Bearer " + key.jwt(claims_of("alice", {"use", "see"})) + "\r\n";
    testing::Client client = server.connect();
    ASSERT_EQ(client.ask("POST", "/v1/locks/Order/1", R"({"owner":"alice/1"})", fields).status,
              201U);
    testing::Client waiting = server.connect();
    waiting.send(testing::message("POST", "/v1/locks/Order/1",
                                  R"({"owner":"alice/2","wait_ms":60000})", fields));
    ASSERT_TRUE(testing::eventually([&] {
        return client.ask("GET", "/v1/locks/Order/1", {}, fields)
                   .json()
                   .at("waiting")
                   .as_array()
                   .size() == 1;
    }));
    write("config.toml", "jwt_issuer = \"https://other.example\"\n");
    server.signal(SIGHUP);
    EXPECT_EQ(waiting.receive().status, 401U);
    EXPECT_EQ(client.ask("GET", "/v1/locks", {}, fields).status, 401U);
    EXPECT_FALSE(contains(server.output(), "need a restart"));
    EXPECT_EQ(server.stop(), 0);
}

TEST_F(ServeCredentials, JwtSettingsThatDoNotFitAreRefused) {
    const JwtKey key{"EdDSA", "one"};
    const std::string keys = write("keys.json", testing::key_set({&key}));
    const auto refused = [&](std::vector<std::string> options) {
        options.insert(options.begin(), {"serve", "--port", "0", "--store", "memory:"});
        const auto ended = leasehold(options);
        EXPECT_EQ(ended.exit_code, 2) << ended.output;
        return ended.output;
    };
    EXPECT_TRUE(contains(refused({"--jwt-keys", keys, "--jwt-issuer", "i"}),
                         "jwt_keys needs jwt_issuer and jwt_audience"));
    const std::vector<std::string> rest{"--jwt-issuer", "i", "--jwt-audience", "a"};
    const auto with = [&](const std::string& path) {
        std::vector<std::string> all{"--jwt-keys", path};
        all.insert(all.end(), rest.begin(), rest.end());
        return refused(all);
    };
    EXPECT_TRUE(contains(with(file("nothing")), "cannot be read"));
    EXPECT_TRUE(contains(with(write("bad.json", "{}")), "bad.json: "));
    EXPECT_TRUE(contains(refused({"--tls-client-ca", file("ca")}), "tls_client_ca needs TLS"));
}

TEST_F(ServeCredentials, TheCommandShowsItsCertificate) {
    const Certificate server_certificate{folder(), "server", "IP:127.0.0.1"};
    const Certificate authority = Certificate::authority(folder(), "authority");
    const Certificate till{folder(), "till", "URI:spiffe://shop/till", authority};
    const auto made = leasehold({"token", "till", "--roles", "use,see", "--owner", "till",
                                 "--certificate", "URI:spiffe://shop/till"});
    ASSERT_EQ(made.exit_code, 0) << made.output;
    EXPECT_FALSE(contains(made.output, "lh_"));
    const std::string tokens = write("tokens.toml", made.output);
    Serving server{"memory:",
                   {"--tokens", tokens, "--tls-certificate", server_certificate.file, "--tls-key",
                    server_certificate.key, "--tls-client-ca", authority.file}};
    const std::string trusting = server.url() + "?ca_file=" + server_certificate.file;
    const std::string certified = trusting + "&cert_file=" + till.file + "&key_file=" + till.key;
    const auto taken = leasehold({"try", "Order/1", "--owner", "till", "--store", certified});
    EXPECT_EQ(taken.exit_code, 0) << taken.output;
    EXPECT_EQ(leasehold({"ls", "--store", trusting}).exit_code, 5);
    const auto plain = leasehold({"ls", "--store", "http://127.0.0.1?cert_file=" + till.file});
    EXPECT_EQ(plain.exit_code, 2);
    EXPECT_TRUE(contains(plain.output, "https://")) << plain.output;
    // Without its entry it is refused, also on the connection that it has.
    write("tokens.toml",
          leasehold({"token", "other", "--roles", "see", "--certificate", "CN=other"}).output);
    server.signal(SIGHUP);
    EXPECT_TRUE(testing::eventually(
        [&] { return leasehold({"ls", "--store", certified}).exit_code == 5; }));
}

TEST_F(ServeCredentials, ATokenCanHaveAnEndAndIsWarnedOfWithoutOne) {
    const auto endless = leasehold({"token", "a", "--roles", "see"});
    EXPECT_TRUE(contains(endless.output, "# Warning: this token never expires")) << endless.output;
    const auto brief = leasehold({"token", "a", "--roles", "see", "--expires", "90d"});
    EXPECT_FALSE(contains(brief.output, "never expires"));
    EXPECT_TRUE(contains(brief.output, "\nexpires = 20")) << brief.output;
    const auto dated =
        leasehold({"token", "a", "--roles", "see", "--expires", "2999-03-31T18:00:00+09:00"});
    EXPECT_TRUE(contains(dated.output, "\nexpires = 2999-03-31T09:00:00Z\n")) << dated.output;
    for (const std::string wrong : {"soon", "0s", "-1d", "2001-01-01", "2999-13-01", ""}) {
        EXPECT_EQ(leasehold({"token", "a", "--roles", "see", "--expires", wrong}).exit_code,
                  wrong.empty() ? 0 : 2)
            << wrong;
    }
}

TEST_F(ServeCredentials, AnEntrySaysWhenItExpiresAndHowItIsProved) {
    const std::string hash = "sha256 = \"" + std::string(64, 'a') + "\"\n";
    for (const std::string right :
         {"expires = 2027-03-31", "expires = 2027-03-31T18:00:00Z", "expires = \"2027-03-31\"",
          "expires = 2027-03-31T18:00:00.5+09:00", "expires = \"2027-03-31T18:00:00Z\""}) {
        EXPECT_EQ(problem(hash + right + "\n"), "") << right;
    }
    for (const std::string wrong :
         {"expires = 2027-03-31T18:00:00", "expires = 18:00:00", "expires = 2027", "expires = \"\"",
          "expires = \"soon\"", "expires = true", "expires = [2027-03-31]"}) {
        EXPECT_TRUE(problem(hash + wrong + "\n").starts_with("tokens.toml:5: expires takes a date"))
            << wrong << ": " << problem(hash + wrong + "\n");
    }
    for (const std::string right :
         {"CN=shop", "DNS:shop.example", "URI:spiffe://a/b", "email:a@b"}) {
        EXPECT_EQ(problem("certificate = \"" + right + "\"\n"), "") << right;
    }
    for (const std::string wrong : {"", "shop", "CN=", "DNS:", "IP:127.0.0.1", "CN=a\\nb"}) {
        EXPECT_TRUE(contains(problem("certificate = \"" + wrong + "\"\n"), "certificate takes"))
            << wrong;
    }
    EXPECT_TRUE(contains(problem(hash + "certificate = \"CN=a\"\n"), "sha256 or certificate"));
    EXPECT_EQ(cli::moment_from("2027-03-31")->time_since_epoch().count(), 1'806'451'200);
}

TEST_F(ServeCredentials, TheServerTellsOfTokensThatExpireSoon) {
    const std::string brief = leasehold({"token", "brief", "--roles", "see", "--expires", "3d",
                                         "--token-file", file("b")})
                                  .output;
    const std::string lasting = leasehold({"token", "lasting", "--roles", "see", "--expires", "90d",
                                           "--token-file", file("l")})
                                    .output;
    Serving server{"memory:", {"--tokens", write("tokens.toml", brief + lasting)}};
    const auto soon = server.lines("a token expires soon");
    ASSERT_EQ(soon.size(), 1U) << server.output();
    EXPECT_EQ(soon[0].at("token"), "brief");
}

TEST_F(ServeCredentials, TheDoctorNamesOpenSettingsToAnAdministrator) {
    const auto token = [&](const std::string& name, std::vector<std::string> options) {
        options.insert(options.begin(), {"token", name, "--token-file", file(name)});
        const auto made = leasehold(options);
        EXPECT_EQ(made.exit_code, 0) << made.output;
        return made.output;
    };
    const std::string tokens =
        write("tokens.toml", token("admin", {"--roles", "see,break", "--expires", "90d"}) +
                                 token("broad", {"--roles", "use", "--owner", "*"}) +
                                 token("shop", {"--roles", "use", "--owner", "shop", "--expires",
                                                "90d", "--rate", "9"}) +
                                 "leases = 0\n");
    ::chmod(tokens.c_str(), 0644);
    const Serving server{
        "sqlite:" + file("locks.db"),
        {"--tokens", tokens, "--failed-tokens", "0", "--token-waiters", "0", "--dumpable", "true"}};
    const auto doctor = [&](const std::string& name) {
        return leasehold({"doctor", "--server", server.url()},
                         {"LEASEHOLD_TOKEN_FILE=" + file(name)});
    };
    const auto seen = doctor("admin");
    EXPECT_EQ(seen.exit_code, 0) << seen.output;
    for (const std::string expected :
         {"warning  tokens       these tokens speak for every owner: broad",
          "ok       tokens       these tokens may break the leases of others: admin",
          "warning  expiry       these tokens never expire: broad",
          "warning  rates        these tokens may send any number of requests: admin, broad",
          "warning  rates        strangers may try tokens",
          "warning  quotas       these tokens have no limit of leases: shop",
          "warning  quotas       these tokens have no limit of waiters: admin, broad, shop",
          "warning  audit        ",
          "warning  files        everybody on this host can read or change the token file",
          "warning  process      core dumps"}) {
        EXPECT_TRUE(contains(seen.output, expected)) << expected << "\n" << seen.output;
    }
    for (const std::string name : {"admin", "broad", "shop"}) {
        std::string secret = content_of(file(name));
        secret.pop_back();
        EXPECT_FALSE(contains(seen.output, secret));
        EXPECT_FALSE(contains(seen.output, server::hex_of(server::digest_of(secret))));
    }
    const auto denied = doctor("shop");
    EXPECT_EQ(denied.exit_code, 1);
    EXPECT_TRUE(contains(denied.output, "says 403")) << denied.output;
    EXPECT_EQ(leasehold({"doctor", "--server", "sqlite:x"}).exit_code, 2);
    EXPECT_EQ(leasehold({"doctor", "--server", "http://127.0.0.1:1"}).exit_code, 1);
}

TEST_F(ServeCredentials, TheDoctorTellsThatJwtsHaveNoLimits) {
    const JwtKey key{"ES256", "key"};
    const Serving server{
        "memory:",
        {"--jwt-keys", write("keys.json", testing::key_set({&key})), "--jwt-issuer",
         "https://login.example", "--jwt-audience", "leasehold", "--token-leases", "0"}};
    const auto seen =
        leasehold({"doctor", "--server", server.url()},
                  {"LEASEHOLD_TOKEN=" + key.jwt(claims_of("admin", {"see", "break"}))});
    EXPECT_EQ(seen.exit_code, 0) << seen.output;
    for (const std::string expected :
         {"warning  rates        these tokens may send any number of requests: every JWT",
          "warning  quotas       these tokens have no limit of leases: every JWT"}) {
        EXPECT_TRUE(contains(seen.output, expected)) << expected << "\n" << seen.output;
    }
}

}  // namespace
}  // namespace leasehold::command
