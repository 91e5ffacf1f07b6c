#include "cli/serve/config.hpp"

#include <leasehold/errors.hpp>

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <ostream>

#include "cli/serve/open_files.hpp"
#include "cli/serve/toml_file.hpp"
#include "cli/subcommand.hpp"
#include "server/http/site.hpp"
#include "store_url.hpp"

namespace leasehold::cli {
namespace {

std::string variable(const std::string& name) {
    const char* const value = std::getenv(name.c_str());
    return value != nullptr ? value : "";
}

const Setting& setting_named(std::string_view name) {
    return *std::ranges::find(settings(), name, &Setting::name);
}

std::string_view form_of(const Setting& setting) {
    switch (setting.form) {
        case Form::integer: return "a number without quotes";
        case Form::boolean: return "true or false without quotes";
        default: return "a text in quotes";
    }
}

// A setting that takes a number may take the word "auto" instead, which is a text in a file.
bool is_auto(const Setting& setting, std::string_view text) {
    return setting.kind.ends_with("|auto") && text == "auto";
}

std::string in_a_file(const Setting& setting, const std::string& text) {
    return setting.form == Form::text || is_auto(setting, text) ? toml_text(text) : text;
}

}  // namespace

EffectiveConfig::EffectiveConfig(const CommandLine& line) {
    for (const Setting& setting : settings()) origins_.emplace(setting.name, "default");
    file_ = line.config_file.empty() ? variable("LEASEHOLD_CONFIG") : line.config_file;
    if (!file_.empty()) {
        for (const Given& given : read_config_file(file_)) take(given);
    }
    for (const Setting& setting : settings()) {
        const std::string name = setting.variable();
        const std::string text = variable(name);
        if (text.empty()) continue;
        take({.name = std::string{setting.name},
              .text = text,
              .form = setting.form,
              .origin = name});
    }
    for (const auto& [name, text] : line.options) {
        const Setting& setting = setting_named(name);
        take({.name = name, .text = text, .form = setting.form, .origin = setting.option()});
    }
    fit_to_open_files();
    check_together();
}

void EffectiveConfig::fit_to_open_files() {
    std::string& origin = origins_["connections"];
    const std::size_t files = open_files_allowed();
    if (origin != "default" || values_.server.connections <= connections_for(files)) return;
    values_.server.connections = connections_for(files);
    origin = "default, for at most " + std::to_string(files) + " open files";
}

void EffectiveConfig::take(const Given& given) {
    const Setting& setting = setting_named(given.name);
    if (given.form != setting.form && !is_auto(setting, given.text)) {
        throw BadRequest{given.origin + ": " + given.name + " takes " +
                         std::string{form_of(setting)} + ", as in " +
                         in_a_file(setting, setting.show({}))};
    }
    const auto read = setting.read(values_, given.text);
    if (!read) {
        // A store's URL may hold a password.
        const std::string value = given.name == "store" ? "that" : "'" + given.text + "'";
        throw BadRequest{given.origin + ": " + given.name + " cannot be " + value + "; it takes " +
                         read.error()};
    }
    origins_[given.name] = given.origin;
}

void EffectiveConfig::check_together() const {
    const auto ordered = [&](std::string_view less, std::string_view more, bool fine) {
        if (fine) return;
        const auto described = [&](std::string_view name) {
            return std::string{name} + " (" + setting_named(name).show(values_) + ", " +
                   origin(name) + ")";
        };
        throw BadRequest{described(less) + " must not be above " + described(more)};
    };
    const Limits& limits = values_.limits;
    ordered("min_ttl", "max_ttl", limits.min_ttl <= limits.max_ttl);
    ordered("min_ttl", "default_ttl", limits.min_ttl <= limits.default_ttl);
    ordered("default_ttl", "max_ttl", limits.default_ttl <= limits.max_ttl);
    ordered("min_ttl", "max_hold", limits.min_ttl <= limits.max_hold.value_or(limits.min_ttl));
    if (!values_.wants_tokens() && !server::is_loopback(values_.server.address)) {
        throw BadRequest{origin("address") +
                         ": without tokens, address takes a loopback address, "
                         "127.0.0.1 or ::1: everybody who reaches the server could do everything. "
                         "Make a file for the setting 'tokens' with `leasehold token`"};
    }
    if (values_.tls_certificate.empty() != values_.tls_key.empty()) {
        throw BadRequest{"tls_certificate and tls_key go together: give both or none"};
    }
    if (!values_.tls_client_ca.empty() && values_.tls_certificate.empty()) {
        throw BadRequest{"tls_client_ca needs TLS: give tls_certificate and tls_key too"};
    }
    if (!values_.tls_client_ca.empty() && values_.tokens.empty()) {
        throw BadRequest{
            "tls_client_ca needs tokens: an entry of that file says what the clients with a "
            "certificate may do"};
    }
    const bool has_rules = !values_.jwt.issuer.empty() && !values_.jwt.audience.empty();
    if (!values_.jwt_keys.empty() && !has_rules) {
        throw BadRequest{
            "jwt_keys needs jwt_issuer and jwt_audience: whose JWTs are accepted, and "
            "which of them are for this server"};
    }
}

const std::string& EffectiveConfig::origin(std::string_view name) const {
    return origins_.find(name)->second;
}

void EffectiveConfig::print(std::ostream& out) const {
    constexpr int values_width = 44;
    out << "# leasehold " << version()
        << " serve: every setting, and where its value comes from.\n";
    std::string_view group;
    for (const Setting& setting : settings()) {
        if (setting.group != group) out << "\n# " << (group = setting.group) << ".\n";
        const std::string shown = setting.show(values_);
        const std::string value = setting.name == "store" ? without_secrets(shown) : shown;
        const std::string line = std::string{setting.name} + " = " + in_a_file(setting, value);
        out << std::left << std::setw(values_width) << line << " # " << origin(setting.name)
            << '\n';
    }
}

}  // namespace leasehold::cli
