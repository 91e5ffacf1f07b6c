#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "cli/serve/config.hpp"
#include "command/host.hpp"
#include "command/serving.hpp"

// Where the server's settings come from, and what is refused.
namespace leasehold::command {
namespace {

using Values = std::map<std::string, std::string>;

// What --print-config says, without the comments or with them.
Values values_in(const std::string& config, bool with_origin) {
    Values values;
    std::istringstream all{config};
    for (std::string line; std::getline(all, line);) {
        const std::size_t equals = line.find(" = ");
        if (line.starts_with('#') || equals == std::string::npos) continue;
        const std::size_t comment = line.rfind(" # ");
        const std::size_t end = line.find_last_not_of(' ', comment);
        std::string value = line.substr(equals + 3, end - equals - 2);
        if (with_origin) value += line.substr(comment);
        values[line.substr(0, equals)] = value;
    }
    return values;
}

class ServeConfig : public ::testing::Test {
protected:
    std::string write(const std::string& text) const {
        const std::string path = (folder_.path() / "leasehold.toml").string();
        std::ofstream{path} << text;
        return path;
    }
    static Values printed(std::vector<std::string> options,
                          const std::vector<std::string>& environment = {},
                          bool with_origin = true) {
        options.insert(options.begin(), {"serve", "--print-config"});
        const auto finished = leasehold(options, environment);
        EXPECT_EQ(finished.exit_code, 0) << finished.output;
        return values_in(finished.output, with_origin);
    }
    // What the server says instead of starting.
    static std::string refused(std::vector<std::string> options,
                               const std::vector<std::string>& environment = {}) {
        options.insert(options.begin(), "serve");
        const auto finished = leasehold(options, environment);
        EXPECT_EQ(finished.exit_code, 2) << finished.output;
        return finished.output;
    }

private:
    testing::TemporaryFolder folder_;
};

TEST_F(ServeConfig, ComesFromTheCommandLineThenTheEnvironmentThenTheFile) {
    const std::string file = write("port = 1\nthreads = 2\nidle = \"1s\"\n\nmax_ttl = \"2d\"\n");
    const std::vector<std::string> environment{"LEASEHOLD_PORT=2", "LEASEHOLD_IDLE=2s",
                                               "LEASEHOLD_WAITERS=", "LEASEHOLD_CONFIG=" + file};
    const Values all = printed({"--port", "3"}, environment);
    EXPECT_EQ(all.at("port"), "3 # --port");
    EXPECT_EQ(all.at("idle"), "\"2s\" # LEASEHOLD_IDLE");
    EXPECT_EQ(all.at("threads"), "2 # " + file + ":2");
    EXPECT_EQ(all.at("max_ttl"), "\"2d\" # " + file + ":5");
    EXPECT_EQ(all.at("waiters"), "20000 # default");
    EXPECT_EQ(printed({"--config", file}).at("port"), "1 # " + file + ":1");
}

TEST_F(ServeConfig, LowersTheDefaultOfConnectionsToTheLimitOfOpenFiles) {
    const auto connections = [](const std::string& option) {
        const auto finished = testing::run(
            {.arguments = {"sh", "-c", "ulimit -n 256; exec \"$0\" serve --print-config " + option,
                           LEASEHOLD_COMMAND}},
            std::chrono::seconds{60});
        return values_in(finished.output, true).at("connections");
    };
    EXPECT_EQ(connections(""), "192 # default, for at most 256 open files");
    EXPECT_EQ(connections("--connections 1000"), "1000 # --connections");
}

TEST_F(ServeConfig, TakesTheStoreFromWhereEveryCommandTakesIt) {
    EXPECT_EQ(printed({}).at("store"), "\"sqlite:leasehold.db\" # default");
    EXPECT_EQ(printed({}, {"LEASEHOLD_STORE=memory:"}).at("store"),
              "\"memory:\" # LEASEHOLD_STORE");
    const auto global = leasehold({"--store", "memory:", "serve", "--print-config"});
    EXPECT_EQ(values_in(global.output, true).at("store"), "\"memory:\" # --store");
}

TEST_F(ServeConfig, IsPrintedAsAFileThatSaysTheSame) {
    const std::vector<std::string> options{"--store",          R"(sqlite:a "b\c.db)",
                                           "--port",           "0",
                                           "--log-level",      "debug",
                                           "--max-hold",       "1d2h3m4s5ms",
                                           "--allow-endless",  "true",
                                           "--drain-deadline", "0s",
                                           "--log-format",     "json"};
    const Values before = printed(options, {}, false);
    std::vector<std::string> print{"serve", "--print-config"};
    print.insert(print.end(), options.begin(), options.end());
    const std::string file = write(leasehold(print).output);
    EXPECT_EQ(printed({"--config", file}, {}, false), before);
    EXPECT_EQ(before.at("max_hold"), "\"1d2h3m4s5ms\"");
    EXPECT_EQ(before.size(), cli::settings().size());
}

TEST_F(ServeConfig, RefusesEveryBadValueWithItsLineAndWhatWouldBeRight) {
    struct Case {
        std::string line, problem;
    };
    const std::vector<Case> cases{
        {"prot = 1", "there is no setting 'prot'; did you mean 'port'?"},
        {"anything = 1", "there is no setting 'anything'; `leasehold serve --print-config`"},
        {"[server]", "there is no setting 'server'"},
        {"port = ", "this is not TOML"},
        {"port = \"1\"", "port takes a number without quotes, as in 7470"},
        {"port = 1.5", "port takes a number without quotes"},
        {"idle = 75", "idle takes a text in quotes, as in \"1m15s\""},
        {"allow_endless = \"true\"", "allow_endless takes true or false without quotes"},
        {"idle = \"75\"", "idle cannot be '75'; it takes a duration from 100ms to 1d"},
        {"max_hold = \"never\"", "max_hold cannot be 'never'; it takes none, or a duration"},
        {"log_level = \"loud\"", "it takes one of debug, info, warning, error"},
        {"log_format = \"xml\"", "it takes one of auto, text, json"},
        {"address = \"localhost\"", "it takes an IP address, as in 127.0.0.1 or ::1"},
        {"address = \"0.0.0.0\"", "address takes a loopback address"},
        {"address = \"192.0.2.1\"", "address takes a loopback address"},
        {"address = \"::\"", "address takes a loopback address"},
        {"tokens = 1", "tokens takes a text in quotes"},
        {"token_rate = -1", "token_rate cannot be '-1'"},
        {"cors_origin = \"shop.example\"", "it takes none, or origins as browsers say them"},
        {"cors_origin = \"https://shop.example/\"", "it takes none, or origins"},
        {"cors_origin = [\"https://a.example\", \"*\"]", "it takes none, or origins"},
        {"cors_origin = [1]", "cors_origin takes a text in quotes"},
        {"hosts = \"a b\"", "it takes none, or names of hosts"},
        {"port = [\"1\"]", "port takes a number without quotes"},
        {"store = \"http://127.0.0.1:7470\"", "This one names another server"},
        {"store = \"nothing\"", "store cannot be that; it takes the URL of a store"},
        {"store = \"oracle:x\"", "no store for 'oracle:'"},
    };
    for (const auto& [line, problem] : cases) {
        const std::string file = write("# comment\n\n" + line + "\n");
        const std::string said = refused({"--config", file});
        EXPECT_NE(said.find(file + ":3: "), std::string::npos) << said;
        EXPECT_NE(said.find(problem), std::string::npos) << line << "\n" << said;
    }
}

TEST_F(ServeConfig, RefusesValuesOutOfTheirBoundsWhereverTheyStand) {
    for (const cli::Setting& setting : cli::settings()) {
        if (setting.form != cli::Form::integer && setting.kind != "DURATION") continue;
        const std::string name{setting.name};
        for (const char* const value : {"-1", "99999999999999999999", "x"}) {
            const std::string by_variable = refused({}, {setting.variable() + "=" + value});
            EXPECT_TRUE(by_variable.starts_with("leasehold: " + setting.variable() + ": " + name +
                                                " cannot be '" + value + "'; it takes a "))
                << by_variable;
        }
        const std::string by_option = refused({setting.option(), "none"});
        EXPECT_TRUE(by_option.starts_with("leasehold: " + setting.option() + ": ")) << by_option;
    }
}

TEST_F(ServeConfig, RefusesWhatDoesNotGoTogether) {
    const std::string file = write("\nmax_ttl = \"1m\"\n");
    EXPECT_EQ(refused({"--config", file}),
              "leasehold: default_ttl (5m, default) must not be above "
              "max_ttl (1m, " +
                  file + ":2)\n");
    EXPECT_NE(refused({"--min-ttl", "2d"}).find("min_ttl (2d, --min-ttl)"), std::string::npos);
    EXPECT_EQ(
        refused({"--max-hold", "99ms"}),
        "leasehold: min_ttl (100ms, default) must not be above max_hold (99ms, --max-hold)\n");
    EXPECT_EQ(printed({"--max-hold", "100ms"}).at("max_hold"), "\"100ms\" # --max-hold");
}

TEST_F(ServeConfig, TakesListsAsTheyAreWrittenInEachPlace) {
    const std::string list = "\"https://a.example,https://b.example\"";
    const Values by_option =
        printed({"--cors-origin", "https://a.example", "--cors-origin", "https://b.example"});
    EXPECT_EQ(by_option.at("cors_origin"), list + " # --cors-origin");
    const Values by_variable =
        printed({}, {"LEASEHOLD_CORS_ORIGIN=https://a.example, https://b.example"});
    EXPECT_EQ(by_variable.at("cors_origin"), list + " # LEASEHOLD_CORS_ORIGIN");
    const std::string file =
        write("cors_origin = [\"https://a.example\", \"https://b.example\"]\n");
    EXPECT_EQ(printed({"--config", file}).at("cors_origin"), list + " # " + file + ":1");
    EXPECT_EQ(printed({"--config", write("hosts = []\n")}).at("hosts"),
              "\"none\" # " + file + ":1");
}

TEST_F(ServeConfig, RefusesACertificateWithoutItsKey) {
    EXPECT_NE(refused({"--tls-certificate", "a.pem"}).find("go together"), std::string::npos);
    EXPECT_NE(refused({"--tls-key", "a.pem"}).find("go together"), std::string::npos);
}

TEST_F(ServeConfig, NeverRepeatsAPasswordThatItRefuses) {
    const std::string said =
        refused({"--store", "postgres://app:hunter2@db/shop?durability=maybe"});
    EXPECT_EQ(said.find("hunter2"), std::string::npos) << said;
}

TEST_F(ServeConfig, RefusesAFileThatIsNotThere) {
    EXPECT_NE(refused({"--config", "/nowhere/a.toml"}).find("'/nowhere/a.toml' cannot be read"),
              std::string::npos);
    EXPECT_NE(refused({}, {"LEASEHOLD_CONFIG=/nowhere/b.toml"}).find("/nowhere/b.toml"),
              std::string::npos);
}

TEST_F(ServeConfig, OfTheExampleFileNamesEverySettingWithItsDefault) {
    const std::string file = LEASEHOLD_SOURCES "/packaging/leasehold.toml";
    EXPECT_FALSE(printed({"--config", file}).empty());

    // Its commented lines are the defaults.
    std::istringstream all{content_of(file)};
    std::string everything;
    for (std::string line; std::getline(all, line);) {
        const std::size_t equals = line.find(" = ");
        const bool is_default =
            line.starts_with('#') && equals != std::string::npos && line.find(' ', 1) == equals;
        if (is_default || !line.starts_with('#'))
            everything += line.substr(is_default ? 1 : 0) + '\n';
    }
    Values example = values_in(everything, false);
    Values defaults = printed({"--connections", "20000"}, {}, false);  // whatever files may be open
    EXPECT_EQ(example.size(), defaults.size());
    example.erase("store");
    defaults.erase("store");
    EXPECT_EQ(example, defaults);
}

TEST_F(ServeConfig, IsInTheGuideAndTheHelpWithItsDefaults) {
    const std::string guide = content_of(LEASEHOLD_SOURCES "/docs/server.md");
    const std::string help =
        std::regex_replace(leasehold({"serve", "--help"}).output, std::regex{"\\s+"}, " ");
    for (const cli::Setting& setting : cli::settings()) {
        const std::string option = setting.option();
        const std::string value = setting.show({});
        const std::string help_text{setting.help};
        EXPECT_NE(guide.find("| `" + option + "` | `" + value + "` | " + help_text + " |"),
                  std::string::npos)
            << option;
        EXPECT_NE(help.find(help_text + " (" + value + ")"), std::string::npos) << option;
    }
}

}  // namespace
}  // namespace leasehold::command
