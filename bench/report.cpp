#include "report.hpp"

#include <cmath>
#include <cstdio>

namespace leasehold::bench {
namespace {

template <class... Values>
std::string formatted(const char* format, Values... values) {
    char text[128];
    std::snprintf(text, sizeof text, format, values...);
    return text;
}

// Three digits are more than a noisy machine gives.
std::string short_number(double value) {
    const int decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2;
    return formatted("%.*f", decimals, value);
}

std::string goal_text(const Row& row) {
    if (!row.goal) return "-";
    const bool at_least = row.goal->direction == Goal::Direction::at_least;
    return formatted("%s %g: %s", at_least ? ">=" : "<=", row.goal->value,
                     row.disturbed()                      ? "disturbed"
                     : row.goal->met_by(row.value.median) ? "met"
                                                          : "missed");
}

std::string json_number(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? formatted("%.6g", *value) : "null";
}

// The texts of a row are our own: nothing in them needs escaping.
std::string json_text(const std::string& text) {
    return '"' + text + '"';
}

}  // namespace

void Report::add(const Row& row) {
    format_ == Format::table ? print_table_line(row) : print_json_line(row);
    std::fflush(stdout);
}

void Report::print_table_line(const Row& row) {
    constexpr const char* line = "%-58s %11s %11s  %9s  %-17s %6s  %s\n";
    if (!begun_) {
        std::printf(line, "", "Leasehold", "peer", "", "", "others", "");
        std::printf(line, "row", "cycles/s", "cycles/s", "ratio", "min .. max", "used", "goal");
        begun_ = true;
    }
    const auto rate = [](const std::optional<double>& value) {
        return value ? formatted("%.0f", *value) : std::string{"-"};
    };
    std::printf(line, (row.group + ", " + row.name).c_str(), rate(row.leasehold_per_s).c_str(),
                rate(row.peer_per_s).c_str(), short_number(row.value.median).c_str(),
                (short_number(row.value.min) + " .. " + short_number(row.value.max)).c_str(),
                row.busy ? formatted("%.0f %%", 100 * *row.busy).c_str() : "-",
                goal_text(row).c_str());
}

void Report::print_json_line(const Row& row) const {
    std::string goal = R"("goal":null,"met":null)";
    if (row.goal) {
        const bool at_least = row.goal->direction == Goal::Direction::at_least;
        goal = R"("goal":{")" + std::string{at_least ? "at_least" : "at_most"} + R"(":)" +
               json_number(row.goal->value) + R"(},"met":)" +
               (row.disturbed()                      ? "null"
                : row.goal->met_by(row.value.median) ? "true"
                                                     : "false");
    }
    std::printf(R"({"group":%s,"row":%s,"leasehold":%s,"peer":%s,"leasehold_per_s":%s,)"
                R"("peer_per_s":%s,"unit":%s,"median":%s,"min":%s,"max":%s,%s,)"
                R"("others_used":%s,"rounds":%zu,"round_s":%s})"
                "\n",
                json_text(row.group).c_str(), json_text(row.name).c_str(),
                json_text(row.leasehold).c_str(), json_text(row.peer).c_str(),
                json_number(row.leasehold_per_s).c_str(), json_number(row.peer_per_s).c_str(),
                json_text(row.unit).c_str(), json_number(row.value.median).c_str(),
                json_number(row.value.min).c_str(), json_number(row.value.max).c_str(),
                goal.c_str(), json_number(row.busy).c_str(), settings_.rounds,
                json_number(settings_.round.count()).c_str());
}

}  // namespace leasehold::bench
