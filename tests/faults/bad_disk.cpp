#include "faults/bad_disk.hpp"

#include <fstream>
#include <stdexcept>
#include <utility>

namespace leasehold::faults {

BadDisk::BadDisk(std::filesystem::path folder, std::string preload)
    : folder_{std::filesystem::canonical(folder)}, preload_{std::move(preload)} {
    if (!(std::ofstream{wish_} << '\0')) throw std::runtime_error{"cannot write " + wish_.string()};
    std::filesystem::permissions(wish_, std::filesystem::perms{0644});
}

std::vector<std::string> BadDisk::environment() const {
    return {"LD_PRELOAD=" + preload_, "LEASEHOLD_BAD_DISK=" + wish_.string(),
            "LEASEHOLD_BAD_DISK_FOLDER=" + folder_.string()};
}

void BadDisk::set(Trouble trouble) const {
    std::fstream{wish_, std::ios::in | std::ios::out} << static_cast<char>(trouble);
}

}  // namespace leasehold::faults
