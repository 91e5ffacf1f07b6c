#include <leasehold/errors.hpp>

#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>

#include "cli/serve/config.hpp"

namespace leasehold::cli {
namespace {

std::string place(const std::string& path, const toml::source_region& region) {
    return path + ':' + std::to_string(region.begin.line);
}

// How many letters must change to make one word of the other.
std::size_t distance(std::string_view one, std::string_view other) {
    std::vector<std::size_t> row(other.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t i = 0; i < one.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < other.size(); ++j) {
            const std::size_t replaced = diagonal + (one[i] == other[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

bool is_known(std::string_view name) {
    return std::ranges::find(settings(), name, &Setting::name) != settings().end();
}

std::string advice_for(std::string_view name) {
    const std::size_t near = name.size() / 3 + 1;
    const auto nearest = std::ranges::min_element(
        settings(), {}, [&](const Setting& setting) { return distance(name, setting.name); });
    if (distance(name, nearest->name) <= near) {
        return "; did you mean '" + std::string{nearest->name} + "'?";
    }
    return "; `leasehold serve --print-config` shows them all";
}

Given given(const std::string& name, const toml::node& node, std::string origin) {
    Given result{.name = name, .text = {}, .form = Form::other, .origin = std::move(origin)};
    if (const auto* text = node.as_string()) {
        result.form = Form::text;
        result.text = text->get();
    } else if (const auto* integer = node.as_integer()) {
        result.form = Form::integer;
        result.text = std::to_string(integer->get());
    } else if (const auto* boolean = node.as_boolean()) {
        result.form = Form::boolean;
        result.text = boolean->get() ? "true" : "false";
    }
    return result;
}

std::string content(const std::string& path) {
    std::ifstream file{path};
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) {
        throw BadRequest{"the configuration file '" + path + "' cannot be read"};
    }
    return std::move(text).str();
}

}  // namespace

std::vector<Given> read_config_file(const std::string& path) {
    std::vector<Given> all;
    try {
        const toml::table table = toml::parse(content(path), path);
        for (const auto& [key, node] : table) {
            const std::string name{key.str()};
            if (!is_known(name)) {
                throw BadRequest{place(path, key.source()) + ": there is no setting '" + name +
                                 "'" + advice_for(name)};
            }
            all.push_back(given(name, node, place(path, node.source())));
        }
    } catch (const toml::parse_error& error) {
        throw BadRequest{place(path, error.source()) +
                         ": this is no TOML: " + std::string{error.description()}};
    }
    return all;
}

}  // namespace leasehold::cli
