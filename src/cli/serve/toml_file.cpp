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

std::string toml_content(const std::string& what, const std::string& path) {
    auto text = read_regular_file(path, most_toml_bytes);
    if (!text) throw BadRequest{what + " '" + path + "' cannot be read: " + text.error()};
    return *std::move(text);
}

toml::table parse_toml(const std::string& path, std::string_view text) {
    try {
        return toml::parse(text, path);
    } catch (const toml::parse_error& error) {
        throw BadRequest{place(path, error.source()) +
                         ": this is not TOML: " + std::string{error.description()}};
    }
}

std::string toml_text(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string result = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            result.append(1, '\\').append(1, c);
        } else if (byte < 0x20 || byte == 0x7f) {
            result.append("\\u00").append({digits[byte >> 4U], digits[byte & 15U]});
        } else {
            result += c;
        }
    }
    return result += '"';
}

}  // namespace leasehold::cli
