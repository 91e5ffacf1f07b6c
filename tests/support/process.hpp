#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace leasehold::testing {

// Throws an exception with the error of the last system call.
[[noreturn]] void throw_errno(const std::string& what);

struct Command {
    std::vector<std::string> arguments = {};    // first the program: a path, or found on PATH
    std::string user = {};                      // to run as when we are root; empty: as we are
    std::filesystem::path folder = {};          // to run in; empty: where we are
    std::vector<std::string> environment = {};  // "NAME=value", added to ours
    std::filesystem::path log = {};             // gets all output, appended; empty: it is dropped
};

// A program and everything it starts. None of these processes outlives this object or the process
// that made it, however that ends (SIGKILL included, and whichever thread made it). A supervisor
// process stands between the two: it adopts all processes that the program leaves behind, and kills
// all of them when the program, its owner or this object ends. Not thread-safe. Signals go only to
// processes that the program started. Copies of this object in forked processes do nothing.
class ChildProcess {
public:
    // Returns once the program runs; throws std::runtime_error if it cannot be run.
    explicit ChildProcess(const Command& command);
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    pid_t pid() const { return pid_; }
    bool running();
    // Sends the signal to the program alone. Does nothing if it has ended.
    void signal(int number);

    // SIGKILL to all; returns when every process is gone.
    void kill_hard();
    // SIGSTOP to all; returns when every thread of every process is paused.
    void pause();
    void resume();

    // Exit codes are a shell's: 128 + number for a program ended by a signal.
    int wait();
    std::optional<int> wait_for(std::chrono::milliseconds timeout);
    // SIGTERM, and kill_hard() if the program is still there after the timeout.
    int terminate(std::chrono::milliseconds timeout);

private:
    pid_t owner_;
    pid_t supervisor_ = -1;
    pid_t pid_ = -1;
    std::optional<int> exit_code_;
};

struct Finished {
    int exit_code;
    std::string output;  // stdout and stderr
};

// Runs a short command to its end; command.log is not used. Throws std::runtime_error if it takes
// longer.
[[nodiscard]] Finished run(Command command, std::chrono::milliseconds timeout);

// A new folder under $TMPDIR or /tmp that everybody may enter. It is removed with its contents at
// destruction, but not by copies of this object in forked processes.
class TemporaryFolder {
public:
    explicit TemporaryFolder(const std::string& prefix = "leasehold-test");
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }
    // False in a forked process.
    bool made_here() const;
    // Makes the user the folder's owner if we are root.
    void give_to(const std::string& user) const;

private:
    pid_t owner_;
    std::filesystem::path path_;
};

// A TCP port of 127.0.0.1 on which nobody listens. It is outside the range of ports for outgoing
// connections, so that it stays free while a server on it is down. No other test gets it while this
// process lives.
std::uint16_t free_port();

}  // namespace leasehold::testing
