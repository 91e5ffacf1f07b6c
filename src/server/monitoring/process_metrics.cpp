#include "server/monitoring/process_metrics.hpp"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "server/monitoring/families.hpp"

namespace leasehold::server {
namespace {

const std::chrono::system_clock::time_point started = std::chrono::system_clock::now();

double seconds(const timeval& time) {
    constexpr double microseconds = 1e6;
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / microseconds;
}

double cpu_seconds() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double most_files() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return static_cast<double>(limit.rlim_cur);
}

}  // namespace

double CountedEntries::at(Clock::time_point now) {
    const std::lock_guard lock{mutex_};
    if (next_ && now < *next_) return count_;
    std::error_code error;
    const std::filesystem::directory_iterator entries{folder_, error};
    count_ = static_cast<double>(std::distance(begin(entries), end(entries)));
    next_ = now + kept_for;
    return count_;
}

void add_process_metrics(Families& to) {
    static CountedEntries files{"/proc/self/fd"};
    static CountedEntries threads{"/proc/self/task"};
    const auto now = CountedEntries::Clock::now();
    double virtual_pages = 0;
    double resident_pages = 0;
    std::ifstream{"/proc/self/statm"} >> virtual_pages >> resident_pages;
    const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
    const std::chrono::duration<double> start = started.time_since_epoch();

    to.gauge("process_start_time_seconds", "When the process started, since 1970.")
        .with(start.count());
    to.counter("process_cpu_seconds_total", "CPU time used, user and system.").with(cpu_seconds());
    to.gauge("process_resident_memory_bytes", "Memory in use.").with(resident_pages * page);
    to.gauge("process_virtual_memory_bytes", "Address space in use.").with(virtual_pages * page);
    to.gauge("process_open_fds", "File descriptors open: a connection takes one.")
        .with(files.at(now));
    to.gauge("process_max_fds", "File descriptors that may be open.").with(most_files());
    to.gauge("process_threads", "Threads.").with(threads.at(now));
}

}  // namespace leasehold::server
