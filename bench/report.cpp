#include "report.hpp"

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <utility>

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
    if (!row.goal) return row.unit;
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

std::string json_pace(const std::string& side, const std::optional<Pace>& pace) {
    const auto figure = [&](const char* name, const std::optional<double>& value) {
        return '"' + side + name + "\":" + json_number(value);
    };
    const std::optional<double> per_s = pace ? std::optional{pace->cycles_per_s} : std::nullopt;
    const Pace figures = pace.value_or(Pace{});
    return figure("_per_s", per_s) + ',' + figure("_processor_us", figures.processor_us) + ',' +
           figure("_p99_us", figures.p99_us);
}

}  // namespace

Report::Report(Format format, const Settings& settings, const std::string& kept)
    : format_{format}, settings_{settings} {
    if (kept.empty()) return;
    kept_.open(kept, std::ios::app);
    if (!kept_) throw std::runtime_error{"cannot write to " + kept};
}

void Report::add(const Row& row) {
    const std::string json = json_line(row);
    if (format_ == Format::table) {
        print_table_line(row);
    } else {
        std::printf("%s\n", json.c_str());
    }
    std::fflush(stdout);
    if (kept_.is_open() && !(kept_ << json << std::endl)) {
        throw std::runtime_error{"cannot keep a row in the file"};
    }
}

void Report::add_measured(Measured measured) {
    if (measured.values.empty()) return;
    add({.group = std::move(measured.group),
         .name = std::move(measured.name),
         .leasehold = std::move(measured.leasehold),
         .peer = "",
         .leasehold_pace = {},
         .peer_pace = {},
         .unit = std::move(measured.unit),
         .value = spread_of(std::move(measured.values)),
         .goal = measured.goal,
         .busy = {}});
}

void Report::print_table_line(const Row& row) {
    constexpr const char* line = "%-58s %11s %11s  %9s  %-17s %6s  %s\n";
    if (!begun_) {
        std::printf(line, "", "Leasehold", "peer", "", "", "others", "");
        std::printf(line, "row", "cycles/s", "cycles/s", "ratio", "min .. max", "used", "goal");
        begun_ = true;
    }
    const auto rate = [](const std::optional<Pace>& pace) {
        return pace ? formatted("%.0f", pace->cycles_per_s) : std::string{"-"};
    };
    std::printf(line, (row.group + ", " + row.name).c_str(), rate(row.leasehold_pace).c_str(),
                rate(row.peer_pace).c_str(), short_number(row.value.median).c_str(),
                (short_number(row.value.min) + " .. " + short_number(row.value.max)).c_str(),
                row.busy ? formatted("%.0f %%", 100 * *row.busy).c_str() : "-",
                goal_text(row).c_str());
    print_requests(row);
}

void Report::print_requests(const Row& row) {
    const auto figure = [](const std::optional<Pace>& pace, std::optional<double> Pace::* member) {
        return pace && (*pace).*member ? short_number(*((*pace).*member)) : std::string{"-"};
    };
    if (!row.leasehold_pace || !row.leasehold_pace->p99_us) return;
    std::printf(
        "    a request: %s against %s us of the server's processor time, p99 %s against %s us\n",
        figure(row.leasehold_pace, &Pace::processor_us).c_str(),
        figure(row.peer_pace, &Pace::processor_us).c_str(),
        figure(row.leasehold_pace, &Pace::p99_us).c_str(),
        figure(row.peer_pace, &Pace::p99_us).c_str());
}

std::string Report::json_line(const Row& row) const {
    std::string goal = R"("goal":null,"met":null)";
    if (row.goal) {
        const bool at_least = row.goal->direction == Goal::Direction::at_least;
        goal = R"("goal":{")" + std::string{at_least ? "at_least" : "at_most"} + R"(":)" +
               json_number(row.goal->value) + R"(},"met":)" +
               (row.disturbed()                      ? "null"
                : row.goal->met_by(row.value.median) ? "true"
                                                     : "false");
    }
    return R"({"group":)" + json_text(row.group) + R"(,"row":)" + json_text(row.name) +
           R"(,"leasehold":)" + json_text(row.leasehold) + R"(,"peer":)" + json_text(row.peer) +
           ',' + json_pace("leasehold", row.leasehold_pace) + ',' +
           json_pace("peer", row.peer_pace) + R"(,"unit":)" + json_text(row.unit) +
           R"(,"median":)" + json_number(row.value.median) + R"(,"min":)" +
           json_number(row.value.min) + R"(,"max":)" + json_number(row.value.max) + ',' + goal +
           R"(,"others_used":)" + json_number(row.busy) + R"(,"rounds":)" +
           std::to_string(settings_.rounds) + R"(,"round_s":)" +
           json_number(settings_.round.count()) + '}';
}

}  // namespace leasehold::bench
