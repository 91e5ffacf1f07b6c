#include "cli/serve/toml_file.hpp"

#include <leasehold/errors.hpp>

#include "core/secret_file.hpp"

namespace leasehold::cli {
namespace {

constexpr std::size_t most_toml_bytes = 16 << 20;

}  // namespace

std::string place(const std::string& path, const toml::source_region& region) {
    return path + ':' + std::to_string(region.begin.line);
}

toml::table read_toml(const std::string& what, const std::string& path) {
    const auto text = read_regular_file(path, most_toml_bytes);
    if (!text) throw BadRequest{what + " '" + path + "' cannot be read: " + text.error()};
    try {
        return toml::parse(*text, path);
    } catch (const toml::parse_error& error) {
        throw BadRequest{place(path, error.source()) +
                         ": this is not TOML: " + std::string{error.description()}};
    }
}

}  // namespace leasehold::cli
