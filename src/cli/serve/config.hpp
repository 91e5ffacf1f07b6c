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

#include "server/access/jwt.hpp"
#include "server/monitoring/log.hpp"
#include "server/server.hpp"

// The settings of `leasehold serve`, and where their values come from.
namespace leasehold::cli {

struct Config {
    std::string store = "sqlite:leasehold.db";
    server::ServerOptions server{.threads = 2};
    Limits limits{};
    server::LogLevel log_level = server::LogLevel::info;
    server::LogFormat log_format = server::LogFormat::automatic;
    // Paths of files. Empty: none is given.
    std::string tokens{};
    std::size_t token_rate = 0;                // requests a second
    std::size_t handshakes_per_address = 100;  // a second
    std::string tls_certificate{};
    std::string tls_key{};
    std::string tls_client_ca{};
    std::string jwt_keys{};
    server::JwtRules jwt{};
    std::string audit{};
    bool dumpable = false;

    // Whether clients must show who they are.
    [[nodiscard]] bool wants_tokens() const { return !tokens.empty() || !jwt_keys.empty(); }
};

// How a value is written in a file.
enum class Form : std::uint8_t { text, integer, boolean, other };

// One setting. It has the same name in a file, as an option and as an environment variable.
struct Setting {
    std::string_view name;   // default_ttl
    std::string_view group;  // its heading
    std::string_view kind;   // of its value, in the help: DURATION, or true|false
    std::string_view help;
    Form form;
    // Refuses a bad value with a text that says which values are right.
    std::function<std::expected<void, std::string>(Config&, const std::string&)> read;
    std::function<std::string(const Config&)> show;

    // Whether it is a list with commas; its option may be given several times.
    [[nodiscard]] bool is_list() const { return kind.ends_with(",..."); }
    [[nodiscard]] std::string option() const;    // --default-ttl
    [[nodiscard]] std::string variable() const;  // LEASEHOLD_DEFAULT_TTL
};

// Every setting, group by group.
[[nodiscard]] const std::vector<Setting>& settings();

// A value that somebody gave to a setting.
struct Given {
    std::string name;
    std::string text;
    Form form = Form::text;
    std::string origin;  // "--port", "LEASEHOLD_PORT", "leasehold.toml:3"
};

// Reads a TOML file. Throws BadRequest, with file and line, for bad TOML and for an unknown
// setting.
[[nodiscard]] std::vector<Given> read_config_file(const std::string& path);
// The same with the file's content.
[[nodiscard]] std::vector<Given> settings_in(const std::string& path, std::string_view text);

// What the command line says: the texts of options, by the names of the settings.
struct CommandLine {
    std::string config_file{};
    std::map<std::string, std::string, std::less<>> options{};
};

class EffectiveConfig {
public:
    // The command line overrides the environment, which overrides the file. Throws BadRequest for a
    // bad value, even an overridden one; the text says where the value is and what would be right.
    explicit EffectiveConfig(const CommandLine& line);

    [[nodiscard]] const Config& values() const { return values_; }
    // Where the setting's value comes from: "default", or Given::origin.
    [[nodiscard]] const std::string& origin(std::string_view name) const;

    // The path of the configuration file. Empty if none was read.
    [[nodiscard]] const std::string& file() const { return file_; }

    // Prints all settings as a configuration file.
    void print(std::ostream& out) const;

private:
    void take(const Given& given);
    // Lowers the default of `connections` to what the limit of open files allows.
    void fit_to_open_files();
    void check_together() const;

    Config values_;
    std::string file_;
    std::map<std::string, std::string, std::less<>> origins_;
};

}  // namespace leasehold::cli
