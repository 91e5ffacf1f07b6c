#pragma once

#include <cstddef>

// The limit of open files (ulimit -n), which bounds the connections: each takes a file descriptor.
namespace leasehold::cli {

// The most files that this process may allow itself to open.
[[nodiscard]] std::size_t open_files_allowed();

// The most connections for that number of files, besides the files that the server itself needs.
[[nodiscard]] std::size_t connections_for(std::size_t files);

// Raises this process's own limit to open_files_allowed().
void raise_file_limit();

}  // namespace leasehold::cli
