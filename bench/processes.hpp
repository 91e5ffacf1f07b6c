#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>

namespace leasehold::bench {

// What a process has used of the processors, in seconds.
[[nodiscard]] double processor_time_of(pid_t process);
// Adds every process that it has started, running or ended.
[[nodiscard]] double processor_time_of_family(pid_t process);

[[nodiscard]] std::size_t resident_bytes_of(pid_t process);

// What the files of a folder take on the disk.
[[nodiscard]] std::size_t bytes_below(const std::filesystem::path& folder);

}  // namespace leasehold::bench
