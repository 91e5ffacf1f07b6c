#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/limits.hpp>

#include "server/monitoring/log.hpp"
#include "server/server.hpp"

// What `leasehold serve` can be told, and where it was told so.
namespace leasehold::cli {

struct Config {
    std::string store = "sqlite:leasehold.db";
    server::ServerOptions server{.threads = 2};
    Limits limits{};
    server::LogLevel log_level = server::LogLevel::info;
    server::LogFormat log_format = server::LogFormat::automatic;
    // Files, where there are any.
    std::string tokens{};
    std::size_t token_rate = 0;  // requests a second
    std::string tls_certificate{};
    std::string tls_key{};
};

// How a value is written in a file.
enum class Form : std::uint8_t { text, integer, boolean, other };

// One setting, by the same name everywhere: in a file, as an option, and as a variable.
struct Setting {
    std::string_view name;   // default_ttl
    std::string_view group;  // the heading it stands under
    std::string_view kind;   // of its value, in the help: DURATION
    std::string_view help;
    Form form;
    // Or what it takes instead.
    std::function<std::expected<void, std::string>(Config&, const std::string&)> read;
    std::function<std::string(const Config&)> show;

    // Of texts with commas between them; as an option it may be given again for the next.
    [[nodiscard]] bool is_list() const { return kind.ends_with(",..."); }
    [[nodiscard]] std::string option() const;    // --default-ttl
    [[nodiscard]] std::string variable() const;  // LEASEHOLD_DEFAULT_TTL
};

// Every setting, those of one group together.
[[nodiscard]] const std::vector<Setting>& settings();

// A value that somebody gave to a setting.
struct Given {
    std::string name;
    std::string text;
    Form form = Form::text;
    std::string origin;  // "--port", "LEASEHOLD_PORT", "leasehold.toml:3"
};

// In quotes, as a TOML file has it.
[[nodiscard]] std::string toml_text(std::string_view text);

// A TOML file. Throws BadRequest with file and line where it is none or names an unknown setting.
[[nodiscard]] std::vector<Given> read_config_file(const std::string& path);

// What the command line said: the texts of options by the settings' names.
struct CommandLine {
    std::string config_file{};
    std::map<std::string, std::string, std::less<>> options{};
};

class EffectiveConfig {
public:
    // The command line before the environment before the file. Throws BadRequest for a value that
    // is wrong, even where another comes before it; the text says where it stands and what would be
    // right.
    explicit EffectiveConfig(const CommandLine& line);

    [[nodiscard]] const Config& values() const { return values_; }
    // Of the setting's value: "default", or as Given has it.
    [[nodiscard]] const std::string& origin(std::string_view name) const;

    // As a file that says the same.
    void print(std::ostream& out) const;

private:
    void take(const Given& given);
    void check_together() const;

    Config values_;
    std::map<std::string, std::string, std::less<>> origins_;
};

}  // namespace leasehold::cli
