#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "faults/trouble.hpp"
#include "support/process.hpp"

namespace leasehold::faults {

// A disk that fails on command, for programs that are started with environment(). Not
// thread-safe.
class BadDisk {
public:
    // Files below the folder are on it. `preload` is the library leasehold_bad_disk.
    BadDisk(std::filesystem::path folder, std::string preload);

    [[nodiscard]] std::vector<std::string> environment() const;
    void set(Trouble trouble) const;

private:
    const std::filesystem::path folder_;
    const std::string preload_;
    const testing::TemporaryFolder own_;
    const std::filesystem::path wish_ = own_.path() / "wish";
};

}  // namespace leasehold::faults
