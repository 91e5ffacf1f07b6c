#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include <regex>
#include <set>
#include <sstream>

#include "command/host.hpp"
#include "command/serving.hpp"
#include "server/exposition.hpp"

// The dashboard and the alerts ask for metrics, labels and values that a real server shows.
namespace leasehold::command {
namespace {

using testing::Exposition;

class Monitoring : public ::testing::Test {
protected:
    // The metrics of a server that has seen a bit of everything.
    static const Exposition& shown() {
        static const Exposition metrics = [] {
            const testing::TemporaryFolder folder;
            const Serving server{"sqlite:" + (folder.path() / "locks.db").string()};
            auto client = server.connect();
            client.ask("POST", "/v1/locks/Order/1", R"({"owner":"alice"})");
            client.ask("POST", "/v1/locks/Order/1", R"({"owner":"bob","wait_ms":1})");
            client.ask("GET", "/v1/locks");
            return Exposition{client.ask("GET", "/metrics").body};
        }();
        return metrics;
    }

    // Every name in it is shown, and so is every label with the value it must have.
    static void expect_answerable(const std::string& expression) {
        EXPECT_EQ(std::ranges::count(expression, '('), std::ranges::count(expression, ')'))
            << expression;
        static const std::regex name{"\\b(leasehold|process)_[a-z_]+"};
        const auto end = std::sregex_iterator{};
        std::size_t found = 0;
        for (std::sregex_iterator at{expression.begin(), expression.end(), name}; at != end; ++at) {
            EXPECT_TRUE(shown().names().contains(at->str())) << at->str() << " in " << expression;
            ++found;
        }
        static const std::regex label{"[{,] *([a-z_]+)(=|!=)\"([^\"]*)\""};
        for (std::sregex_iterator at{expression.begin(), expression.end(), label}; at != end;
             ++at) {
            const std::string name_of_label = (*at)[1];
            if (name_of_label == "job") continue;  // given by Prometheus
            ASSERT_TRUE(shown().labels().contains(name_of_label)) << expression;
            EXPECT_TRUE(shown().labels().at(name_of_label).contains((*at)[3])) << expression;
        }
        EXPECT_TRUE(found > 0 || expression.starts_with("up{")) << expression;
    }
};

void collect_expressions(const boost::json::value& value, std::set<std::string>& all) {
    if (value.is_array()) {
        for (const auto& item : value.get_array()) collect_expressions(item, all);
    } else if (value.is_object()) {
        for (const auto& field : value.get_object()) {
            const bool is_query = field.key() == "expr" || field.key() == "definition";
            if (is_query && field.value().is_string()) {
                all.emplace(std::string_view{field.value().get_string()});
            } else {
                collect_expressions(field.value(), all);
            }
        }
    }
}

TEST_F(Monitoring, TheDashboardAsksForWhatThereIs) {
    const auto dashboard =
        boost::json::parse(content_of(LEASEHOLD_SOURCES "/packaging/grafana/leasehold.json"));
    std::set<std::string> expressions;
    collect_expressions(dashboard, expressions);
    EXPECT_GT(expressions.size(), 30U);
    for (const std::string& expression : expressions) expect_answerable(expression);
}

TEST_F(Monitoring, TheDashboardLeavesNothingOut) {
    const std::string dashboard = content_of(LEASEHOLD_SOURCES "/packaging/grafana/leasehold.json");
    const std::string rules =
        content_of(LEASEHOLD_SOURCES "/packaging/prometheus/leasehold.rules.yml");
    const std::set<std::string> details{"leasehold_leases_counted_timestamp_seconds",
                                        "leasehold_request_duration_seconds_count",
                                        "leasehold_request_duration_seconds_sum",
                                        "leasehold_wait_duration_seconds_count",
                                        "leasehold_wait_duration_seconds_sum",
                                        "leasehold_store_batch_duration_seconds_count",
                                        "leasehold_store_batch_duration_seconds_sum"};
    for (const std::string& name : shown().names()) {
        if (!name.starts_with("leasehold_") || details.contains(name)) continue;
        EXPECT_TRUE(dashboard.find(name) != std::string::npos ||
                    rules.find(name) != std::string::npos)
            << name;
    }
}

TEST_F(Monitoring, TheAlertsAskForWhatThereIsAndSayWhatToDo) {
    std::istringstream rules{
        content_of(LEASEHOLD_SOURCES "/packaging/prometheus/leasehold.rules.yml")};
    std::map<std::string, int> counts;
    static const std::regex field{" +(?:- )?(alert|expr|severity|summary|description): (.+)"};
    for (std::string line; std::getline(rules, line);) {
        EXPECT_EQ(line.find('\t'), std::string::npos) << line;
        std::smatch found;
        if (!std::regex_match(line, found, field)) continue;
        ++counts[found[1]];
        if (found[1] == "expr") expect_answerable(found[2]);
        if (found[1] == "summary" || found[1] == "description") {
            EXPECT_TRUE(std::regex_match(found[2].str(), std::regex{"\"[^\"]+\""})) << line;
        }
    }
    EXPECT_GE(counts["alert"], 10);
    for (const auto& [name, count] : counts) EXPECT_EQ(count, counts["alert"]) << name;
}

TEST_F(Monitoring, TheGuideExplainsEveryMetric) {
    const std::string guide = content_of(LEASEHOLD_SOURCES "/docs/operations.md");
    static const std::regex part{"_(bucket|sum|count)$"};
    for (const std::string& name : shown().names()) {
        if (!name.starts_with("leasehold_")) continue;
        EXPECT_NE(guide.find("`" + std::regex_replace(name, part, "")), std::string::npos) << name;
    }
    static const std::regex mentioned{"`(leasehold_[a-z_]+)"};
    const std::set<std::string> names = shown().names();
    for (std::sregex_iterator at{guide.begin(), guide.end(), mentioned}, end; at != end; ++at) {
        const std::string name = (*at)[1];
        EXPECT_TRUE(names.contains(name) || names.contains(name + "_bucket")) << name;
    }
}

}  // namespace
}  // namespace leasehold::command
