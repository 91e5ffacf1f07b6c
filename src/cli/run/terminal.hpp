#pragma once

#include <sys/types.h>
#include <termios.h>

#include <optional>

namespace leasehold::cli {

// The terminal on standard input, where there is one. SIGTTOU is to be blocked.
class Terminal {
public:
    Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    // Ours again.
    ~Terminal();

    // Whether there is one and our process group is in its foreground.
    [[nodiscard]] bool is_ours() const;
    // Whether a command is to have it from its start: not in a pipeline, whose other members need
    // it too. It can still have it when it asks.
    [[nodiscard]] bool is_ours_alone() const;
    // Whether somebody can continue us when we stop.
    [[nodiscard]] bool has_job_control() const;

    // To a command that is about to start, and takes it by itself.
    void give() noexcept { given_ = true; }
    void give_to(pid_t group);
    // With the settings it had, where the command left its own.
    void take_back();

private:
    std::optional<termios> settings_;
    bool given_ = false;
};

}  // namespace leasehold::cli
