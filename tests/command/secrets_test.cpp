// What the command keeps to itself: passwords, tokens and lock ids.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <thread>

#include "command/host.hpp"
#include "command/serving.hpp"
#include "unit/waiting.hpp"

namespace leasehold::command {
namespace {

class Secrets : public ::testing::Test {
protected:
    [[nodiscard]] std::string file(const std::string& name) const {
        return (folder_.path() / name).string();
    }

private:
    testing::TemporaryFolder folder_;
};

TEST_F(Secrets, NoCommandPrintsThePasswordOfAUrl) {
    const std::vector<std::string> urls{
        "postgres://app:hunter2%@127.0.0.1:1/x", "postgres://app:hunter2@[::1/x",
        "postgres:/app:hunter2@127.0.0.1/x",     "postgres://app:a@hunter2@127.0.0.1/x",
        "mariadb://app:a?hunter2=b@127.0.0.1/x", "mariadb://app:hunter2@127.0.0.1:1/x?colour=red",
        "mariadb://app:hunter2@127.0.0.1:1/x",   "http://app:hunter2@127.0.0.1:1"};
    const std::vector<std::vector<std::string>> commands{
        {"ls"}, {"doctor"}, {"doctor", "--json"}, {"serve", "--port", "0"}};
    for (const std::string& url : urls) {
        for (const std::vector<std::string>& command : commands) {
            const auto said = leasehold(command, {"LEASEHOLD_STORE=" + url});
            EXPECT_NE(said.exit_code, 0) << url;
            EXPECT_FALSE(said.output.contains("hunter2")) << url << ": " << said.output;
        }
    }
}

TEST_F(Secrets, NoUsageErrorRepeatsThePasswordOfAUrl) {
    const std::string url = "postgres://app:hunter2@db/shop";
    for (const std::vector<std::string>& wrong :
         {std::vector<std::string>{"--store", url, "run", "nightly", "true"},
          {"run", "--store=" + url, "nightly", "true"},
          {"ls", url},
          {"ls", "--stroe", url},
          {"ls", "--stroe=" + url},
          {url}}) {
        const auto said = leasehold(wrong);
        EXPECT_EQ(said.exit_code, 2);
        EXPECT_FALSE(said.output.contains("hunter2")) << said.output;
    }
}

TEST_F(Secrets, TheConfigurationIsPrintedWithoutThePassword) {
    const auto printed =
        leasehold({"serve", "--print-config", "--store", "postgres://app:hunter2@db/shop"});
    EXPECT_EQ(printed.exit_code, 0);
    EXPECT_TRUE(printed.output.contains("store = \"postgres://app:***@db/shop\""))
        << printed.output;
    const auto parameter = leasehold({"serve", "--print-config", "--store",
                                      "postgres://db/shop?sslmode=require&password=hunter2"});
    EXPECT_FALSE(parameter.output.contains("hunter2")) << parameter.output;
}

TEST_F(Secrets, ALockIdIsNotWrittenToAPipeOrAnothersFile) {
    const std::string store = "sqlite:" + file("locks.db");
    ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
    const std::string foreign = ::geteuid() == 0 ? file("foreign") : "/etc/passwd";
    if (::geteuid() == 0) {
        std::ofstream{foreign} << "old\n";
        ASSERT_EQ(::chown(foreign.c_str(), 12345, 12345), 0);
    }
    for (const std::string& path : {file("pipe"), foreign, std::string{"/dev/null"}}) {
        const auto refused =
            leasehold({"try", "Order/1", "--store", store, "--lock-id-file", path});
        EXPECT_EQ(refused.exit_code, 2) << refused.output;
        EXPECT_TRUE(refused.output.contains("cannot be written")) << refused.output;
    }
    EXPECT_EQ(leasehold({"ls", "--store", store}).output, "nothing is locked\n");
    for (const std::string& path : {file("pipe"), std::string{"/dev/zero"}}) {
        const auto refused =
            leasehold({"check", "Order/1", "--store", store, "--lock-id-file", path});
        EXPECT_EQ(refused.exit_code, 2) << refused.output;
        EXPECT_TRUE(refused.output.contains("not a regular file")) << refused.output;
    }
}

TEST_F(Secrets, ARefusedTryKeepsTheLockIdInTheFile) {
    const std::string store = "sqlite:" + file("locks.db");
    const std::vector<std::string> take{"try",      "Order/1", "--store", store, "--lock-id-file",
                                        file("id"), "--owner", "alice/1"};
    EXPECT_EQ(leasehold(take).exit_code, 0);
    const std::string kept = content_of(file("id"));
    std::vector<std::string> other = take;
    other.back() = "bob";
    EXPECT_EQ(leasehold(other).exit_code, 1);
    EXPECT_EQ(content_of(file("id")), kept);
    const auto mistaken =
        leasehold({"check", "Order/1", "--store", store, "--lock-id-file", kept.substr(0, 36)});
    EXPECT_EQ(mistaken.exit_code, 2);
    EXPECT_FALSE(mistaken.output.contains(kept.substr(0, 36))) << mistaken.output;
}

TEST_F(Secrets, ATokenFileIsARegularFileOfAModestSize) {
    ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
    for (const std::string& path : {file("pipe"), std::string{"/dev/zero"}}) {
        const auto refused = leasehold({"ls", "--store", "http://127.0.0.1:1?token_file=" + path});
        EXPECT_EQ(refused.exit_code, 2) << refused.output;
        EXPECT_TRUE(refused.output.contains("not a regular file")) << refused.output;
        for (const std::string option : {"--tokens", "--config"}) {
            EXPECT_EQ(leasehold({"serve", "--store", "memory:", option, path}).exit_code, 2);
        }
        EXPECT_EQ(
            leasehold({"serve", "--store", "memory:", "--tls-certificate", path, "--tls-key", path})
                .exit_code,
            2);
    }
    std::ofstream{file("long")} << std::string(100'000, 'a');
    const auto refused =
        leasehold({"ls", "--store", "http://127.0.0.1:1?token_file=" + file("long")});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_FALSE(refused.output.contains("aaa")) << refused.output;
}

TEST_F(Secrets, ATokenInThePlaceOfItsFileIsNotPrinted) {
    const auto refused = leasehold({"ls", "--store", "http://127.0.0.1:1"},
                                   {"LEASEHOLD_TOKEN_FILE=lh_0123456789abcdef"});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_FALSE(refused.output.contains("0123456789")) << refused.output;
    EXPECT_TRUE(refused.output.contains("LEASEHOLD_TOKEN takes a token")) << refused.output;
}

TEST_F(Secrets, TheServerWarnsOfSecretsThatOthersCanReach) {
    const std::string database = file("locks.db");
    std::ofstream{database} << "";
    ::chmod(database.c_str(), 0666);
    const std::string config = file("leasehold.toml");
    std::ofstream{config} << "store = \"sqlite:" + database + "\"\n";
    {
        Serving server{"sqlite:" + database, {}};
        EXPECT_TRUE(server.says("everybody on this host can read or change the database"))
            << server.output();
        EXPECT_FALSE(server.output().contains("the folder of")) << server.output();
    }
    ::chmod(database.c_str(), 0600);
    std::filesystem::create_directory(file("open"));
    ::chmod(file("open").c_str(), 01777);
    const auto made = leasehold(
        {"token", "shop", "--roles", "use", "--owner", "shop", "--token-file", file("shop")});
    std::ofstream{file("open/tokens.toml")} << made.output;
    ::chmod(file("open/tokens.toml").c_str(), 0600);
    {
        Serving server{"sqlite:" + database, {"--tokens", file("open/tokens.toml")}};
        EXPECT_TRUE(
            server.says("everybody on this host can put files into the folder of the token "
                        "file"))
            << server.output();
        EXPECT_FALSE(server.output().contains("the database;")) << server.output();
    }
}

TEST_F(Secrets, TheDoctorFindsSecretsThatOthersCanReach) {
    const std::string database = file("locks.db");
    EXPECT_TRUE(
        leasehold({"doctor", "--store", "sqlite:" + database}).output.contains("ok       secrets"));
    ::chmod(database.c_str(), 0644);
    const auto open = leasehold({"doctor", "--store", "sqlite:" + database});
    EXPECT_TRUE(open.output.contains(
        "warning  secrets      everybody on this host can read or change the database"))
        << open.output;
    Serving server{"memory:", {}};
    std::ofstream{file("token")} << "lh_token\n";
    ::chmod(file("token").c_str(), 0644);
    const auto token =
        leasehold({"doctor", "--store", server.url()}, {"LEASEHOLD_TOKEN_FILE=" + file("token")});
    EXPECT_TRUE(token.output.contains("everybody on this host can read or change the token file"))
        << token.output;
}

TEST_F(Secrets, TheServerWarnsOfAConfigurationWithAPasswordThatOthersCanRead) {
    const std::string config = file("leasehold.toml");
    std::ofstream{config} << "store = \"postgres://app:hunter2@127.0.0.1:1/x\"\n";
    ::chmod(config.c_str(), 0644);
    const auto said = leasehold({"serve", "--port", "0", "--config", config});
    EXPECT_EQ(said.exit_code, 3);
    EXPECT_TRUE(
        said.output.contains("everybody on this host can read or change the configuration file"))
        << said.output;
    EXPECT_FALSE(said.output.contains("hunter2")) << said.output;
}

TEST_F(Secrets, TheCommandThatRunStartsGetsNoAccessToTheStore) {
    const std::vector<std::string> secrets{"LEASEHOLD_STORE=sqlite:" + file("locks.db"),
                                           "LEASEHOLD_TOKEN=lh_one",
                                           "LEASEHOLD_TOKEN_FILE=" + file("two")};
    const auto alone = leasehold({"run", "job", "--", "env"}, secrets);
    EXPECT_EQ(alone.exit_code, 0) << alone.output;
    EXPECT_TRUE(alone.output.contains("LEASEHOLD_ID=job\n")) << alone.output;
    const auto trusted = leasehold({"run", "--pass-store", "job", "--", "env"}, secrets);
    for (const std::string& secret : secrets) {
        EXPECT_FALSE(alone.output.contains(secret)) << alone.output;
        EXPECT_TRUE(trusted.output.contains(secret)) << trusted.output;
    }
}

// Whether a terminal would do more than show the text, or would show it on several lines.
bool acts_on_terminal(std::string text) {
    if (text.ends_with('\n')) text.pop_back();
    return text.find_first_of("\x1b\r\n\x07\x7f") != std::string::npos || text.contains("\u202E") ||
           text.contains("\u009B");
}

// Answers every request with this. With the status 200 it says that it is ready, if asked.
class HostileServer {
public:
    HostileServer(const std::string& status, const std::string& body)
        : answer_{in_http(status, body)},
          ready_{status == "200 OK" ? in_http(status, R"({"status":"ready","store":{"name":"x",)"
                                                      R"("durability":"strong","warnings":[]}})")
                                    : answer_} {
        address_.sin_family = AF_INET;
        address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        socklen_t size = sizeof address_;
        if (::bind(listener_, reinterpret_cast<sockaddr*>(&address_), size) != 0 ||
            ::listen(listener_, 10) != 0 ||
            ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address_), &size) != 0) {
            testing::throw_errno("listen");
        }
        thread_ = std::jthread{[this] {
            for (int client = 0; (client = ::accept(listener_, nullptr, nullptr)) >= 0;) {
                std::array<char, 65536> request{};
                (void)!::recv(client, request.data(), request.size(), 0);
                const std::string& answer = request[0] == 'G' ? ready_ : answer_;
                (void)!::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
                ::shutdown(client, SHUT_WR);
                while (::recv(client, request.data(), request.size(), 0) > 0) {
                }
                ::close(client);
            }
        }};
    }
    HostileServer(const HostileServer&) = delete;
    HostileServer& operator=(const HostileServer&) = delete;
    ~HostileServer() {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
    }

    [[nodiscard]] std::string url() const {
        return "http://127.0.0.1:" + std::to_string(ntohs(address_.sin_port));
    }

private:
    static std::string in_http(const std::string& status, const std::string& body) {
        return "HTTP/1.1 " + status +
               "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
               std::to_string(body.size()) + "\r\n\r\n" + body;
    }

    const std::string answer_;
    const std::string ready_;
    sockaddr_in address_{};
    int listener_ = -1;
    std::jthread thread_;
};

TEST_F(Secrets, NothingThatAServerSaysActsOnTheTerminal) {
    const HostileServer server{
        "503 Service Unavailable",
        R"({"code":"fault","effect":"none","detail":"a\u001b[2Jb\r\nleasehold: all is well\u202e\u009b7m"})"};
    const std::string id = "LEASEHOLD_LOCK_ID=01890000-0000-7000-8000-000000000001";
    for (const std::vector<std::string>& command : {std::vector<std::string>{"check", "Order/1"},
                                                    {"renew", "Order/1"},
                                                    {"try", "Order/1"},
                                                    {"try", "Order/1", "--json"},
                                                    {"ls"},
                                                    {"run", "job", "--", "true"},
                                                    {"knock", "Order/1", "--message", "please"}}) {
        std::vector<std::string> arguments = command;
        arguments.insert(arguments.begin(), {"--store", server.url()});
        const auto said = leasehold(arguments, {id});
        EXPECT_NE(said.exit_code, 0);
        EXPECT_TRUE(said.output.contains("all is well")) << said.output;
        EXPECT_FALSE(acts_on_terminal(said.output)) << command.front() << ": " << said.output;
    }
    const auto doctor = leasehold({"doctor", "--store", server.url()});
    EXPECT_FALSE(doctor.output.contains("\nleasehold: all is well")) << doctor.output;
    EXPECT_FALSE(doctor.output.contains("\x1b")) << doctor.output;
}

TEST_F(Secrets, NothingThatAnotherUserWroteActsOnTheTerminal) {
    const std::vector<std::string> store{"LEASEHOLD_STORE=sqlite:" + file("locks.db")};
    const auto taken = leasehold({"try", "-q", "Order/1", "--owner", "alice\u202E"}, store);
    EXPECT_EQ(taken.exit_code, 0) << taken.output;
    const std::string id = taken.output.substr(0, 36);
    const auto who = leasehold({"who", "Order/1", "--json"}, store);
    EXPECT_FALSE(acts_on_terminal(who.output)) << who.output;
    EXPECT_TRUE(who.output.contains("alice\\u202e")) << who.output;
    const std::size_t fence = who.output.find("\"fence\":") + 8;
    const auto broken =
        leasehold({"break", "Order/1", "--fence",
                   who.output.substr(fence, who.output.find_first_of(",}", fence) - fence), "--by",
                   "root\u202E", "--reason", "lunch\nleasehold: all is well"},
                  store);
    EXPECT_EQ(broken.exit_code, 0) << broken.output;
    EXPECT_FALSE(acts_on_terminal(broken.output)) << broken.output;
    for (const std::string command : {"check", "renew", "release"}) {
        const auto said = leasehold({command, "Order/1", "--lock-id", id}, store);
        EXPECT_EQ(said.exit_code, 1);
        EXPECT_TRUE(said.output.contains("all is well")) << said.output;
        EXPECT_FALSE(acts_on_terminal(said.output)) << said.output;
    }
}

TEST_F(Secrets, AServerThatAnswersWithAnotherKeyIsNotBelieved) {
    const HostileServer server{
        "200 OK",
        R"({"answers":[{"lease":{"type":"Order","id":"2","lock_id":"01890000-0000-7000-8000-000000000001",)"
        R"("owner":"","mode":"exclusive","fence":1,"granted_at":"2026-01-01T00:00:00.000000Z",)"
        R"("expires_at":null,"note":"","store_now":"2026-01-01T00:00:00.000000Z","remaining_ms":null}}]})"};
    const auto said = leasehold({"try", "Order/1", "--store", server.url()});
    EXPECT_EQ(said.exit_code, 4) << said.output;
    EXPECT_TRUE(said.output.contains("another key")) << said.output;
}

}  // namespace
}  // namespace leasehold::command
