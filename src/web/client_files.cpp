#include <leasehold/web/client_files.hpp>

#include <algorithm>

#include "web/embedded_files.hpp"

namespace leasehold::web {

std::optional<Response> client_file(std::string_view path) {
    const auto found = std::ranges::find(embedded_files, path, &EmbeddedFile::path);
    if (found == embedded_files.end()) return std::nullopt;
    Response response{.content_type = std::string{found->content_type},
                      .body = std::string{found->body}};
    // The files change with the library: browsers ask whether theirs is current.
    response.headers.emplace_back("Cache-Control", "no-cache");
    return response;
}

}  // namespace leasehold::web
