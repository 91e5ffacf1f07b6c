#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "command/host.hpp"
#include "command/serving.hpp"
#include "server/certificates.hpp"
#include "unit/waiting.hpp"

// How the server's process protects its secrets, and what it warns of.
namespace leasehold::command {
namespace {

class Hardening : public ::testing::Test {
protected:
    [[nodiscard]] std::string file(const std::string& name) const {
        return (folder_.path() / name).string();
    }

    // The log of a server with these options, once it is ready. It runs as a user that is not root.
    [[nodiscard]] std::unique_ptr<testing::ChildProcess> serve(
        const std::vector<std::string>& options, const std::string& log,
        const std::string& user = "nobody") const {
        std::vector<std::string> arguments{LEASEHOLD_COMMAND, "serve",  "--port", "0",
                                           "--store",         "memory:"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        auto process = std::make_unique<testing::ChildProcess>(
            testing::Command{.arguments = arguments, .user = user, .log = log});
        EXPECT_TRUE(testing::eventually([&] {
            return contains(content_of(log), "\"message\":\"ready\"");
        })) << content_of(log);
        return process;
    }

    // Whether the memory of a process belongs to its user, for whom a debugger can read it.
    [[nodiscard]] static bool is_readable_by_its_user(pid_t process) {
        struct stat about{};
        EXPECT_EQ(::stat(("/proc/" + std::to_string(process) + "/environ").c_str(), &about), 0);
        return about.st_uid != 0;
    }

    [[nodiscard]] std::string tokens() const {
        const auto made =
            leasehold({"token", "watcher", "--roles", "see", "--token-file", file("watcher")});
        EXPECT_EQ(made.exit_code, 0) << made.output;
        std::ofstream{file("tokens.toml")} << made.output;
        ::chmod(file("tokens.toml").c_str(), 0644);
        return file("tokens.toml");
    }

private:
    testing::TemporaryFolder folder_;
};

TEST_F(Hardening, NoDebuggerOfTheSameUserReadsTheServersMemory) {
    const auto server = serve({}, file("log"));
    EXPECT_FALSE(is_readable_by_its_user(server->pid()));
    const auto debugged = serve({"--dumpable", "true"}, file("debugged"));
    EXPECT_TRUE(is_readable_by_its_user(debugged->pid()));
}

TEST_F(Hardening, WarnsOfTokensThatTravelWithoutTls) {
    const std::string warning = "tokens and lock ids travel without TLS";
    const std::string tokens = this->tokens();
    const auto open = serve({"--address", "0.0.0.0", "--tokens", tokens}, file("open"));
    EXPECT_TRUE(contains(content_of(file("open")), warning)) << content_of(file("open"));
    const auto loopback = serve({"--tokens", tokens}, file("loopback"));
    EXPECT_FALSE(contains(content_of(file("loopback")), warning));
    const testing::Certificate certificate{std::filesystem::path{file("")}, "one", "DNS:localhost"};
    for (const std::string& one : {certificate.file, certificate.key}) {
        ASSERT_EQ(::chmod(one.c_str(), 0644), 0);
    }
    const auto secure = serve({"--address", "0.0.0.0", "--tokens", tokens, "--tls-certificate",
                               certificate.file, "--tls-key", certificate.key},
                              file("secure"));
    EXPECT_FALSE(contains(content_of(file("secure")), warning)) << content_of(file("secure"));
}

TEST_F(Hardening, WarnsOfAServerThatRunsAsRoot) {
    const std::string warning = "the server runs as root";
    const auto as_nobody = serve({}, file("nobody"));
    EXPECT_FALSE(contains(content_of(file("nobody")), warning));
    if (::geteuid() != 0) GTEST_SKIP() << "only root can start a server as root";
    const auto as_root = serve({}, file("root"), {});
    EXPECT_TRUE(contains(content_of(file("root")), warning)) << content_of(file("root"));
}

}  // namespace
}  // namespace leasehold::command
