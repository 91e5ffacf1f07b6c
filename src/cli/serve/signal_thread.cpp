#include "cli/serve/signal_thread.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::cli {
namespace {

sigset_t handled_signals() {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&set, number);
    return set;
}

int opened(int file, const char* what) {
    if (file < 0) throw std::system_error{errno, std::generic_category(), what};
    return file;
}

// Without memory a handler does not run to its end. It runs again with the next signal or tick.
void call(const std::function<void()>& handler) {
    try {
        handler();
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
    }
}

// Runs on any thread, and needs no memory.
void end_at_once(int /*signal*/) {
    constexpr std::string_view text = "leasehold: the server did not stop in time, and ends now\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
    ::_exit(EXIT_FAILURE);
}

}  // namespace

void block_signals() {
    const sigset_t set = handled_signals();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
}

SignalThread::SignalThread(Handlers handlers) : handlers_{std::move(handlers)} {
    const sigset_t set = handled_signals();
    signals_ = opened(::signalfd(-1, &set, SFD_CLOEXEC), "signalfd");
    over_ = opened(::eventfd(0, EFD_CLOEXEC), "eventfd");
    ::signal(SIGALRM, end_at_once);
    thread_ = std::thread{[this] { listen(); }};
}

SignalThread::~SignalThread() {
    ::alarm(0);
    ::eventfd_write(over_, 1);
    thread_.join();
    ::close(over_);
    ::close(signals_);
    const sigset_t set = handled_signals();
    ::signal(SIGHUP, SIG_IGN);
    ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void SignalThread::listen() {
    bool stopping = false;
    for (;;) {
        std::array<pollfd, 2> files{pollfd{.fd = over_, .events = POLLIN, .revents = 0},
                                    pollfd{.fd = signals_, .events = POLLIN, .revents = 0}};
        const int timeout = handlers_.tick ? static_cast<int>(handlers_.between_ticks.count()) : -1;
        const int ready = ::poll(files.data(), files.size(), timeout);
        if (ready == 0) call(handlers_.tick);
        if (ready <= 0) continue;
        if (files[0].revents != 0) return;
        signalfd_siginfo info{};
        if (::read(signals_, &info, sizeof info) != sizeof info) continue;
        const int number = static_cast<int>(info.ssi_signo);
        if (number == SIGHUP) {
            call(handlers_.reload);
        } else if (std::exchange(stopping, true)) {
            ::_exit(128 + number);
        } else {
            ::alarm(static_cast<unsigned>(handlers_.longest_stop.count()));
            call([&] { handlers_.stop(number); });
        }
    }
}

}  // namespace leasehold::cli
