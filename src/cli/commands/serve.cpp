#include "cli/serve/serve.hpp"

#include <sstream>

#include "cli/output.hpp"
#include "cli/subcommand.hpp"

namespace leasehold::cli {
namespace {

struct ServeOptions {
    CommandLine line;
    bool print_config = false;
    bool banner = false;
};

}  // namespace

void add_serve(CLI::App& app, Invocation& call) {
    const auto options = std::make_shared<ServeOptions>();
    Subcommand command{
        app, "serve", "Serve a store over HTTP",
        "  leasehold serve\n"
        "  leasehold serve --store postgres://app@db/shop --port 7471\n"
        "  leasehold serve --config /etc/leasehold/leasehold.toml\n"
        "  leasehold serve --print-config > leasehold.toml\n"
        "\n"
        "Every setting is an option (--default-ttl), an environment variable\n"
        "(LEASEHOLD_DEFAULT_TTL) and a line of the file (default_ttl = \"5m\"). The option\n"
        "overrides the variable, and the variable overrides the file.\n"
        "\n"
        "SIGTERM and SIGINT stop the server after it has answered the requests under way;\n"
        "a second signal stops it at once. SIGHUP makes it read log level, tokens and\n"
        "certificate again.\n"
        "\n"
        "Exit codes: 0 stopped, 2 wrong usage or configuration, 3 the store cannot be\n"
        "opened or the address is in use, 128 + N stopped at once by signal N."};
    command
        .text("--config", "FILE", options->line.config_file,
              "a TOML file with settings; else LEASEHOLD_CONFIG")
        .flag("--print-config", options->print_config,
              "print such a file with every setting, its value and where the value comes from")
        .flag("--banner", options->banner,
              "print the address and examples to try when the server is ready");
    for (const Setting& setting : settings()) {
        const std::string help = std::string{setting.help} + " (" + setting.show({}) + ")";
        command.text(setting.option().c_str(), std::string{setting.kind}.c_str(), help.c_str(),
                     [options, name = std::string{setting.name}](const std::string& text) {
                         options->line.options[name] = text;
                     });
        if (setting.is_list()) command.repeatable(setting.option().c_str());
        command.group(setting.option().c_str(), std::string{setting.group});
    }
    command.does(call, [&call, options] {
        // `leasehold --store URL serve`
        if (!call.store.empty()) options->line.options.try_emplace("store", call.store);
        if (options->print_config) {
            std::ostringstream text;
            EffectiveConfig{options->line}.print(text);
            print_as_is(text.view());
            return static_cast<int>(done);
        }
        return serve(options->line, options->banner ? Greeting::banner : Greeting::none);
    });
}

}  // namespace leasehold::cli
