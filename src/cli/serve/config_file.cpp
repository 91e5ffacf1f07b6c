#include <leasehold/errors.hpp>

#include <algorithm>

#include "cli/serve/config.hpp"
#include "cli/serve/toml_file.hpp"
#include "cli/suggestion.hpp"

namespace leasehold::cli {
namespace {

const Setting* find(std::string_view name) {
    const auto found = std::ranges::find(settings(), name, &Setting::name);
    return found != settings().end() ? &*found : nullptr;
}

std::string advice_for(std::string_view name) {
    std::vector<std::string> names;
    for (const Setting& setting : settings()) names.emplace_back(setting.name);
    const std::string advice = suggestion(name, names);
    return advice.empty() ? "; `leasehold serve --print-config` shows them all" : advice;
}

// The list as an option takes it, separated by commas. Nothing if it holds more than texts.
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
    return settings_in(path, toml_content("the configuration file", path));
}

std::vector<Given> settings_in(const std::string& path, std::string_view text) {
    std::vector<Given> all;
    const toml::table table = parse_toml(path, text);
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
