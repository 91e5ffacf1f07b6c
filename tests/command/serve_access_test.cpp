#include <gtest/gtest.h>

#include <sys/stat.h>

#include <boost/json/object.hpp>

#include <filesystem>
#include <fstream>

#include "cli/serve/token_file.hpp"
#include "command/host.hpp"
#include "command/serving.hpp"
#include "server/certificates.hpp"
#include "unit/waiting.hpp"

#include <leasehold/errors.hpp>

// Tokens and certificates of the server as a program: their files, and reading them again.
namespace leasehold::command {
namespace {

using testing::Answer;
using testing::Certificate;
using testing::Client;

class ServeAccess : public ::testing::Test {
protected:
    std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream{file(name)} << text;
        ::chmod(file(name).c_str(), 0600);
        return file(name);
    }
    // Makes a token; its entry is the result, its secret is in the file of that name.
    std::string entry(const std::string& name, const std::string& roles,
                      std::vector<std::string> more = {}) const {
        std::vector<std::string> arguments{"token", name,           "--roles",
                                           roles,   "--token-file", file(name)};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const auto made = leasehold(arguments);
        EXPECT_EQ(made.exit_code, 0) << made.output;
        // Without the warning that the token never expires.
        return made.output.substr(made.output.find("[[token]]"));
    }
    std::string secret(const std::string& name) const {
        std::string text = content_of(file(name));
        text.pop_back();
        return text;
    }
    std::string shows(const std::string& name) const {
        return "Authorization: Bearer " + secret(name) + "\r\n";
    }
    const std::filesystem::path& folder() const { return folder_.path(); }

private:
    testing::TemporaryFolder folder_;
};

TEST_F(ServeAccess, ATokenIsDrawnShownOnceAndKnownByItsDigest) {
    const auto shown =
        leasehold({"token", "shop", "--roles", "see,use", "--owner", "shop/a", "--rate", "50"});
    EXPECT_EQ(shown.exit_code, 0);
    const std::size_t at = shown.output.find("  lh_");
    ASSERT_NE(at, std::string::npos) << shown.output;
    const std::string token = shown.output.substr(at + 2, 67);
    EXPECT_EQ(shown.output.find(token, at + 3), std::string::npos);
    const std::string sha256 = server::hex_of(server::digest_of(token));
    EXPECT_TRUE(shown.output.ends_with("[[token]]\nname = \"shop\"\nsha256 = \"" + sha256 +
                                       "\"\nroles = [\"use\", \"see\"]\nowner = \"shop/a\"\n"
                                       "rate = 50\n\n"))
        << shown.output;
    EXPECT_EQ(entry("one", "use", {"--owner", "*"}).find("lh_"), std::string::npos);
    struct stat mode{};
    ASSERT_EQ(::stat(file("one").c_str(), &mode), 0);
    EXPECT_EQ(mode.st_mode & 0777U, 0600U);
    EXPECT_NE(secret("one"), token);
    for (const std::vector<std::string>& wrong :
         {std::vector<std::string>{"token", "a b", "--roles", "see"},
          {"token", "", "--roles", "see"},
          {"token", "a", "--roles", "fly"},
          {"token", "a", "--roles", ""},
          {"token", "a"},
          {"token", "a", "--roles", "use", "--owner", "shop/"},
          {"token", "a", "--roles", "use", "--owner", "*", "--rate", "9999999"},
          {"token", "a", "--roles", "use", "--owner", "*", "--token-file", "/nowhere/token"}}) {
        EXPECT_EQ(leasehold(wrong).exit_code, 2);
    }
}

TEST_F(ServeAccess, ATokenThatMayTakeLeasesNamesItsOwner) {
    const auto silent = leasehold({"token", "a", "--roles", "see,use"});
    EXPECT_EQ(silent.exit_code, 2);
    EXPECT_NE(silent.output.find("the token 'a' has the role 'use' and names no owner; write "
                                 "--owner shop for a token that speaks for 'shop' and 'shop/...', "
                                 "or --owner '*' for one that speaks for every owner"),
              std::string::npos)
        << silent.output;
    const std::string any = entry("any", "use", {"--owner", "*"});
    const std::string watcher = entry("watcher", "see,break");
    EXPECT_TRUE(any.ends_with("owner = \"*\"\n\n")) << any;
    EXPECT_EQ(watcher.find("owner"), std::string::npos) << watcher;
    EXPECT_EQ(cli::read_token_file(write("tokens.toml", any + watcher)).size(), 2U);
}

TEST_F(ServeAccess, ATokenMayBeLimitedToSomeKeysRoleByRole) {
    const std::string game =
        entry("game", "see,use", {"--owner", "game", "--keys", "lfs:game/*,Order/eu-*"});
    EXPECT_TRUE(game.ends_with("keys = [\"Order/eu-*\", \"lfs:game/*\"]\n\n")) << game;
    std::string mixed = entry("mixed", "see,use", {"--owner", "*", "--keys", "lfs:game/*"});
    mixed.insert(mixed.find("keys"), "use_keys = [\"Order/7\"]\n");
    const auto tokens = cli::read_token_file(write("tokens.toml", game + mixed));
    const auto allows = [](const server::Token& token, server::Role role, const char* type,
                           const char* id) { return token.keys.of(role).has({type, id}); };
    EXPECT_TRUE(allows(tokens[0], server::Role::use, "Order", "eu-1"));
    EXPECT_FALSE(allows(tokens[0], server::Role::see, "Order", "us-1"));
    EXPECT_TRUE(allows(tokens[1], server::Role::see, "lfs:game", "a"));
    EXPECT_FALSE(allows(tokens[1], server::Role::use, "lfs:game", "a"));
    EXPECT_TRUE(allows(tokens[1], server::Role::use, "Order", "7"));
    EXPECT_EQ(leasehold({"token", "a", "--roles", "see", "--keys", "Order"}).exit_code, 2);
}

TEST_F(ServeAccess, TheTokensOfOneProgramMayShareAnId) {
    const std::string before = entry("shop", "use", {"--owner", "shop"});
    const std::string after = entry("shop-2", "use", {"--owner", "shop", "--id", "shop"});
    EXPECT_NE(after.find("name = \"shop-2\"\nid = \"shop\"\nsha256"), std::string::npos) << after;
    const auto tokens = cli::read_token_file(write("tokens.toml", before + after));
    ASSERT_EQ(tokens.size(), 2U);
    EXPECT_EQ(server::id_of(tokens[0]), "shop");
    EXPECT_EQ(server::id_of(tokens[1]), "shop");
    EXPECT_EQ(leasehold({"token", "a", "--roles", "see", "--id", "a b"}).exit_code, 2);
}

TEST_F(ServeAccess, ATokenFileThatIsWrongIsRefusedWithItsLineAndReason) {
    const std::string hash(64, 'a');
    const std::string good =
        "[[token]]\nname = \"a\"\nsha256 = \"" + hash + "\"\nroles = [\"see\"]\n";
    const std::string user =
        "[[token]]\nname = \"b\"\nsha256 = \"" + hash + "\"\nroles = [\"use\"]\n";
    struct Case {
        std::string text, problem;
    };
    const std::vector<Case> cases{
        {"", ": there is no token in this file"},
        {"token = 1", ":1: a token file has [[token]] entries only"},
        {"x = 1\n" + good, ":1: a token file has [[token]] entries only, not 'x'"},
        {"[[token", ":1: this is not TOML"},
        {"[[token]]\nname = \"a\"\n", ":1: the token has no 'sha256'"},
        {"[[token]]\nname = 1\n", ":2: name takes a text in quotes"},
        {"[[token]]\nname = \"a b\"\n", ":2: a token's name has 1 to 64 letters"},
        {"[[token]]\nname = \"a\"\nsha256 = \"lh_secret\"\n", ":3: sha256 takes 64 hexadecimal"},
        {"[[token]]\nname = \"a\"\nsha256 = \"" + std::string(63, 'a') + "g\"\n", ":3: sha256"},
        {"[[token]]\nname = \"a\"\nsha256 = \"" + hash + "\"\nroles = \"use\"\n",
         ":4: roles takes"},
        {"[[token]]\nname = \"a\"\nsha256 = \"" + hash + "\"\nroles = []\n", ":4: roles takes"},
        {"[[token]]\nname = \"a\"\nsha256 = \"" + hash + "\"\nroles = [\"fly\"]\n",
         ":4: there is no role 'fly'; there are use, see, break"},
        {"\n" + user,
         ":2: the token 'b' has the role 'use' and names no owner; write owner = \"shop\" for a "
         "token that speaks for 'shop' and 'shop/...', or owner = \"*\" for one that speaks for "
         "every owner"},
        {good + "owner = \"\"\n", ":5: the owner is empty; '*' speaks for every owner"},
        {good + "owner = \"shop/*\"\n", ":5: an owner does not end in '/' or '/*'"},
        {good + "owner = \"shop/\"\n", ":5: an owner does not end in '/'"},
        {good + "owner = \"shop*\"\n", ":5: an owner has no star in it"},
        {good + "owner = \"*/shop\"\n", ":5: an owner has no star in it"},
        {good + "owner = \"**\"\n", ":5: an owner has no star in it"},
        {good + "rate = -1\n", ":5: rate takes a whole number"},
        {good + "rate = \"1\"\n", ":5: rate takes a whole number"},
        {good + "colour = 1\n", ":5: a token has no 'colour'"},
        {good + "keys = [\"Order\"]\n",
         ":5: keys: the key pattern 'Order' names no keys; write 'Order/*'"},
        {good + "keys = []\n", ":5: keys: takes 1 to 16 patterns of keys"},
        {good + "keys = \"Order/*\"\n", ":5: keys: takes 1 to 16 patterns of keys"},
        {good + "keys = [1]\n", ":5: keys: a key pattern is empty"},
        {good + "see_keys = [\"*/1\"]\n", ":5: see_keys: the key pattern '*/1' has a '*'"},
        {good + "use_keys = [\"Order/*\"]\n", ":5: the token has use_keys and not the role 'use'"},
        {good + "id = \"a/b\"\n", ":5: a token's id has 1 to 64 letters"},
        {good + "id = 7\n", ":5: id takes a text in quotes"},
        {good + good, ":6: there is another token 'a' above"},
        {good + user + "owner = \"*\"\n", ":7: the token 'a' has the same sha256"},
    };
    for (const auto& [text, problem] : cases) {
        const std::string path = write("tokens.toml", text);
        try {
            (void)cli::read_token_file(path);
            FAIL() << text;
        } catch (const BadRequest& bad) {
            EXPECT_TRUE(std::string{bad.what()}.starts_with(path + problem)) << bad.what();
            EXPECT_EQ(std::string{bad.what()}.find("lh_secret"), std::string::npos);
        }
    }
    const auto refused = leasehold({"serve", "--port", "0", "--store", "memory:", "--tokens",
                                    write("tokens.toml", "[[token]]\n")});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.output.find("tokens.toml:1: the token has no 'name'"), std::string::npos);
    EXPECT_EQ(leasehold({"serve", "--store", "memory:", "--tokens", "/nowhere"}).exit_code, 2);
}

TEST_F(ServeAccess, ABadFileIsRefusedBeforeTheStoreIsMade) {
    const std::string bad = write("bad", "nothing\n");
    const Certificate certificate{folder(), "one", "DNS:localhost"};
    const std::vector<std::vector<std::string>> cases{
        {"--tokens", bad},
        {"--tls-certificate", bad, "--tls-key", certificate.key},
        {"--tls-certificate", certificate.file, "--tls-key", bad}};
    for (const std::vector<std::string>& options : cases) {
        std::vector<std::string> arguments{"serve", "--port", "0", "--store",
                                           "sqlite:" + file("new.db")};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const auto refused = leasehold(arguments);
        EXPECT_EQ(refused.exit_code, 2) << refused.output;
        EXPECT_EQ(refused.output.find("store opened"), std::string::npos) << refused.output;
        EXPECT_FALSE(std::filesystem::exists(file("new.db"))) << options.front();
    }
}

TEST_F(ServeAccess, TokensAreReadAgainAtHangupAndABadFileKeepsTheOldOnes) {
    const std::string before = entry("before", "use,see", {"--owner", "*"});
    const std::string after = entry("after", "see");
    const std::string tokens = write("tokens.toml", before);
    Serving server{"memory:", {"--tokens", tokens}};
    Client client = server.connect();
    const auto status = [&](const std::string& who) {
        return client.ask("GET", "/v1/locks", {}, shows(who)).status;
    };
    EXPECT_EQ(status("before"), 200U);
    EXPECT_EQ(status("after"), 401U);

    write("tokens.toml", after + "[[token]]\nname = \"broken\"\n");
    server.signal(SIGHUP);
    EXPECT_TRUE(server.says("the tokens were not read again; the old ones stay"));
    EXPECT_TRUE(server.says("tokens.toml:6: the token has no 'sha256'")) << server.output();
    EXPECT_EQ(status("before"), 200U);

    std::filesystem::remove(tokens);
    std::filesystem::create_directory(tokens);
    server.signal(SIGHUP);
    EXPECT_TRUE(server.says("tokens.toml' cannot be read")) << server.output();
    EXPECT_EQ(status("before"), 200U);
    std::filesystem::remove(tokens);

    write("tokens.toml", after);
    ::chmod(tokens.c_str(), 0644);
    server.signal(SIGHUP);
    EXPECT_TRUE(server.says("everybody on this host can read or change the token file"));
    EXPECT_TRUE(testing::eventually([&] { return status("after") == 200; }));
    EXPECT_EQ(status("before"), 401U);
    EXPECT_EQ(server.stop(), 0);
}

TEST_F(ServeAccess, TheCertificateIsReadAgainAtHangupAndBadFilesKeepTheOldOne) {
    const Certificate certificate{folder(), "one", "DNS:localhost"};
    Serving server{"memory:",
                   {"--tls-certificate", certificate.file, "--tls-key", certificate.key}};
    const auto accepted_by = [&](const std::string& authority) {
        return server.connect().secure(authority);
    };
    EXPECT_TRUE(server.url().starts_with("https://"));
    EXPECT_TRUE(accepted_by(certificate.file));
    const std::string first = content_of(certificate.file);

    write("one.pem", "nothing\n");
    server.signal(SIGHUP);
    EXPECT_TRUE(server.says("the certificate was not read again; the old one stays"));
    EXPECT_TRUE(accepted_by(write("first.pem", first)));

    const Certificate next{folder(), "one", "DNS:localhost"};
    server.signal(SIGHUP);
    EXPECT_TRUE(testing::eventually([&] { return accepted_by(next.file); }));
    EXPECT_FALSE(accepted_by(file("first.pem")));
    EXPECT_EQ(server.stop(), 0);
}

TEST_F(ServeAccess, BeyondLoopbackItListensOnlyWithTokens) {
    for (const std::string address : {"0.0.0.0", "::", "192.0.2.1", "::ffff:127.0.0.1"}) {
        const auto refused =
            leasehold({"serve", "--port", "0", "--store", "memory:", "--address", address});
        EXPECT_EQ(refused.exit_code, 2) << address;
        EXPECT_NE(refused.output.find("without tokens, address takes a loopback address"),
                  std::string::npos)
            << refused.output;
        EXPECT_EQ(
            leasehold({"serve", "--store", "memory:"}, {"LEASEHOLD_ADDRESS=" + address}).exit_code,
            2);
    }
    for (const std::string name : {"localhost", "example.org", "127.1", "0", ""}) {
        EXPECT_EQ(leasehold({"serve", "--store", "memory:", "--address", name}).exit_code, 2)
            << name;
    }
    const std::string tokens = write("tokens.toml", entry("shop", "see"));
    testing::ChildProcess server{
        {.arguments = {LEASEHOLD_COMMAND, "serve", "--port", "0", "--address", "0.0.0.0", "--store",
                       "memory:", "--tokens", tokens},
         .log = file("log")}};
    EXPECT_TRUE(testing::eventually([&] {
        return content_of(file("log")).find("\"url\":\"http://0.0.0.0:") != std::string::npos;
    })) << content_of(file("log"));
}

TEST_F(ServeAccess, TheCommandShowsItsTokenAndSaysWhatItMayNotDo) {
    const std::string tokens =
        write("tokens.toml", entry("shop", "use", {"--owner", "shop"}) + entry("watcher", "see"));
    const Certificate certificate{folder(), "one", "IP:127.0.0.1"};
    Serving server{
        "memory:",
        {"--tokens", tokens, "--tls-certificate", certificate.file, "--tls-key", certificate.key}};
    const std::string store = server.url() + "?ca_file=" + certificate.file;
    const std::string shop = "LEASEHOLD_TOKEN_FILE=" + file("shop");
    const auto run = [&](std::vector<std::string> arguments, const std::string& variable) {
        arguments.insert(arguments.end(), {"--store", store});
        return leasehold(arguments, {variable});
    };
    EXPECT_EQ(run({"try", "Order/1", "--owner", "shop/alice"}, shop).exit_code, 0);
    EXPECT_EQ(run({"ls"}, "LEASEHOLD_TOKEN=" + secret("watcher")).exit_code, 0);
    EXPECT_EQ(
        leasehold({"ls", "--store", store + "&token_file=" + file("watcher")}, {shop}).exit_code,
        0);

    const auto denied = run({"ls"}, shop);
    EXPECT_EQ(denied.exit_code, 5);
    EXPECT_NE(denied.output.find("says 403: the token 'shop' lacks the role 'see'"),
              std::string::npos)
        << denied.output;
    const auto other = run({"try", "Order/2", "--owner", "bob"}, shop);
    EXPECT_EQ(other.exit_code, 5);
    EXPECT_NE(other.output.find("speaks only for the owner 'shop'"), std::string::npos);
    EXPECT_EQ(other.output.find("needs --owner"), std::string::npos) << other.output;
    const auto without_owner = run({"try", "Order/2"}, shop);
    EXPECT_EQ(without_owner.exit_code, 5);
    EXPECT_NE(without_owner.output.find("needs --owner"), std::string::npos)
        << without_owner.output;
    const auto stranger = run({"ls"}, "LEASEHOLD_TOKEN=");
    EXPECT_EQ(stranger.exit_code, 5);
    EXPECT_NE(stranger.output.find("says 401: this server wants a token"), std::string::npos);
    EXPECT_NE(stranger.output.find("LEASEHOLD_TOKEN_FILE must name a file"), std::string::npos)
        << stranger.output;
    const auto unknown = run({"ls"}, "LEASEHOLD_TOKEN=nonsense");
    EXPECT_NE(unknown.output.find("the token is from LEASEHOLD_TOKEN\n"), std::string::npos)
        << unknown.output;
    const auto command =
        leasehold({"run", "--wait", "1h", "--store", store, "nightly", "--", "true"}, {shop});
    EXPECT_EQ(command.exit_code, 123) << command.output;
    EXPECT_NE(command.output.find("needs --owner"), std::string::npos) << command.output;
    const auto doctor = run({"doctor"}, shop);
    EXPECT_EQ(doctor.exit_code, 1);
    EXPECT_NE(doctor.output.find("doctor --owner OWNER"), std::string::npos) << doctor.output;
    const auto named = run({"doctor", "--owner", "shop"}, shop);
    EXPECT_NE(named.output.find("the server lets shop take, renew and release locks"),
              std::string::npos)
        << named.output;
    // A token that only takes locks is as it should be.
    EXPECT_NE(named.output.find("warning  history"), std::string::npos) << named.output;
    EXPECT_EQ(named.exit_code, 0);
    EXPECT_EQ(run({"ls"}, "LEASEHOLD_TOKEN_FILE=/nowhere").exit_code, 2);
    const auto two_headers = run({"ls"}, "LEASEHOLD_TOKEN=" + secret("watcher") + "\r\nX: y");
    EXPECT_EQ(two_headers.exit_code, 2);
    EXPECT_NE(two_headers.output.find("LEASEHOLD_TOKEN"), std::string::npos) << two_headers.output;
    const auto distrusted = leasehold({"ls", "--store", server.url()}, {shop});
    EXPECT_EQ(distrusted.exit_code, 3);
    EXPECT_NE(distrusted.output.find("its certificate is not accepted"), std::string::npos)
        << distrusted.output;
}

TEST_F(ServeAccess, NoLogHoldsATokenALockIdOrABody) {
    const std::string tokens =
        write("tokens.toml", entry("shop", "use,see", {"--owner", "*"}) + entry("admin", "break"));
    for (const std::string format : {"json", "text"}) {
        Serving server{"memory:",
                       {"--tokens", tokens, "--log-level", "debug", "--log-format", format}};
        Client client = server.connect();
        const Answer taken =
            client.ask("POST", "/v1/locks/Order/key-4711",
                       R"({"owner":"alice-the-owner","note":"on-the-phone"})", shows("shop"));
        ASSERT_EQ(taken.status, 201U);
        const std::string lock_id{taken.json().at("lock_id").as_string()};
        const std::string with_lock = "Lock-Token: " + lock_id + "\r\n" + shows("shop");
        EXPECT_EQ(client.ask("GET", "/v1/locks/Order/key-4711", {}, with_lock).status, 200U);
        EXPECT_EQ(client.ask("GET", "/v1/history", {}, shows("admin")).status, 403U);
        EXPECT_EQ(
            client.ask("GET", "/v1/locks", {}, "Authorization: Bearer bad-token-42\r\n").status,
            401U);
        EXPECT_EQ(client.ask("GET", "/" + secret("shop")).status, 404U);
        EXPECT_EQ(client.ask("DELETE", "/v1/locks/Order/key-4711", {}, with_lock).status, 200U);
        server.signal(SIGHUP);
        EXPECT_TRUE(server.says("configuration read again"));
        EXPECT_EQ(server.stop(), 0);
        const std::string log = server.output();
        EXPECT_NE(log.find("shop"), std::string::npos);
        EXPECT_NE(log.find("requests without a valid token"), std::string::npos);
        for (const std::string& kept :
             {secret("shop"), secret("admin"), lock_id, std::string{"bad-token-42"},
              std::string{"key-4711"}, std::string{"alice-the-owner"}, std::string{"on-the-phone"},
              server::hex_of(server::digest_of(secret("shop")))}) {
            EXPECT_EQ(log.find(kept), std::string::npos) << kept << "\n" << log;
        }
    }
}

}  // namespace
}  // namespace leasehold::command
