#pragma once

#include <span>
#include <string_view>

#include "server/http/message.hpp"

namespace leasehold::server {

// A file that is part of this program.
struct Asset {
    std::string_view path;  // of its URL
    std::string_view content_type;
    std::string_view etag;  // of these bytes, in its quotes
    std::string_view body;
};

// The files below web/, as the build found them. Made by cmake/EmbedFiles.cmake.
extern const std::span<const Asset> assets;

// The file that a URL of this path names, or that the client has it already; 404 where there is
// none.
[[nodiscard]] Reply asset_reply(std::string_view path, const HttpRequest& request);

}  // namespace leasehold::server
