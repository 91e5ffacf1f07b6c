#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/json/object.hpp>

#include <array>
#include <cstddef>
#include <fstream>
#include <optional>
#include <sstream>

#include <leasehold/leasehold.hpp>

#include "command/host.hpp"
#include "command/serving.hpp"
#include "faults/databases.hpp"

// The server as a program: how it starts, what it says, how it stops.
namespace leasehold::command {
namespace {

using namespace std::chrono_literals;
using testing::Answer;
using testing::Client;

class Serve : public ::testing::Test {
protected:
    std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
    std::string store() const { return "sqlite:" + file("locks.db"); }

private:
    testing::TemporaryFolder folder_;
};

std::string text(const boost::json::value& line, const char* field) {
    const auto* value = line.as_object().if_contains(field);
    return value != nullptr && value->is_string() ? std::string{value->as_string()} : "";
}

// A request whose body is still missing; returns when the server has seen the rest.
Client half_asked(const Serving& server, std::size_t body_bytes) {
    Client client = server.connect();
    client.send(
        "POST /v1/locks/Order/1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Expect: 100-continue\r\nContent-Length: " +
        std::to_string(body_bytes) + "\r\n\r\n");
    EXPECT_TRUE(faults::eventually([&] { return client.hears(); }));
    return client;
}

TEST_F(Serve, SaysWhatItServesWhereAndHowDurably) {
    Serving server{store() + "?retention_s=60"};
    EXPECT_EQ(server.connect().ask("GET", "/readyz").status, 200U);
    EXPECT_EQ(server.stop(), 0);
    const auto opened = server.lines("store opened");
    ASSERT_EQ(opened.size(), 1U) << server.output();
    EXPECT_EQ(text(opened[0], "level"), "info");
    EXPECT_EQ(text(opened[0], "store"), store());
    EXPECT_EQ(text(opened[0], "durability"), "strong");
    EXPECT_TRUE(text(opened[0], "name").starts_with("sqlite 3."));
    EXPECT_FALSE(text(opened[0], "version").empty());
    EXPECT_EQ(text(server.lines("ready").at(0), "url"), server.url());
    EXPECT_EQ(text(server.lines("stopping").at(0), "signal"), "SIGTERM");
    EXPECT_EQ(server.lines("stopped").size(), 1U);
    EXPECT_TRUE(server.lines("request").empty());
}

TEST_F(Serve, WarnsOnceOfAStoreThatForgets) {
    Serving server{"memory:"};
    EXPECT_EQ(server.stop(), 0);
    const auto warnings = server.lines("store");
    ASSERT_EQ(warnings.size(), 1U) << server.output();
    EXPECT_EQ(text(warnings[0], "warning"), "leases live in this process and end with it");
    std::size_t others = 0;
    std::istringstream all{server.output()};
    for (std::string line; std::getline(all, line);) {
        const bool of_root = contains(line, "the server runs as root");
        if (contains(line, "\"level\":\"warning\"") && !of_root) ++others;
    }
    EXPECT_EQ(others, 1U) << server.output();
}

TEST_F(Serve, WarnsOfTooFewFilesOnlyWhereMoreConnectionsWereAskedFor) {
    const auto warns = [&](const std::string& name, const std::string& option) {
        testing::ChildProcess server{
            {.arguments = {"sh", "-c",
                           "ulimit -n 256; exec \"$0\" serve --port 0 --store memory: " + option,
                           LEASEHOLD_COMMAND},
             .log = file(name)}};
        EXPECT_TRUE(faults::eventually(
            [&] { return content_of(file(name)).find("\"ready\"") != std::string::npos; }));
        return content_of(file(name)).find("fewer files may be open") != std::string::npos;
    };
    EXPECT_FALSE(warns("default", ""));
    EXPECT_TRUE(warns("asked", "--connections 1000"));
}

TEST_F(Serve, WritesForPeopleOnATerminal) {
    const std::string script = "\"" LEASEHOLD_COMMAND
                               "\" serve --port 0 --store memory: & "
                               "sleep 0.1; while ! grep -q ready \"$1\"; do sleep 0.01; done; "
                               "kill $!; wait $!";
    const std::string log = file("typescript");
    const auto finished =
        testing::run({.arguments = {"script", "-qefc", "set -- " + log + "; " + script, log}}, 60s);
    const std::string said = content_of(log);
    EXPECT_NE(said.find("ready  url=http://127.0.0.1:"), std::string::npos) << said;
    EXPECT_EQ(said.find("{\""), std::string::npos) << said;
    EXPECT_EQ(finished.exit_code, 0) << said;
}

TEST_F(Serve, LogsEveryRequestAtDebugLevelAndNeverASecret) {
    for (const std::string format : {"json", "text"}) {
        Serving server{
            "memory:",
            {"--log-level", "debug", "--log-format", format, "--header-deadline", "100ms"}};
        Client client = server.connect();
        const Answer taken = client.ask("POST", "/v1/locks/Order/key-4711",
                                        R"({"owner":"alice","note":"on the phone"})");
        ASSERT_EQ(taken.status, 201U);
        const std::string lock_id{taken.json().at("lock_id").as_string()};
        const std::string token = "Lock-Token: " + lock_id + "\r\n";
        EXPECT_EQ(client.ask("GET", "/v1/locks/Order/key-4711", {}, token).status, 200U);
        EXPECT_EQ(client.ask("GET", "/v1/locks?owner=alice").status, 200U);
        EXPECT_EQ(client.ask("GET", "/v1/nothing/" + lock_id).status, 404U);
        EXPECT_EQ(client
                      .ask("POST", "/v1/batch",
                           R"({"requests":[{"op":"check","lock_id":")" + lock_id + "\"}]}")
                      .status,
                  200U);
        EXPECT_EQ(client.ask("DELETE", "/v1/owners/alice/locks").status, 200U);
        EXPECT_EQ(client.ask("PUT", "/v1/locks/Order/key-4711").status, 405U);
        client.send("GET /" + lock_id + " nonsense\r\n\r\n");
        EXPECT_EQ(client.receive().status, 505U);
        client.close();
        Client late = server.connect();
        late.send("GET /v1/locks/Order/" + lock_id);
        EXPECT_EQ(late.receive().status, 408U);
        late.close();
        EXPECT_EQ(server.stop(), 0);

        const std::string said = server.output();
        for (const std::string& secret :
             {lock_id, std::string{"alice"}, std::string{"phone"}, std::string{"4711"}}) {
            EXPECT_EQ(said.find(secret), std::string::npos) << said;
        }
        if (format == "text") {
            EXPECT_NE(said.find("debug   request  method=POST  route=/v1/locks/{type}/{id}  "
                                "status=201  took_us="),
                      std::string::npos)
                << said;
            continue;
        }
        const auto lines = server.lines("request");
        ASSERT_EQ(lines.size(), 9U) << said;
        const auto expect = [&](std::size_t at, const char* method, const char* route, int status) {
            EXPECT_EQ(text(lines[at], "method"), method);
            EXPECT_EQ(text(lines[at], "route"), route);
            EXPECT_EQ(lines[at].at("status").as_int64(), status);
            EXPECT_EQ(text(lines[at], "level"), "debug");
            EXPECT_GT(lines[at].at("bytes_out").as_int64(), 0);
        };
        expect(0, "POST", "/v1/locks/{type}/{id}", 201);
        expect(1, "GET", "/v1/locks/{type}/{id}", 200);
        expect(2, "GET", "/v1/locks", 200);
        expect(3, "GET", "unknown", 404);
        expect(4, "POST", "/v1/batch", 200);
        expect(5, "DELETE", "/v1/owners/{owner}/locks", 200);
        EXPECT_EQ(lines[6].at("status").as_int64(), 405);
        EXPECT_EQ(lines[7].at("status").as_int64(), 505);
        EXPECT_EQ(lines[8].at("status").as_int64(), 408);
        EXPECT_EQ(lines[0].at("bytes_in").as_int64(), 39);
    }
}

// How many lines of one kind there may be at most: the first event, and the rest of each 5 s.
double lines_since(SteadyClock::time_point began) {
    return 2 + std::chrono::duration<double>{SteadyClock::now() - began} / 5s;
}

std::int64_t times_in(const boost::json::array& lines) {
    std::int64_t times = 0;
    for (const boost::json::value& line : lines) times += line.at("times").as_int64();
    return times;
}

TEST_F(Serve, WarnsOfStoreFaultsButNotOfEveryOne) {
    const auto database = faults::make_sqlite_folder();
    const std::string name = database->make();
    const auto began = SteadyClock::now();
    Serving server{database->url(name)};
    const auto other = database->connect(name);
    other->run("alter table locks rename to elsewhere");
    Client client = server.connect();
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(client.ask("POST", "/v1/locks/Order/" + std::to_string(i), "{}").status, 503U);
    }
    other->run("alter table elsewhere rename to locks");
    EXPECT_EQ(client.ask("POST", "/v1/locks/Order/1", "{}").status, 201U);
    EXPECT_EQ(server.stop(), 0);
    const auto faults = server.lines("store fault");
    ASSERT_GE(faults.size(), 1U) << server.output();
    EXPECT_EQ(text(faults[0], "level"), "warning");
    EXPECT_EQ(text(faults[0], "cause"), "unavailable");
    EXPECT_EQ(text(faults[0], "effect"), "none");
    EXPECT_LE(static_cast<double>(faults.size()), lines_since(began));
    EXPECT_GE(server.lines("the store answers again").size(), 1U);
}

TEST_F(Serve, WarnsOfConnectionsTurnedAwayAndCutButNotOfEveryOne) {
    const auto began = SteadyClock::now();
    Serving server{"memory:", {"--connections", "1", "--header-deadline", "100ms"}};
    Client only = server.connect();
    EXPECT_EQ(only.ask("GET", "/healthz").status, 200U);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(server.connect().receive().status, 503U);
    only.send("GET /heal");
    EXPECT_EQ(only.receive().status, 408U);
    only.close();
    EXPECT_EQ(server.stop(), 0);
    const auto turned_away = server.lines(
        "connection turned away: a limit of connections or of TLS handshakes is reached");
    ASSERT_GE(turned_away.size(), 1U) << server.output();
    EXPECT_EQ(text(turned_away[0], "level"), "warning");
    EXPECT_EQ(turned_away[0].at("times").as_int64(), 1);
    EXPECT_EQ(times_in(turned_away), 20) << server.output();
    EXPECT_LE(static_cast<double>(turned_away.size()), lines_since(began));
    EXPECT_EQ(server.lines("connection cut: the request's header was late").size(), 1U);
}

TEST_F(Serve, WarnsWhenItIsOutOfFilesAndGoesOnWhenItIsNot) {
    Serving server{"memory:"};
    Client first = server.connect();
    EXPECT_EQ(first.ask("GET", "/healthz").status, 200U);
    rlimit before{};
    ASSERT_EQ(::prlimit(server.pid(), RLIMIT_NOFILE, nullptr, &before), 0);
    const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
    ASSERT_EQ(::prlimit(server.pid(), RLIMIT_NOFILE, &none, nullptr), 0);
    Client second = server.connect();
    second.send(testing::message("GET", "/healthz"));
    EXPECT_TRUE(server.says("accepting paused"));
    EXPECT_EQ(first.ask("GET", "/healthz").status, 200U);
    ASSERT_EQ(::prlimit(server.pid(), RLIMIT_NOFILE, &before, nullptr), 0);
    EXPECT_EQ(second.receive().status, 200U);
}

TEST_F(Serve, GoesOnWhenNobodyReadsItsLog) {
    constexpr int requests = 12'000;  // more lines than are kept for later
    constexpr int at_once = 100;
    const std::uint16_t port = testing::free_port();
    const testing::ChildProcess server{
        {.arguments = {"sh", "-c",
                       "\"$0\" serve --port $1 --store memory: --log-level debug 2>&1 | sleep 1000",
                       LEASEHOLD_COMMAND, std::to_string(port)}}};
    std::optional<Client> client;
    ASSERT_TRUE(faults::eventually([&] {
        try {
            client.emplace(port);
            return true;
        } catch (const std::runtime_error&) {
            return false;
        }
    }));
    std::string messages;
    for (int i = 0; i < at_once; ++i) messages += testing::message("GET", "/healthz");
    for (int i = 0; i < requests; i += at_once) {
        client->send(messages);
        for (int j = 0; j < at_once; ++j) ASSERT_EQ(client->receive().status, 200U);
    }
}

TEST_F(Serve, AnswersRequestsUnderWayBeforeItStops) {
    Serving server{store()};
    Client idle = server.connect();
    EXPECT_EQ(idle.ask("GET", "/healthz").status, 200U);
    const std::string body = R"({"owner":"alice"})";
    Client slow = half_asked(server, body.size());
    server.signal(SIGINT);
    EXPECT_TRUE(server.says("stopping"));
    EXPECT_TRUE(idle.closed());
    slow.send(body);
    (void)slow.receive();  // 100 Continue
    EXPECT_EQ(slow.receive().status, 201U);
    EXPECT_EQ(server.wait(), 0);
    EXPECT_EQ(text(server.lines("stopping").at(0), "signal"), "SIGINT");
}

TEST_F(Serve, StopsAtOnceAtASecondSignal) {
    Serving server{store()};
    const Client slow = half_asked(server, 10);
    server.signal(SIGTERM);
    EXPECT_TRUE(server.says("stopping"));
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait(), 128 + SIGTERM);
}

TEST_F(Serve, ReadsItsLogLevelAgainAtHangup) {
    const std::string config = file("leasehold.toml");
    std::ofstream{config} << "log_level = \"info\"\n";
    Serving server{store(), {"--config", config}};
    Client client = server.connect();
    EXPECT_EQ(client.ask("GET", "/healthz").status, 200U);

    std::ofstream{config} << "log_level = \"debug\"\nidle = \"1m\"\n";
    server.signal(SIGHUP);
    EXPECT_TRUE(server.says("need a restart"));
    EXPECT_EQ(client.ask("GET", "/readyz").status, 200U);
    EXPECT_TRUE(server.says("\"route\":\"/readyz\""));
    EXPECT_EQ(
        text(server.lines("these settings have changed and need a restart").at(0), "settings"),
        "idle");

    std::ofstream{config} << "log_level = \"loud\"\n";
    server.signal(SIGHUP);
    EXPECT_TRUE(server.says("leasehold.toml:1: log_level cannot be 'loud'"));
    EXPECT_EQ(client.ask("GET", "/openapi.json").status, 200U);
    EXPECT_TRUE(server.says("\"route\":\"/openapi.json\""));
    EXPECT_EQ(server.stop(), 0);
    EXPECT_EQ(server.output().find("\"/healthz\""), std::string::npos);
}

TEST_F(Serve, StopsAlthoughReloadsAreRequestedWhileItStops) {
    Serving server{store()};
    server.signal(SIGTERM);
    for (int i = 0; i < 500; ++i) server.signal(SIGHUP);
    EXPECT_EQ(server.wait(), 0);
}

// What listens on $NOTIFY_SOCKET.
class ServiceManager {
public:
    // As sd_notify(3) has it: a path, or with '@' in front a name.
    explicit ServiceManager(const std::string& address) {
        sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
        address.copy(name.sun_path, sizeof name.sun_path - 1);
        if (name.sun_path[0] == '@') name.sun_path[0] = '\0';
        const timeval limit{.tv_sec = 60, .tv_usec = 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        const auto size = offsetof(sockaddr_un, sun_path) + address.size();
        EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&name), static_cast<socklen_t>(size)),
                  0);
    }
    ServiceManager(const ServiceManager&) = delete;
    ServiceManager& operator=(const ServiceManager&) = delete;
    ~ServiceManager() { ::close(socket_); }

    // The next message.
    [[nodiscard]] std::string hears() const {
        std::array<char, 100> message{};
        const auto bytes = ::recv(socket_, message.data(), message.size(), 0);
        return {message.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0))};
    }

private:
    int socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
};

TEST_F(Serve, TellsTheServiceManagerThatItIsReadyAndThatItStops) {
    for (const std::string& address : {file("notify"), "@" + file("notify")}) {
        const ServiceManager manager{address};
        Serving server{store(), {}, {"NOTIFY_SOCKET=" + address}};
        EXPECT_EQ(manager.hears(), "READY=1\n");
        server.signal(SIGTERM);
        EXPECT_EQ(manager.hears(), "STOPPING=1\n");
        EXPECT_EQ(server.wait(), 0);
    }
}

TEST_F(Serve, SaysWhyItCannotStart) {
    const Serving first{store()};
    const auto second =
        leasehold({"serve", "--store", store(), "--port", std::to_string(first.port())});
    EXPECT_EQ(second.exit_code, 3);
    EXPECT_NE(second.output.find("cannot listen on 127.0.0.1:" + std::to_string(first.port())),
              std::string::npos)
        << second.output;
    EXPECT_EQ(leasehold({"serve", "--port", "0", "--store", "sqlite:/nowhere/at/all.db"}).exit_code,
              3);
}

TEST_F(Serve, ListensOnTheIpv6LoopbackToo) {
    testing::TemporaryFolder folder;
    const auto log = folder.path() / "log";
    testing::ChildProcess server{{.arguments = {LEASEHOLD_COMMAND, "serve", "--port", "0",
                                                "--address", "::1", "--store", "memory:"},
                                  .log = log}};
    EXPECT_TRUE(faults::eventually([&] {
        return content_of(log).find("\"url\":\"http://[::1]:") != std::string::npos;
    })) << content_of(log);
    EXPECT_EQ(server.terminate(60s), 0);
}

// The lines that the banner offers to copy.
std::vector<std::string> commands_in(const std::string& banner) {
    std::vector<std::string> commands;
    std::istringstream all{banner};
    const std::string prompt = "  $ ";
    for (std::string line; std::getline(all, line);) {
        if (line.starts_with(prompt)) commands.push_back(line.substr(prompt.size()));
    }
    return commands;
}

TEST_F(Serve, GreetsWithCommandsThatWork) {
    Serving server{store(), {"--banner"}};
    ASSERT_TRUE(server.says("Ctrl-C stops the server."));
    EXPECT_TRUE(server.says("The console shows who holds what: " + server.url() + "/\n"));
    EXPECT_EQ(server.connect().ask("GET", "/").fields.at("content-type"),
              "text/html; charset=utf-8");
    const auto commands = commands_in(server.output());
    ASSERT_EQ(commands.size(), 3U) << server.output();
    const auto run = [](const std::string& command) {
        return testing::run({.arguments = {"sh", "-c", command}}, 60s);
    };
    const auto taken = run(commands[0]);
    EXPECT_EQ(taken.exit_code, 0);
    EXPECT_NE(taken.output.find("\"owner\":\"alice\""), std::string::npos) << taken.output;
    const auto refused = run(commands[1]);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_NE(refused.output.find("Order/1 is held by alice"), std::string::npos) << refused.output;
    const auto listed = run(commands[2]);
    EXPECT_EQ(listed.exit_code, 0);
    EXPECT_NE(listed.output.find("Order/1  alice"), std::string::npos) << listed.output;
    EXPECT_EQ(server.stop(), 0);
}

}  // namespace
}  // namespace leasehold::command
