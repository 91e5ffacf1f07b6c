#include "cli/serve/toml_file.hpp"

#include <leasehold/errors.hpp>

#include <fstream>
#include <sstream>

namespace leasehold::cli {

std::string place(const std::string& path, const toml::source_region& region) {
    return path + ':' + std::to_string(region.begin.line);
}

toml::table read_toml(const std::string& what, const std::string& path) {
    std::ostringstream text;
    std::ifstream file{path};
    // Inserting an empty file into a stream counts as a failure.
    if (file && file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
    if (!file.is_open() || file.bad() || text.bad()) {
        throw BadRequest{what + " '" + path + "' cannot be read"};
    }
    try {
        return toml::parse(text.view(), path);
    } catch (const toml::parse_error& error) {
        throw BadRequest{place(path, error.source()) +
                         ": this is not TOML: " + std::string{error.description()}};
    }
}

}  // namespace leasehold::cli
