#include "cli/run/supervisor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "cli/run/children.hpp"

// The supervisor process. It has one thread and never waits for a store, so that nothing delays it.
namespace leasehold::cli {
namespace {

using namespace std::chrono_literals;

// How often to look for changes that no signal announces.
constexpr Duration glance = 100ms;
constexpr Duration glance_while_killing = 5ms;

class SupervisorProcess {
public:
    SupervisorProcess(int socket, const Supervisor::Command& command)
        : socket_{socket}, command_{command} {
        // In a process group of its own, it is not stopped by Ctrl-Z or with leasehold.
        ::setpgid(0, 0);
        ::prctl(PR_SET_NAME, "leasehold-watch");
        ::prctl(PR_SET_CHILD_SUBREAPER, 1);
        ::signal(SIGCHLD, SIG_DFL);
        sigset_t all;
        sigfillset(&all);
        ::sigprocmask(SIG_SETMASK, &all, &signals_before_);
        sigset_t children;
        sigemptyset(&children);
        sigaddset(&children, SIGCHLD);
        signals_ = ::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
        // This clock counts the time while the machine is suspended, as the lease does.
        timer_ = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    }

    [[noreturn]] void work() {
        for (;;) {
            set_timer();
            std::array<pollfd, 3> ready{
                {{socket_, POLLIN, 0}, {signals_, POLLIN, 0}, {timer_, POLLIN, 0}}};
            if (abandoned_) ready[0].fd = -1;
            ::poll(ready.data(), ready.size(), -1);
            // The deadline first: a late order must not delay the end.
            keep_deadline();
            if (ready[0].revents != 0) obey();
            if (ready[1].revents != 0) forget_signals();
            reap();
            if (ended()) finish();
        }
    }

private:
    void set_timer() const {
        auto next = SteadyClock::time_point::max();
        if (program_ > 0) {
            next = stopping_ ? deadline_.kill_at : deadline_.end_at;
            if (killing_)
                next = SteadyClock::now() + glance_while_killing;
            else if (status_)
                next = std::min(next, SteadyClock::now() + glance);
        }
        itimerspec when{};
        if (next != SteadyClock::time_point::max()) {
            // A time of zero would switch the timer off.
            const Duration since_zero = std::max<Duration>(next.time_since_epoch(), 1us);
            const auto seconds = std::chrono::floor<std::chrono::seconds>(since_zero);
            when.it_value.tv_sec = seconds.count();
            when.it_value.tv_nsec = std::chrono::nanoseconds{since_zero - seconds}.count();
        }
        ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
    }

    void keep_deadline() {
        if (program_ <= 0) return;
        const auto now = SteadyClock::now();
        if (now >= deadline_.end_at) stop();
        if (killing_ || (stopping_ && now >= deadline_.kill_at)) kill_all();
    }

    void obey() {
        Order order{};
        const ssize_t size = ::recv(socket_, &order, sizeof order, MSG_DONTWAIT);
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (size != static_cast<ssize_t>(sizeof order)) return go_on_alone();
        switch (order.kind) {
            case Order::Kind::start: return start(order);
            case Order::Kind::deadline:
                if (!stopping_) deadline_ = order.deadline;
                return;
            case Order::Kind::signal: signal_group(order.signal); return;
            case Order::Kind::kill: stop(); return kill_all();
        }
    }

    // Leasehold has ended or closed the connection: stops the command.
    void go_on_alone() {
        if (program_ <= 0) ::_exit(0);
        abandoned_ = true;
        deadline_.kill_at = std::min(deadline_.kill_at, SteadyClock::now() + command_.grace);
        stop();
    }

    void start(const Order& order) {
        deadline_ = order.deadline;
        if (stopping_ || SteadyClock::now() >= deadline_.end_at) {
            report({.kind = Event::Kind::ended, .cause = Event::Cause::stopped});
            wait_for_dismissal();
        }
        std::array<int, 2> failure{};
        if (::pipe2(failure.data(), O_CLOEXEC) != 0) return refuse(errno);
        const pid_t self = ::getpid();
        program_ = ::fork();
        if (program_ < 0) return refuse(errno);
        if (program_ == 0) become_command(order, self, failure[1]);
        ::setpgid(program_, program_);
        ::close(failure[1]);
        int error = 0;
        const bool failed = ::read(failure[0], &error, sizeof error) == sizeof error;
        ::close(failure[0]);
        if (failed) return refuse(error);
        report({.kind = Event::Kind::started, .value = program_});
    }

    [[noreturn]] void refuse(int error) {
        report({.kind = Event::Kind::not_started, .value = error});
        wait_for_dismissal();
    }

    [[noreturn]] void become_command(const Order& order, pid_t parent, int failure) const {
        ::setpgid(0, 0);
        // SIGTTOU is blocked, so this does not stop a process in the background.
        if (order.foreground == Foreground::yes) ::tcsetpgrp(STDIN_FILENO, ::getpid());
        ::setenv("LEASEHOLD_TYPE", command_.type.c_str(), 1);
        ::setenv("LEASEHOLD_ID", command_.id.c_str(), 1);
        ::setenv("LEASEHOLD_FENCE", std::to_string(order.fence).c_str(), 1);
        if (command_.store == PassStore::no) {
            for (const char* name : {"LEASEHOLD_STORE", "LEASEHOLD_TOKEN", "LEASEHOLD_TOKEN_FILE"})
                ::unsetenv(name);
        }
        if (order.lock_id[0] != '\0')
            ::setenv("LEASEHOLD_LOCK_ID", order.lock_id.data(), 1);
        else
            ::unsetenv("LEASEHOLD_LOCK_ID");
        std::vector<char*> arguments;
        for (const std::string& argument : command_.arguments) {
            arguments.push_back(const_cast<char*>(argument.c_str()));
        }
        arguments.push_back(nullptr);
        ::sigprocmask(SIG_SETMASK, &signals_before_, nullptr);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() == parent) ::execvp(arguments[0], arguments.data());
        const int error = errno;
        (void)!::write(failure, &error, sizeof error);
        ::_exit(127);
    }

    void stop() {
        if (stopping_) return;
        stopping_ = true;
        signal_group(SIGTERM);
        signal_group(SIGCONT);
    }

    // The kernel may reuse the number of an empty group.
    void signal_group(int number) const {
        if (program_ > 0 && !group_is_empty_) ::kill(-program_, number);
    }

    void kill_all() {
        killing_ = true;
        signal_group(SIGKILL);
        kill_children();
    }

    void forget_signals() const {
        signalfd_siginfo signal{};
        while (::read(signals_, &signal, sizeof signal) > 0) {
        }
    }

    void reap() {
        int status = 0;
        pid_t pid = 0;
        while ((pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
            if (pid != program_) continue;
            if (WIFSTOPPED(status))
                report({.kind = Event::Kind::paused, .value = WSTOPSIG(status)});
            else
                status_ = status;
        }
        childless_ = pid < 0 && errno == ECHILD;
        if (status_ && ::kill(-program_, 0) != 0 && errno == ESRCH) group_is_empty_ = true;
    }

    [[nodiscard]] bool ended() const { return group_is_empty_ && (!stopping_ || childless_); }

    [[noreturn]] void finish() {
        report({.kind = Event::Kind::ended,
                .cause = stopping_ ? Event::Cause::stopped : Event::Cause::itself,
                .value = *status_});
        wait_for_dismissal();
    }

    [[noreturn]] void wait_for_dismissal() const {
        Order order{};
        while (::recv(socket_, &order, sizeof order, 0) > 0) {
        }
        ::_exit(0);
    }

    void report(const Event& event) const {
        (void)::send(socket_, &event, sizeof event, MSG_NOSIGNAL);
    }

    const int socket_;
    const Supervisor::Command& command_;
    int signals_ = -1;
    int timer_ = -1;
    sigset_t signals_before_{};  // the signal mask to start the command with

    Deadline deadline_;
    pid_t program_ = -1;
    std::optional<int> status_;  // of the program, when it has ended
    bool stopping_ = false;      // SIGTERM was sent
    bool killing_ = false;
    bool abandoned_ = false;       // leasehold is gone
    bool group_is_empty_ = false;  // and the program reaped
    bool childless_ = false;
};

}  // namespace

void supervise(int socket, const Supervisor::Command& command) {
    SupervisorProcess{socket, command}.work();
}

}  // namespace leasehold::cli
