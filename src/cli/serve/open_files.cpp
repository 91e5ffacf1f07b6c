#include "cli/serve/open_files.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

namespace leasehold::cli {
namespace {

// The store's connections, log, sockets to listen on, timers.
constexpr std::size_t for_the_server = 64;

}  // namespace

std::size_t open_files_allowed() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max == RLIM_INFINITY) {
        return std::numeric_limits<std::size_t>::max();
    }
    return limit.rlim_max;
}

std::size_t connections_for(std::size_t files) {
    return std::max(files, for_the_server + 1) - for_the_server;
}

void raise_file_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace leasehold::cli
