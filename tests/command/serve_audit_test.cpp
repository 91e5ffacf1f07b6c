#include <gtest/gtest.h>

#include <sys/stat.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "command/host.hpp"
#include "command/serving.hpp"
#include "unit/waiting.hpp"

// `leasehold serve --audit FILE`.
namespace leasehold::command {
namespace {

namespace json = boost::json;

class ServeAudit : public ::testing::Test {
protected:
    [[nodiscard]] std::string file(const std::string& name) const {
        return (folder_.path() / name).string();
    }
    [[nodiscard]] std::string token(const std::string& name) const {
        const auto made = leasehold({"token", name, "--roles", "see", "--token-file", file(name)});
        EXPECT_EQ(made.exit_code, 0) << made.output;
        return made.output;
    }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream{file(name)} << text;
        ::chmod(file(name).c_str(), 0600);
    }
    // The lines of the audit with this action.
    [[nodiscard]] std::vector<json::object> lines(const std::string& action) const {
        std::vector<json::object> found;
        std::istringstream all{content_of(file("audit"))};
        for (std::string line; std::getline(all, line);) {
            json::object object = json::parse(line).as_object();
            if (object.at("action").as_string() == action) found.push_back(std::move(object));
        }
        return found;
    }

private:
    testing::TemporaryFolder folder_;
};

TEST_F(ServeAudit, RecordsSettingsReloadsAndTheEnd) {
    write("tokens.toml", token("before"));
    write("config.toml", "token_rate = 100\n");
    Serving server{"memory:",
                   {"--tokens", file("tokens.toml"), "--audit", file("audit"), "--config",
                    file("config.toml")}};
    write("tokens.toml", token("after"));
    write("config.toml", "token_rate = 200\n");
    server.signal(SIGHUP);
    EXPECT_TRUE(testing::eventually([&] { return lines("tokens").size() == 1; }));
    write("tokens.toml", "nonsense");
    server.signal(SIGHUP);
    EXPECT_TRUE(testing::eventually([&] { return lines("tokens").size() == 2; }));
    EXPECT_EQ(server.stop(), 0);

    const auto start = lines("start");
    ASSERT_EQ(start.size(), 1U);
    EXPECT_EQ(start[0].at("settings").at("token_rate"), "100");
    EXPECT_FALSE(start[0].at("settings").as_object().contains("default_ttl"));
    const auto tokens = lines("tokens");
    EXPECT_EQ(tokens[0].at("outcome"), "done");
    EXPECT_EQ(tokens[0].at("added_or_changed").at(0), "after");
    EXPECT_EQ(tokens[0].at("removed_or_changed").at(0), "before");
    EXPECT_EQ(tokens[1].at("outcome"), "failed");
    const auto configuration = lines("configuration");
    ASSERT_EQ(configuration.size(), 2U);
    EXPECT_EQ(configuration[0].at("need_restart"), "token_rate");
    ASSERT_EQ(lines("stop").size(), 1U);
    EXPECT_EQ(lines("stop")[0].at("signal"), "SIGTERM");
    EXPECT_FALSE(contains(content_of(file("audit")), "lh_"));
}

TEST_F(ServeAudit, IsOpenedAgainAtHangup) {
    Serving server{"memory:", {"--audit", file("audit")}};
    EXPECT_TRUE(testing::eventually([&] { return lines("start").size() == 1; }));
    std::filesystem::rename(file("audit"), file("audit.1"));
    server.signal(SIGHUP);
    EXPECT_TRUE(testing::eventually(
        [&] { return std::filesystem::exists(file("audit")) && !lines("configuration").empty(); }));
    EXPECT_EQ(server.stop(), 0);
    EXPECT_EQ(lines("stop").size(), 1U);
}

TEST_F(ServeAudit, ThatCannotBeOpenedIsRefusedAtTheStart) {
    const auto refused =
        leasehold({"serve", "--port", "0", "--store", "memory:", "--audit", "/nowhere/audit"});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_TRUE(contains(refused.output, "the audit file '/nowhere/audit' cannot be used"))
        << refused.output;
}

// The limit of the process for the size of a file acts as a full disk.
TEST_F(ServeAudit, ThatCannotBeWrittenStopsNobody) {
    write("audit", std::string(1 << 20, '\n'));
    testing::ChildProcess server{
        {.arguments = {"bash", "-c",
                       "ulimit -f 1024; trap '' XFSZ; exec \"$0\" serve --port 0 --store memory: "
                       "--audit \"$1\"",
                       LEASEHOLD_COMMAND, file("audit")},
         .log = file("log")}};
    EXPECT_TRUE(testing::eventually([&] {
        return contains(content_of(file("log")), "cannot be written: File too large") &&
               contains(content_of(file("log")), "\"message\":\"ready\"");
    })) << content_of(file("log"));
    const std::string log = content_of(file("log"));
    const std::string place = "http://127.0.0.1:";
    const auto port =
        static_cast<std::uint16_t>(std::stoi(log.substr(log.find(place) + place.size())));
    testing::Client client{port};
    EXPECT_EQ(client.ask("POST", "/v1/locks/Order/1", R"({"owner":"alice"})").status, 201U);
    EXPECT_TRUE(contains(client.ask("GET", "/metrics").body,
                         "leasehold_audit_lines_total{outcome=\"lost\"} 1"));
}

}  // namespace
}  // namespace leasehold::command
