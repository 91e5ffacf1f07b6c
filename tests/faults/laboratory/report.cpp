#include "faults/laboratory/report.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace leasehold::faults {
namespace {

constexpr Duration step = 100ms;
constexpr struct {
    double width = 1200, height = 320;
    double left = 60, right = 20, top = 90, bottom = 30;
} frame;

double seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

// The number of grants in each step of the time.
std::vector<std::size_t> throughput(const Round& round) {
    std::vector<std::size_t> grants(static_cast<std::size_t>((round.ended - round.began) / step) +
                                    1);
    for (const lab::Instant time : round.granted_at) {
        const auto at = static_cast<std::size_t>((time - round.began) / step);
        if (at < grants.size()) ++grants[at];
    }
    return grants;
}

}  // namespace

std::string table(const std::vector<Round>& rounds) {
    struct Line {
        std::size_t strikes = 0, operations = 0, unknown = 0, violations = 0;
        Duration gap{};
    };
    std::map<std::pair<std::string, std::string>, Line> lines;
    std::map<std::string, Line> sums;
    for (const Round& round : rounds) {
        for (const Strike& strike : round.strikes) {
            for (Line* line : {&lines[{round.store, strike.fault}], &sums[round.store]}) {
                ++line->strikes;
                line->operations += strike.operations;
                line->unknown += strike.unknown;
                line->violations += strike.violations;
                line->gap = std::max(line->gap, strike.longest_gap);
            }
        }
    }
    const auto print = [](const std::string& store, const std::string& fault, const Line& line) {
        return fmt::format("| {} | {} | {} | {} | {} | {} | {:.1f} s |\n", store, fault,
                           line.strikes, line.operations, line.unknown, line.violations,
                           seconds(line.gap));
    };
    std::string text =
        "| store | fault | faults | operations | unknown | violations | longest gap |\n"
        "|---|---|---:|---:|---:|---:|---:|\n";
    for (const auto& [name, line] : lines) text += print(name.first, name.second, line);
    for (const auto& [store, line] : sums) text += print(store, "**all**", line);
    return text;
}

std::string some_of(const std::vector<std::string>& violations) {
    // "fault: rule: details". The fault and the rule are the kind.
    const auto kind_of = [](const std::string& violation) {
        const std::size_t rule = violation.find(": ");
        return violation.substr(0, violation.find(": ", rule == std::string::npos ? 0 : rule + 2));
    };
    std::map<std::string, std::vector<const std::string*>> kinds;
    for (const std::string& violation : violations) kinds[kind_of(violation)].push_back(&violation);
    std::string text;
    for (const auto& [kind, all] : kinds) {
        text += fmt::format("{} times {}; the first:\n{:.3000}\n", all.size(), kind, *all.front());
    }
    return text;
}

std::string plot(const Round& round) {
    const auto grants = throughput(round);
    const double all = seconds(round.ended - round.began);
    const double most =
        static_cast<double>(std::max<std::size_t>(1, *std::ranges::max_element(grants))) /
        seconds(step);
    const auto x = [&](lab::Instant time) {
        return frame.left +
               seconds(time - round.began) / all * (frame.width - frame.left - frame.right);
    };
    const auto y = [&](double a_second) {
        return frame.height - frame.bottom -
               a_second / most * (frame.height - frame.top - frame.bottom);
    };
    std::string svg = fmt::format(
        R"svg(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" font-family="sans-serif" font-size="11">
<rect width="{0}" height="{1}" fill="white"/>
<text x="{2}" y="16" font-size="14">{3}, seed {4}: grants a second under {5} faults, {6} violations</text>
)svg",
        frame.width, frame.height, frame.left, round.store, round.seed, round.strikes.size(),
        round.violations.size());
    for (const Strike& strike : round.strikes) {
        const double from = x(strike.began);
        svg += fmt::format(
            R"svg(<rect x="{0:.1f}" y="{1}" width="{2:.1f}" height="{3}" fill="#d33" fill-opacity="0.2"/>
<text transform="translate({4:.1f},{5}) rotate(-35)">{6}</text>
)svg",
            from, frame.top, std::max(1.5, x(strike.ended) - from),
            frame.height - frame.top - frame.bottom, from + 3, frame.top - 4, strike.fault);
    }
    svg += R"svg(<polyline fill="none" stroke="#146" points=")svg";
    for (std::size_t i = 0; i < grants.size(); ++i) {
        const auto time = round.began + step * static_cast<int>(i) + step / 2;
        svg += fmt::format("{:.1f},{:.1f} ", x(time),
                           y(static_cast<double>(grants[i]) / seconds(step)));
    }
    svg += "\"/>\n";
    for (const double part : {0.0, 0.5, 1.0}) {
        svg += fmt::format(R"svg(<text x="{}" y="{:.1f}" text-anchor="end">{:.0f}</text>)svg"
                           "\n",
                           frame.left - 6, y(part * most) + 4, part * most);
    }
    for (double at = 0; at <= all; at += std::max(1.0, std::floor(all / 10))) {
        svg += fmt::format(R"svg(<text x="{:.1f}" y="{}" text-anchor="middle">{:.0f} s</text>)svg"
                           "\n",
                           frame.left + at / all * (frame.width - frame.left - frame.right),
                           frame.height - 10, at);
    }
    return svg + "</svg>\n";
}

}  // namespace leasehold::faults
