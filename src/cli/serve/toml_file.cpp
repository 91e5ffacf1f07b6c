#include "cli/serve/toml_file.hpp"

#include <leasehold/errors.hpp>

#include <fstream>
#include <iterator>

namespace leasehold::cli {

std::string place(const std::string& path, const toml::source_region& region) {
    return path + ':' + std::to_string(region.begin.line);
}

toml::table read_toml(const std::string& what, const std::string& path) {
    std::ifstream file{path};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    if (!file.is_open() || file.bad()) throw BadRequest{what + " '" + path + "' cannot be read"};
    try {
        return toml::parse(text, path);
    } catch (const toml::parse_error& error) {
        throw BadRequest{place(path, error.source()) +
                         ": this is no TOML: " + std::string{error.description()}};
    }
}

}  // namespace leasehold::cli
