#include "server/http/documentation.hpp"

#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "server/http/assets.hpp"
#include "server/http/problem.hpp"

namespace leasehold::server {
namespace {

namespace fs = std::filesystem;

// The site brings its own scripts and style sheets, sets styles by script, and has small pictures
// in its style sheets.
constexpr std::string_view documentation_policy =
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "worker-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

std::string_view documentation_type(const fs::path& name) {
    constexpr auto types = std::to_array<std::pair<std::string_view, std::string_view>>({
        {".html", "text/html; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".json", "application/json"},
        {".svg", "image/svg+xml"},
        {".png", "image/png"},
    });
    const std::string suffix = name.extension().string();
    for (const auto& [known, type] : types) {
        if (suffix == known) return type;
    }
    return "application/octet-stream";
}

// The checksum and the size of what is compressed, with which every gzip file ends. Nothing if the
// text is too short for such a file.
std::optional<std::string> fingerprint_of(std::string_view gzip) {
    constexpr std::size_t shortest = 18;
    if (gzip.size() < shortest) return std::nullopt;
    std::string hex;
    for (const char byte : gzip.substr(gzip.size() - 8)) {
        constexpr std::string_view digits = "0123456789abcdef";
        const auto value = static_cast<unsigned char>(byte);
        hex += digits[value >> 4];
        hex += digits[value & 15];
    }
    return hex;
}

std::optional<std::string> content_of(const fs::path& path) {
    std::ifstream file{path, std::ios::binary};
    std::string content{std::istreambuf_iterator<char>{file}, {}};
    if (!file.is_open() || file.bad()) return std::nullopt;
    return content;
}

}  // namespace

Documentation::Documentation(const fs::path& folder) {
    std::error_code none;
    fs::recursive_directory_iterator at{folder, fs::directory_options::skip_permission_denied,
                                        none};
    for (; !none && at != fs::recursive_directory_iterator{}; at.increment(none)) {
        std::error_code unknown;
        if (at->path().extension() != ".gz" || !at->is_regular_file(unknown)) continue;
        auto content = content_of(at->path());
        const auto fingerprint = content.and_then(fingerprint_of);
        if (!fingerprint) continue;
        const fs::path name = at->path().lexically_relative(folder).replace_extension();
        files_.emplace(name.string(), File{documentation_type(name), '"' + *fingerprint + '"',
                                           *std::move(content)});
    }
}

Reply Documentation::reply(std::string_view path, const HttpRequest& request) const {
    const bool is_folder = path.empty() || path.ends_with('/');
    const auto file = files_.find(std::string{path} + (is_folder ? "index.html" : ""));
    if (file == files_.end()) throw Refused{not_found()};
    const auto& [content_type, etag, gzip] = file->second;
    return file_reply({etag, gzip}, Encoding::gzip, content_type, documentation_policy, request);
}

}  // namespace leasehold::server
