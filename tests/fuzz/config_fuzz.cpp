// The configuration file: a value that is read is shown as a text that is read as the same value,
// and no error contains the password of the store's URL.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include <leasehold/errors.hpp>

#include "cli/serve/config.hpp"

namespace leasehold::cli {
namespace {

void require(bool holds, std::string_view what, std::string_view text) {
    if (holds) return;
    std::cerr << what << ": " << text << '\n';
    std::abort();
}

void run(std::string_view text) {
    std::vector<Given> all;
    try {
        all = settings_in("leasehold.toml", text);
    } catch (const BadRequest& bad) {
        require(std::string_view{bad.what()}.starts_with("leasehold.toml"), "no place", bad.what());
        return;
    }
    for (const Given& given : all) {
        const Setting& setting = *std::ranges::find(settings(), given.name, &Setting::name);
        if (given.form != setting.form) continue;
        Config config;
        const auto read = setting.read(config, given.text);
        if (!read) {
            const bool quotes = given.name == "store" && given.text.contains('@') &&
                                read.error().contains(given.text);
            require(!quotes, "the URL is repeated", read.error());
            continue;
        }
        const std::string shown = setting.show(config);
        Config again;
        require(setting.read(again, shown).has_value(), "what is shown is refused", shown);
        require(setting.show(again) == shown, "what is shown is read as another value", shown);
    }
}

}  // namespace
}  // namespace leasehold::cli

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    leasehold::cli::run({reinterpret_cast<const char*>(data), size});
    return 0;
}
