#pragma once

#include <sys/types.h>
#include <termios.h>

#include <optional>

namespace leasehold::cli {

// The terminal on standard input, if there is one. SIGTTOU must be blocked.
class Terminal {
public:
    Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    // Takes the terminal back.
    ~Terminal();

    // Whether there is a terminal and our process group is in its foreground.
    [[nodiscard]] bool is_ours() const;
    // Whether the command gets the terminal when it starts. In a pipeline it does not, because
    // other processes need the terminal too; it gets it when it asks.
    [[nodiscard]] bool is_ours_alone() const;
    // Whether a shell can continue this process after it stops.
    [[nodiscard]] bool has_job_control() const;

    // Notes that the command takes the terminal when it starts.
    void give() noexcept { given_ = true; }
    void give_to(pid_t group);
    // Restores the settings that the terminal had before the command.
    void take_back();

private:
    std::optional<termios> settings_;
    bool given_ = false;
};

}  // namespace leasehold::cli
