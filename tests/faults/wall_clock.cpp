#include "faults/wall_clock.hpp"

#include <cstdint>
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
    return {"LD_PRELOAD=" LEASEHOLD_WALL_CLOCK_LIBRARY, "LEASEHOLD_WALL_CLOCK=" + file_.string()};
}

void WallClock::set(std::chrono::seconds offset) {
    const std::int64_t seconds = offset.count();
    // Writes in place, because programs have mapped the file into memory.
    const bool is_new = !std::filesystem::exists(file_);
    std::fstream file{file_, is_new ? std::ios::out | std::ios::binary
                                    : std::ios::in | std::ios::out | std::ios::binary};
    file.write(reinterpret_cast<const char*>(&seconds), sizeof seconds).flush();
    if (!file) throw std::runtime_error{"cannot write " + file_.string()};
    std::filesystem::permissions(file_, std::filesystem::perms{0644});
}

}  // namespace leasehold::faults
