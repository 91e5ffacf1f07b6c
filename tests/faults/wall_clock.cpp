#include "faults/wall_clock.hpp"

#include <fstream>
#include <stdexcept>

namespace leasehold::faults {

std::string WallClock::library() {
    for (const auto& entry : std::filesystem::directory_iterator{"/usr/lib"}) {
        const auto library = entry.path() / "faketime" / "libfaketimeMT.so.1";
        if (std::filesystem::exists(library)) return library;
    }
    throw std::runtime_error{"no libfaketimeMT.so.1: install the Debian package faketime"};
}

std::vector<std::string> WallClock::environment() const {
    return {"LD_PRELOAD=" + library(), "FAKETIME_TIMESTAMP_FILE=" + file_.string(),
            "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"};
}

void WallClock::set(std::chrono::seconds offset) {
    // It is read at any moment: nobody must ever see half of it.
    const auto written = folder_.path() / "new";
    std::ofstream{written} << (offset < std::chrono::seconds{0} ? "" : "+") << offset.count()
                           << '\n';
    std::filesystem::permissions(written, std::filesystem::perms{0644});
    std::filesystem::rename(written, file_);
}

}  // namespace leasehold::faults
