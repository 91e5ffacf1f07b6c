#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "support/process.hpp"

namespace leasehold::faults {

// The wall clock that some processes see. Their steady clocks are not changed. Not thread-safe.
class WallClock {
public:
    WallClock() { set(std::chrono::seconds{0}); }

    // "NAME=value" for those processes.
    [[nodiscard]] std::vector<std::string> environment() const;
    // The path of libfaketime. Throws std::runtime_error if it is not installed.
    [[nodiscard]] static std::string library();
    // The offset from the true time.
    void set(std::chrono::seconds offset);

private:
    testing::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_.path() / "clock";
};

}  // namespace leasehold::faults
