#include "cli/run/terminal.hpp"

#include <unistd.h>

namespace leasehold::cli {

Terminal::Terminal() {
    termios settings{};
    if (::tcgetattr(STDIN_FILENO, &settings) == 0) settings_ = settings;
}

Terminal::~Terminal() {
    take_back();
}

bool Terminal::is_ours() const {
    return settings_ && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

bool Terminal::is_ours_alone() const {
    return is_ours() && ::isatty(STDOUT_FILENO) == 1;
}

bool Terminal::has_job_control() const {
    return settings_ && ::getsid(::getppid()) == ::getsid(0);
}

void Terminal::give_to(pid_t group) {
    if (settings_ && ::tcsetpgrp(STDIN_FILENO, group) == 0) given_ = true;
}

void Terminal::take_back() {
    if (!given_) return;
    ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &*settings_);
    given_ = false;
}

}  // namespace leasehold::cli
