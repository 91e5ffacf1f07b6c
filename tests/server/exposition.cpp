#include "server/exposition.hpp"

#include <cmath>
#include <limits>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace leasehold::testing {
namespace {

[[noreturn]] void complain(const std::string& what, std::string_view where) {
    throw std::runtime_error{what + ": " + std::string{where}};
}

void require(bool fine, const std::string& what, std::string_view where) {
    if (!fine) complain(what, where);
}

double number(const std::string& text) {
    if (text == "+Inf") return std::numeric_limits<double>::infinity();
    std::size_t end = 0;
    const double value = std::stod(text, &end);
    require(end == text.size(), "not a number", text);
    return value;
}

Labels read_labels(std::string text) {
    static const std::regex label{R"re(([a-z_][a-z0-9_]*)="((?:[^"\\]|\\["\\n])*)"(,|$))re"};
    Labels labels;
    for (std::smatch found; !text.empty(); text = found.suffix()) {
        require(std::regex_search(text, found, label, std::regex_constants::match_continuous) &&
                    !(found[3] == "," && found.suffix().length() == 0),
                "not a list of labels", text);
        require(labels.emplace(found[1], found[2]).second, "a label twice", text);
    }
    return labels;
}

bool has_all(const Labels& all, const Labels& wanted) {
    for (const auto& [name, value] : wanted) {
        const auto found = all.find(name);
        if (found == all.end() || found->second != value) return false;
    }
    return true;
}

// The buckets of one series grow and end with +Inf, which is the count.
void check_histogram(const std::string& name, const Labels& labels, const auto& samples) {
    double below = -1;
    double before = 0;
    double last_bound = -std::numeric_limits<double>::infinity();
    double count = -1;
    bool has_sum = false;
    for (const auto& sample : samples) {
        Labels others = sample.labels;
        others.erase("le");
        if (others != labels) continue;
        if (sample.name == name + "_bucket") {
            const double bound = number(sample.labels.at("le"));
            require(bound > last_bound && sample.value >= before, "buckets out of order", name);
            last_bound = bound;
            below = before = sample.value;
        } else if (sample.name == name + "_count") {
            count = sample.value;
        } else if (sample.name == name + "_sum") {
            has_sum = true;
        }
    }
    require(has_sum && std::isinf(last_bound) && below == count, "not a whole histogram", name);
}

}  // namespace

Exposition::Exposition(std::string_view text) {
    require(text.ends_with('\n'), "the last line does not end", "");
    static const std::regex help{"# HELP ([a-z_][a-z0-9_]*) (.+)"};
    static const std::regex type{"# TYPE ([a-z_][a-z0-9_]*) (counter|gauge|histogram)"};
    std::istringstream lines{std::string{text}};
    for (std::string line; std::getline(lines, line);) {
        std::smatch found;
        if (std::regex_match(line, found, help)) {
            begin_family(found[1]);
        } else if (std::regex_match(line, found, type)) {
            require(!families_.empty() && families_.back().name == found[1] &&
                        families_.back().samples.empty() && families_.back().type.empty(),
                    "a type at the wrong place", line);
            families_.back().type = found[2];
        } else {
            add_sample(line);
        }
    }
    for (const Family& family : families_) check(family);
}

void Exposition::begin_family(const std::string& name) {
    for (const Family& family : families_) require(family.name != name, "twice", name);
    families_.push_back({.name = name, .type = {}, .samples = {}});
}

void Exposition::add_sample(std::string_view line) {
    static const std::regex sample{R"re(([a-z_][a-z0-9_]*)(?:\{(.+)\})? (\S+))re"};
    const std::string text{line};
    std::smatch found;
    require(std::regex_match(text, found, sample), "not a sample", line);
    require(!families_.empty() && !families_.back().type.empty(), "no type before", line);
    Family& family = families_.back();
    Sample read{.name = found[1], .labels = read_labels(found[2]), .value = number(found[3])};
    for (const Sample& other : family.samples) {
        require(other.name != read.name || other.labels != read.labels, "a series twice", line);
    }
    for (const auto& [name, value] : read.labels) labels_[name].insert(value);
    family.samples.push_back(std::move(read));
}

void Exposition::check(const Family& family) const {
    const std::string& name = family.name;
    const bool counter = family.type == "counter";
    require(name.ends_with("_total") == counter, "only counters, and all of them, end in _total",
            name);
    for (const char* suffix :
         {"_count", "_sum", "_bucket", "_milliseconds", "_ms", "_info_total"}) {
        require(!name.ends_with(suffix), "an ending that means something else", name);
    }
    for (const Sample& sample : family.samples) {
        if (family.type == "histogram") {
            Labels labels = sample.labels;
            labels.erase("le");
            check_histogram(name, labels, family.samples);
        } else {
            require(sample.name == name, "another name within a family", sample.name);
            require(!counter || sample.value >= 0, "a counter below zero", name);
        }
    }
}

double Exposition::sum(const std::string& name, const Labels& labels) const {
    double total = 0;
    bool any = false;
    for (const Family& family : families_) {
        for (const Sample& sample : family.samples) {
            if (sample.name != name || !has_all(sample.labels, labels)) continue;
            total += sample.value;
            any = true;
        }
    }
    require(any, "no such sample", name);
    return total;
}

std::set<std::string> Exposition::names() const {
    std::set<std::string> all;
    for (const Family& family : families_) {
        for (const Sample& sample : family.samples) all.insert(sample.name);
    }
    return all;
}

}  // namespace leasehold::testing
