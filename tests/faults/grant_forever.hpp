#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <leasehold/lease.hpp>

#include "support/process.hpp"

namespace leasehold::faults {

// A line of the program grant_forever.
struct Told {
    std::string what;  // granted, released
    std::string id;
    LockId lock_id;
    Fence fence = 0;
};

// The program grant_forever, running. Not thread-safe.
class GrantForever {
public:
    // `environment` is "NAME=value" for it alone.
    GrantForever(const std::string& url, const std::string& prefix,
                 std::vector<std::string> environment = {});

    // Returns false if the program ended, or made fewer grants in time.
    [[nodiscard]] bool wait_for_grants(std::size_t count);
    void kill() { process_.kill_hard(); }

    // All complete lines so far.
    [[nodiscard]] std::vector<Told> told() const;
    // The output as it was printed.
    [[nodiscard]] std::string log() const;

private:
    testing::TemporaryFolder folder_;
    testing::ChildProcess process_;
};

}  // namespace leasehold::faults
