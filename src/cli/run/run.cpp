#include "cli/run/run.hpp"

#include <leasehold/keep_alive.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/run/supervisor.hpp"
#include "cli/run/terminal.hpp"
#include "core/unique_owner.hpp"

namespace leasehold::cli {
namespace {

using namespace std::chrono_literals;

// The signals that are passed on to the command.
constexpr std::array forwarded{SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM, SIGUSR1,
                               SIGUSR2, SIGTSTP, SIGWINCH, SIGCONT};

// A file to poll for the forwarded signals, which it blocks in this thread and in later ones.
class ForwardedSignals {
public:
    ForwardedSignals() {
        sigset_t set;
        sigemptyset(&set);
        for (const int number : forwarded) sigaddset(&set, number);
        file_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        sigaddset(&set, SIGTTOU);
        ::sigprocmask(SIG_BLOCK, &set, nullptr);
    }
    ForwardedSignals(const ForwardedSignals&) = delete;
    ForwardedSignals& operator=(const ForwardedSignals&) = delete;
    ~ForwardedSignals() { ::close(file_); }

    [[nodiscard]] int file() const noexcept { return file_; }
    [[nodiscard]] std::optional<int> next() const {
        signalfd_siginfo signal{};
        if (::read(file_, &signal, sizeof signal) != sizeof signal) return std::nullopt;
        return static_cast<int>(signal.ssi_signo);
    }
    [[nodiscard]] static bool ends(int number) {
        return number == SIGHUP || number == SIGINT || number == SIGQUIT || number == SIGTERM;
    }

private:
    int file_ = -1;
};

// Wakes a poll() from another thread.
class Bell {
public:
    Bell() : file_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {}
    Bell(const Bell&) = delete;
    Bell& operator=(const Bell&) = delete;
    ~Bell() { ::close(file_); }

    void ring() const { ::eventfd_write(file_, 1); }
    [[nodiscard]] int file() const noexcept { return file_; }
    [[nodiscard]] bool has_rung() const {
        eventfd_t count = 0;
        return ::eventfd_read(file_, &count) == 0;
    }

private:
    int file_;
};

template <std::size_t N>
void wait_for(const std::array<int, N>& files, SteadyClock::time_point until) {
    std::array<pollfd, N> wanted{};
    for (std::size_t i = 0; i < N; ++i) wanted[i] = {files[i], POLLIN, 0};
    int timeout = -1;
    if (until != SteadyClock::time_point::max()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - SteadyClock::now());
        // At most a second: poll() does not count the time while the machine is suspended.
        timeout = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1000));
    }
    ::poll(wanted.data(), N, timeout);
}

struct Granted {
    std::unique_ptr<LockManager> locks;
    Lease lease;
};

// Opens the store and takes the lock on a thread of its own, so that signals are handled while it
// waits.
class Acquisition {
public:
    Acquisition(const Invocation& call, const RunOptions& options)
        : thread_{[this, &call, &options](const std::stop_token& ended) {
              try {
                  acquire(call, options, ended);
              } catch (...) {
                  failure_ = std::current_exception();
              }
              finished_.ring();
          }} {}

    [[nodiscard]] int finished() const noexcept { return finished_.file(); }
    [[nodiscard]] bool has_finished() const { return finished_.has_rung(); }
    void give_up() { thread_.request_stop(); }

    // To be called once it has finished. Rethrows the store's fault.
    [[nodiscard]] Result<Granted> result() {
        thread_.join();
        if (failure_) std::rethrow_exception(failure_);
        if (refusal_) return std::unexpected{*std::move(refusal_)};
        return *std::move(granted_);
    }

private:
    void acquire(const Invocation& call, const RunOptions& options, const std::stop_token& ended) {
        LockOptions wanted = options.lock;
        wanted.owner = unique_owner(wanted.owner, "run");
        wanted.ttl = options.ttl;
        const auto until = SteadyClock::now() + options.wait;
        auto locks = std::make_unique<LockManager>(open_shared_store(call, until, ended));
        auto lease = locks->lock_for(options.key, until - SteadyClock::now(), wanted, ended);
        if (lease)
            granted_.emplace(std::move(locks), *std::move(lease));
        else
            refusal_ = std::move(lease.error());
    }

    Bell finished_;
    std::optional<Granted> granted_;
    std::optional<Refusal> refusal_;
    std::exception_ptr failure_;
    std::jthread thread_;
};

std::string why(const KeepAlive::Loss& loss) {
    if (const auto* refusal = std::get_if<Refusal>(&loss)) return refusal->message(our_language());
    return std::get<StoreFault>(loss).what();
}

// One run of the command, from the grant of its lease to its end.
class Run {
public:
    Run(const RunOptions& options, Granted granted, Supervisor& supervisor,
        const ForwardedSignals& signals, Terminal& terminal)
        : options_{options},
          locks_{std::move(granted.locks)},
          lease_{std::move(granted.lease)},
          granted_at_{SteadyClock::now()},
          supervisor_{supervisor},
          signals_{signals},
          terminal_{terminal} {
        const Duration margin = options.grace + time_to_die(options.ttl);
        const Deadline first = deadline(lease_.valid_until - margin);
        const bool in_foreground = terminal_.is_ours_alone();
        if (in_foreground) terminal_.give();
        supervisor_.start(first, lease_.fence,
                          options.pass_lock_id ? lease_.lock_id.to_string() : "",
                          in_foreground ? Foreground::yes : Foreground::no);
        keep_alive_.emplace(
            *locks_, lease_,
            KeepAlive::Options{
                .ttl = options.ttl,
                .margin = margin,
                .on_lost = [this](const auto& l) { lose(l); },
                .on_renewed = [this](auto until) { supervisor_.deadline(deadline(until)); }});
    }

    [[nodiscard]] int finish() {
        const Event end = watch();
        terminal_.take_back();
        if (end.cause == Event::Cause::stopped) return was_stopped();
        hold_on();
        release();
        if (end.kind == Event::Kind::not_started) return cannot_start(end.value);
        return WIFSIGNALED(end.value) ? ended_by_signal + WTERMSIG(end.value)
                                      : WEXITSTATUS(end.value);
    }

private:
    [[nodiscard]] Deadline deadline(SteadyClock::time_point end_at) const {
        return {.end_at = end_at, .kill_at = end_at + options_.grace};
    }

    // On the thread of keep_alive_.
    void lose(const KeepAlive::Loss& loss) {
        {
            const std::lock_guard lock{mutex_};
            loss_ = loss;
        }
        // The lease is gone: somebody else may hold the lock already.
        if (std::holds_alternative<Refusal>(loss)) supervisor_.kill();
        lost_.ring();
    }

    [[nodiscard]] std::optional<KeepAlive::Loss> loss() const {
        const std::lock_guard lock{mutex_};
        return loss_;
    }

    // Returns when the command has ended.
    [[nodiscard]] Event watch() {
        // By then the supervisor has killed everything, unless it is stopped itself.
        auto overdue_at = SteadyClock::time_point::max();
        for (;;) {
            wait_for(std::array{supervisor_.events(), signals_.file(), lost_.file()}, overdue_at);
            if (readable(supervisor_.events())) {
                const auto event = supervisor_.next_event();
                if (!event) return without_supervisor();
                if (event->kind == Event::Kind::ended || event->kind == Event::Kind::not_started) {
                    return *event;
                }
                heed(*event);
                continue;
            }
            if (lost_.has_rung()) {
                overdue_at =
                    keep_alive_->valid_until() + options_.grace + time_to_die(options_.ttl) / 4;
            }
            if (SteadyClock::now() >= overdue_at) supervisor_.replace();
            while (const auto number = signals_.next()) {
                if (*number == SIGCONT) give_terminal();
                asked_to_end_ = asked_to_end_ || ForwardedSignals::ends(*number);
                supervisor_.signal(*number);
            }
        }
    }

    [[nodiscard]] Event without_supervisor() const {
        const bool lost = loss().has_value();
        if (!lost) complain(spoken(phrases::supervisor_killed));
        return {.kind = Event::Kind::ended,
                .cause = lost ? Event::Cause::stopped : Event::Cause::itself,
                .value = SIGKILL};
    }

    static bool readable(int file) {
        pollfd one{file, POLLIN, 0};
        return ::poll(&one, 1, 0) > 0;
    }

    void heed(const Event& event) {
        if (event.kind == Event::Kind::started) return;
        const int signal = event.value;
        if (signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU) return;
        const bool wants_terminal = signal != SIGTSTP && terminal_.is_ours();
        if (!wants_terminal && terminal_.has_job_control()) {
            terminal_.take_back();
            ::kill(0, SIGSTOP);
        }
        give_terminal();
        supervisor_.signal(SIGCONT);
    }

    void give_terminal() {
        if (supervisor_.group() > 0 && terminal_.is_ours()) {
            terminal_.give_to(supervisor_.group());
        }
    }

    // The lease has expired or will soon. The store may hang: it is not asked again.
    [[nodiscard]] int was_stopped() const {
        const auto lost = loss();
        complain(spoken(phrases::lease_lost,
                        {{"key", options_.key.to_string()},
                         {"why", lost ? why(*lost) : spoken(phrases::not_renewed)}}));
        return lease_lost;
    }

    // Waits until the lock has been held for --at-least-for.
    void hold_on() {
        const auto until = granted_at_ + options_.at_least_for;
        while (SteadyClock::now() < until && !loss()) {
            if (asked_to_end_) return leave(until);
            wait_for(std::array{signals_.file(), lost_.file()}, until);
            while (const auto number = signals_.next()) {
                asked_to_end_ = asked_to_end_ || ForwardedSignals::ends(*number);
            }
        }
    }

    // Does not wait: leaves a lease that expires at that time.
    void leave(SteadyClock::time_point until) {
        keep_alive_.reset();
        const Duration rest = std::max<Duration>(until - SteadyClock::now(), 1s);
        try {
            (void)locks_->renew(lease_.key, lease_.lock_id,
                                std::min(rest, locks_->limits().max_ttl));
        } catch (const StoreFault& fault) {
            complain(fault.what());
        }
        left_ = true;
    }

    void release() {
        if (left_ || loss()) return;
        keep_alive_.reset();
        try {
            (void)locks_->release(lease_.key, lease_.lock_id);
        } catch (const StoreFault& fault) {
            complain(spoken(phrases::not_released, {{"key", options_.key.to_string()},
                                                    {"time", spoken(options_.ttl)},
                                                    {"fault", fault.what()}}));
        }
    }

    [[nodiscard]] int cannot_start(int error) const {
        complain(options_.command.front() + ": " + std::strerror(error));
        return error == ENOENT ? not_found : not_executable;
    }

    const RunOptions& options_;
    const std::unique_ptr<LockManager> locks_;
    const Lease lease_;
    const SteadyClock::time_point granted_at_;
    Supervisor& supervisor_;
    const ForwardedSignals& signals_;
    Terminal& terminal_;
    bool asked_to_end_ = false;
    bool left_ = false;

    Bell lost_;
    mutable std::mutex mutex_;
    std::optional<KeepAlive::Loss> loss_;  // guarded by mutex_

    std::optional<KeepAlive> keep_alive_;  // last: its callbacks use the members above
};

int say_refused(const RunOptions& options, const Refusal& refusal) {
    if (!options.quiet) complain(described(refusal));
    return lock_refused;
}

int run_granted(const RunOptions& options, Granted granted, Supervisor& supervisor,
                const ForwardedSignals& signals) {
    Terminal terminal;
    Run run{options, std::move(granted), supervisor, signals, terminal};
    const int code = run.finish();
    if (code != lease_lost) return code;
    // A store that does not answer must not delay the end.
    (void)flush_output();
    supervisor.dismiss();
    ::_exit(code);
}

// A signal ended the wait for the lock.
int stop_waiting(Acquisition& acquisition, int signal) {
    acquisition.give_up();
    wait_for(std::array{acquisition.finished()}, SteadyClock::now() + 1s);
    if (!acquisition.has_finished()) ::_exit(ended_by_signal + signal);
    try {
        if (const auto granted = acquisition.result()) {
            (void)granted->locks->release(granted->lease.key, granted->lease.lock_id);
        }
    } catch (const StoreFault&) {
        // The lease, if one was granted, expires.
    }
    return ended_by_signal + signal;
}

}  // namespace

int run_under_lock(const Invocation& call, const RunOptions& options) {
    Supervisor supervisor{{.arguments = options.command,
                           .type = std::string{options.key.type()},
                           .id = std::string{options.key.id()},
                           .store = options.pass_store ? PassStore::yes : PassStore::no,
                           .grace = options.grace}};
    const ForwardedSignals signals;
    Acquisition acquisition{call, options};
    for (;;) {
        wait_for(std::array{acquisition.finished(), signals.file()},
                 SteadyClock::time_point::max());
        while (const auto number = signals.next()) {
            if (ForwardedSignals::ends(*number)) return stop_waiting(acquisition, *number);
            if (*number == SIGTSTP) ::raise(SIGSTOP);
        }
        if (acquisition.has_finished()) break;
    }
    try {
        auto granted = acquisition.result();
        if (!granted) return say_refused(options, granted.error());
        return run_granted(options, *std::move(granted), supervisor, signals);
    } catch (const StoreFault& fault) {
        std::string text = spoken(phrases::not_started, {{"fault", fault.what()}});
        const bool denied = fault.cause() == StoreFault::Cause::not_allowed;
        if (denied) text += advice_on_access(call);
        complain(text);
        return denied ? not_allowed_before : store_failed_before;
    }
}

}  // namespace leasehold::cli
