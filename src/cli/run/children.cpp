#include "cli/run/children.hpp"

#include <sys/types.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace leasehold::cli {

void kill_children() {
    // The kernel lists children by the thread that started or adopted them.
    std::error_code error;
    for (const auto& thread : std::filesystem::directory_iterator{"/proc/self/task", error}) {
        std::ifstream children{thread.path() / "children"};
        for (pid_t child = 0; children >> child;) ::kill(child, SIGKILL);
    }
}

}  // namespace leasehold::cli
