#include <leasehold/errors.hpp>

#include <algorithm>
#include <numeric>

#include "cli/serve/config.hpp"
#include "cli/serve/toml_file.hpp"

namespace leasehold::cli {
namespace {

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

const Setting* find(std::string_view name) {
    const auto found = std::ranges::find(settings(), name, &Setting::name);
    return found != settings().end() ? &*found : nullptr;
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

// A list of texts, as an option has it; nothing where it is another list.
std::optional<std::string> listed(const toml::array& list) {
    std::string all;
    for (const toml::node& one : list) {
        if (!one.is_string()) return std::nullopt;
        all.append(all.empty() ? "" : ",").append(one.as_string()->get());
    }
    return all.empty() ? "none" : all;
}

Given given(const Setting& setting, const toml::node& node, std::string origin) {
    Given result{.name = std::string{setting.name},
                 .text = {},
                 .form = Form::other,
                 .origin = std::move(origin)};
    if (setting.is_list() && node.is_array()) {
        if (auto list = listed(*node.as_array())) {
            result.form = Form::text;
            result.text = *std::move(list);
        }
    } else if (const auto* text = node.as_string()) {
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

}  // namespace

std::vector<Given> read_config_file(const std::string& path) {
    std::vector<Given> all;
    const toml::table table = read_toml("the configuration file", path);
    for (const auto& [key, node] : table) {
        const std::string name{key.str()};
        const Setting* const setting = find(name);
        if (setting == nullptr) {
            throw BadRequest{place(path, key.source()) + ": there is no setting '" + name + "'" +
                             advice_for(name)};
        }
        all.push_back(given(*setting, node, place(path, node.source())));
    }
    return all;
}

}  // namespace leasehold::cli
