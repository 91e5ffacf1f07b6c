#include "processes.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace leasehold::bench {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
    std::ifstream file{path};
    return {std::istreambuf_iterator<char>{file}, {}};
}

struct Stat {
    pid_t parent = 0;
    double own = 0;       // seconds
    double of_ended = 0;  // of the children that have ended, in seconds
};

// All zero if there is no such process.
Stat stat_of(pid_t process) {
    const std::string text = content_of("/proc/" + std::to_string(process) + "/stat");
    // Behind the name, which may have spaces: the state is the third field, the parent the fourth,
    // and the four times begin with the 14th.
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) return {};
    std::istringstream fields{text.substr(name_end + 1)};
    std::string skipped;
    Stat stat;
    fields >> skipped >> stat.parent;
    for (int field = 5; field < 14; ++field) fields >> skipped;
    double user = 0, system = 0, user_of_ended = 0, system_of_ended = 0;
    fields >> user >> system >> user_of_ended >> system_of_ended;
    const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    stat.own = (user + system) / ticks;
    stat.of_ended = (user_of_ended + system_of_ended) / ticks;
    return stat;
}

}  // namespace

double processor_time_of(pid_t process) {
    return stat_of(process).own;
}

double processor_time_of_family(pid_t process) {
    std::unordered_map<pid_t, std::vector<pid_t>> children;
    for (const auto& entry : fs::directory_iterator{"/proc"}) {
        const std::string name = entry.path().filename();
        pid_t number = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
        if (error != std::errc{} || end != name.data() + name.size()) continue;
        children[stat_of(number).parent].push_back(number);
    }
    double sum = 0;
    for (std::vector<pid_t> family{process}; !family.empty();) {
        const pid_t member = family.back();
        family.pop_back();
        const Stat stat = stat_of(member);
        sum += stat.own + stat.of_ended;
        family.insert(family.end(), children[member].begin(), children[member].end());
    }
    return sum;
}

std::size_t resident_bytes_of(pid_t process) {
    std::istringstream fields{content_of("/proc/" + std::to_string(process) + "/statm")};
    std::size_t all = 0;
    std::size_t resident = 0;
    fields >> all >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t bytes_below(const fs::path& folder) {
    std::size_t bytes = 0;
    std::error_code ignored;  // a file may go while we look
    for (fs::recursive_directory_iterator entry{folder, ignored}, end; entry != end;
         entry.increment(ignored)) {
        struct stat status{};
        constexpr std::size_t block = 512;
        if (::lstat(entry->path().c_str(), &status) == 0) {
            bytes += static_cast<std::size_t>(status.st_blocks) * block;
        }
    }
    return bytes;
}

}  // namespace leasehold::bench
