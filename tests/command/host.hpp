#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "support/process.hpp"

namespace leasehold::command {

// The command, run to its end.
[[nodiscard]] testing::Finished leasehold(const std::vector<std::string>& arguments,
                                          const std::vector<std::string>& environment = {});

[[nodiscard]] inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// The only other things a test needs to know of a process.
[[nodiscard]] bool is_alive(pid_t process);
[[nodiscard]] std::vector<pid_t> children_of(pid_t process);
[[nodiscard]] std::string content_of(const std::filesystem::path& file);

// A machine that runs one `leasehold` in the background. When that is killed, all it started is
// left to itself, as on a real one; everything ends with this object.
class Host {
public:
    Host(const std::vector<std::string>& arguments, const std::string& store);

    // Of `leasehold` itself.
    [[nodiscard]] pid_t pid() const { return pid_; }
    void signal(int number) const;
    // Nothing while it runs.
    [[nodiscard]] std::optional<int> exit_code() const;
    [[nodiscard]] std::string output() const;

private:
    testing::TemporaryFolder folder_;
    std::optional<testing::ChildProcess> machine_;
    pid_t pid_ = -1;
};

}  // namespace leasehold::command
