#pragma once

#include <span>
#include <string_view>

namespace leasehold::web {

// A file of web/client. cmake/LeaseholdClientFiles.cmake writes the list.
struct EmbeddedFile {
    std::string_view path;
    std::string_view content_type;
    std::string_view body;
};

extern const std::span<const EmbeddedFile> embedded_files;

}  // namespace leasehold::web
