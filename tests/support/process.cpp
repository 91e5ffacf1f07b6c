#include "support/process.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>

namespace leasehold::testing {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct Identity {
    uid_t user;
    gid_t group;
    std::vector<gid_t> groups;
};

Identity identity_of(const std::string& user) {
    const passwd* entry = ::getpwnam(user.c_str());
    if (entry == nullptr) throw std::runtime_error("there is no user '" + user + "'");
    int count = 64;
    std::vector<gid_t> groups(static_cast<std::size_t>(count));
    if (::getgrouplist(entry->pw_name, entry->pw_gid, groups.data(), &count) < 0) {
        groups.resize(static_cast<std::size_t>(count));
        ::getgrouplist(entry->pw_name, entry->pw_gid, groups.data(), &count);
    }
    groups.resize(static_cast<std::size_t>(count));
    return {entry->pw_uid, entry->pw_gid, std::move(groups)};
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (auto& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

std::vector<std::string> environment_with(const std::vector<std::string>& additions) {
    const auto name = [](std::string_view entry) { return entry.substr(0, entry.find('=')); };
    std::vector<std::string> result = additions;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        if (std::ranges::find(additions, name(*entry), name) == additions.end()) {
            result.emplace_back(*entry);
        }
    }
    return result;
}

// Everything that the forked processes need. It is made before the fork, because a fork of a
// process with threads must not allocate.
struct Launch {
    std::vector<std::string> argument_texts;
    std::vector<std::string> environment_texts;
    std::vector<char*> arguments;
    std::vector<char*> environment;
    std::optional<Identity> identity;
    std::string folder;
    std::string log;
    pid_t owner;
    int report;  // pipe to the owner: a Report each for the start and for a failure
};

struct Report {
    enum Kind : int { started, failed } kind;
    int value;  // pid or errno
};

void send_report(int pipe, Report::Kind kind, int value) {
    const Report report{kind, value};
    (void)!::write(pipe, &report, sizeof report);
}

[[noreturn]] void fail(int report) {
    send_report(report, Report::failed, errno);
    ::_exit(127);
}

[[noreturn]] void become_program(const Launch& launch, int report, pid_t supervisor) {
    ::setpgid(0, 0);
    for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);

    if (launch.identity) {
        const auto& [user, group, groups] = *launch.identity;
        if (::setgroups(groups.size(), groups.data()) != 0) fail(report);
        if (::setgid(group) != 0 || ::setuid(user) != 0) fail(report);
    }
    // After the change of user, which clears this setting. The supervisor has one thread, so the
    // thread's death is the death of the process.
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail(report);
    if (::getppid() != supervisor) ::_exit(127);
    if (!launch.folder.empty() && ::chdir(launch.folder.c_str()) != 0) fail(report);

    ::execvpe(launch.arguments[0], launch.arguments.data(), launch.environment.data());
    fail(report);
}

// An orphaned process becomes our child, so in the end the list of our children has contained the
// whole tree.
void kill_all_children() {
    for (;;) {
        const int children = ::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
        if (children >= 0) {
            std::array<char, 4096> text;
            pid_t pid = 0;
            for (ssize_t size; (size = ::read(children, text.data(), text.size())) > 0;) {
                for (const char c : std::string_view(text.data(), static_cast<std::size_t>(size))) {
                    if (c >= '0' && c <= '9') {
                        pid = pid * 10 + (c - '0');
                    } else {
                        if (pid > 0) ::kill(pid, SIGKILL);
                        pid = 0;
                    }
                }
            }
            ::close(children);
        }
        int status = 0;
        if (::waitpid(-1, &status, 0) < 0 && errno == ECHILD) return;
    }
}

[[noreturn]] void supervise(const Launch& launch) {
    ::prctl(PR_SET_NAME, "test-supervisor");
    ::setsid();

    ::signal(SIGCHLD, SIG_DFL);
    sigset_t all;
    sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGCHLD);
    sigaddset(&ours, SIGTERM);

    // Closes everything that belongs to the owner: its sockets, its locks, and the pipes that its
    // own parent reads to their end.
    enum : int { report = 3, signals = 4, owner = 5 };
    if (launch.report != report) ::dup3(launch.report, report, O_CLOEXEC);
    ::close_range(report + 1, ~0U, 0);
    const int input = ::open("/dev/null", O_RDONLY);
    ::dup2(input, STDIN_FILENO);
    if (input > STDERR_FILENO) ::close(input);
    const int output = ::open(launch.log.c_str(), O_WRONLY | O_CREAT | O_APPEND, S_IRUSR | S_IWUSR);
    if (output < 0) fail(report);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    if (output > STDERR_FILENO) ::close(output);

    if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) fail(report);
    if (::signalfd(-1, &ours, SFD_CLOEXEC) != signals) fail(report);
    if (::syscall(SYS_pidfd_open, launch.owner, 0) != owner) fail(report);
    if (::getppid() != launch.owner) ::_exit(127);

    const pid_t self = ::getpid();
    const pid_t program = ::fork();
    if (program < 0) fail(report);
    if (program == 0) become_program(launch, report, self);
    send_report(report, Report::started, program);
    ::close(report);

    int exit_code = 128 + SIGKILL;
    for (bool ended = false; !ended;) {
        std::array<pollfd, 2> events{{{signals, POLLIN, 0}, {owner, POLLIN, 0}}};
        ::poll(events.data(), events.size(), -1);
        if (events[1].revents != 0) break;
        signalfd_siginfo received{};
        if (::read(signals, &received, sizeof received) != sizeof received) continue;
        if (received.ssi_signo == SIGTERM) break;
        int status = 0;
        for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
            if (pid != program) continue;
            exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            ended = true;
        }
    }
    kill_all_children();
    ::_exit(exit_code);
}

struct ProcessState {
    char state;
    pid_t parent;
};

// The state of a process or a thread; nothing if it has gone.
std::optional<ProcessState> state_of(const std::filesystem::path& folder) {
    std::ifstream file(folder / "stat");
    std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto name_end = text.rfind(')');
    if (name_end == std::string::npos) return std::nullopt;
    std::istringstream rest(text.substr(name_end + 1));
    ProcessState result{};
    if (!(rest >> result.state >> result.parent)) return std::nullopt;
    return result;
}

// Calls see(number, folder) for each process in /proc, or for each thread in /proc/N/task.
template <typename See>
void for_each_number(const std::filesystem::path& folder, See see) {
    std::error_code gone;
    for (std::filesystem::directory_iterator entry(folder, gone), end; !gone && entry != end;
         entry.increment(gone)) {
        const std::string name = entry->path().filename();
        pid_t number = 0;
        const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
        if (parsed.ec == std::errc{} && parsed.ptr == name.data() + name.size()) {
            see(number, entry->path());
        }
    }
}

std::vector<pid_t> descendants(pid_t ancestor) {
    std::multimap<pid_t, pid_t> children;
    for_each_number("/proc", [&](pid_t pid, const std::filesystem::path& folder) {
        if (const auto state = state_of(folder)) children.emplace(state->parent, pid);
    });
    std::vector<pid_t> result;
    std::vector<pid_t> open{ancestor};
    while (!open.empty()) {
        const auto [first, last] = children.equal_range(open.back());
        open.pop_back();
        for (auto child = first; child != last; ++child) {
            result.push_back(child->second);
            open.push_back(child->second);
        }
    }
    return result;
}

// Reserves the port by a name in the same network namespace. The name is freed when the last
// process that has the socket ends.
bool reserve(std::uint16_t port) {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) throw_errno("cannot make a socket");
    const std::string name = "leasehold-test-port-" + std::to_string(port);
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), size) == 0) return true;
    ::close(socket);
    return false;
}

bool stands_still(pid_t pid) {
    bool still = true;
    for_each_number("/proc/" + std::to_string(pid) + "/task",
                    [&](pid_t, const std::filesystem::path& thread) {
                        const auto state = state_of(thread);
                        if (state && !std::string_view("TtZX").contains(state->state))
                            still = false;
                    });
    return still;
}

}  // namespace

void throw_errno(const std::string& what) {
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

ChildProcess::ChildProcess(const Command& command) : owner_(::getpid()) {
    if (command.arguments.empty()) throw std::runtime_error("a command needs a program");
    if (::access("/proc/thread-self/children", R_OK) != 0) {
        throw_errno("cannot follow processes by /proc/thread-self/children");
    }
    Launch launch{.argument_texts = command.arguments,
                  .environment_texts = environment_with(command.environment),
                  .arguments = {},
                  .environment = {},
                  .identity = {},
                  .folder = command.folder.string(),
                  .log = command.log.empty() ? "/dev/null" : command.log.string(),
                  .owner = owner_,
                  .report = -1};
    launch.arguments = pointers(launch.argument_texts);
    launch.environment = pointers(launch.environment_texts);
    if (!command.user.empty() && ::geteuid() == 0) launch.identity = identity_of(command.user);

    std::array<int, 2> report{};
    if (::pipe2(report.data(), O_CLOEXEC) != 0) throw_errno("cannot make a pipe");
    launch.report = report[1];
    supervisor_ = ::fork();
    if (supervisor_ == 0) supervise(launch);
    ::close(report[1]);
    if (supervisor_ < 0) {
        ::close(report[0]);
        throw_errno("cannot fork");
    }

    int error = 0;
    Report received{};
    for (;;) {
        const ssize_t size = ::read(report[0], &received, sizeof received);
        if (size < 0 && errno == EINTR) continue;
        if (size != sizeof received) break;
        (received.kind == Report::started ? pid_ : error) = received.value;
    }
    ::close(report[0]);
    if (pid_ < 0 || error != 0) {
        wait();
        throw std::runtime_error("cannot run " + command.arguments[0] + ": " +
                                 (error != 0 ? std::strerror(error) : "its supervisor ended"));
    }
}

ChildProcess::~ChildProcess() {
    if (::getpid() == owner_) kill_hard();
}

bool ChildProcess::running() {
    return !wait_for(0ms);
}

void ChildProcess::signal(int number) {
    if (::getpid() != owner_ || exit_code_) return;
    const auto ours = descendants(supervisor_);
    if (std::ranges::find(ours, pid_) != ours.end()) ::kill(pid_, number);
}

void ChildProcess::kill_hard() {
    if (::getpid() != owner_ || !running()) return;
    ::kill(supervisor_, SIGTERM);
    wait();
}

void ChildProcess::pause() {
    if (::getpid() != owner_) return;
    const auto deadline = Clock::now() + 120s;
    // Looks twice, because a process may have been started during the first look.
    for (int still_looks = 0; still_looks < 2;) {
        if (!running()) throw std::runtime_error("cannot pause a program that has ended");
        if (Clock::now() > deadline) throw std::runtime_error("the program does not stand still");
        bool still = true;
        for (const pid_t pid : descendants(supervisor_)) {
            if (stands_still(pid)) continue;
            ::kill(pid, SIGSTOP);
            still = false;
        }
        still_looks = still ? still_looks + 1 : 0;
        if (!still) std::this_thread::sleep_for(1ms);
    }
}

void ChildProcess::resume() {
    if (::getpid() != owner_ || !running()) return;
    for (const pid_t pid : descendants(supervisor_)) ::kill(pid, SIGCONT);
}

int ChildProcess::wait() {
    if (exit_code_) return *exit_code_;
    int status = 0;
    pid_t ended = -1;
    do ended = ::waitpid(supervisor_, &status, 0);
    while (ended < 0 && errno == EINTR);
    exit_code_ = ended < 0 ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return *exit_code_;
}

std::optional<int> ChildProcess::wait_for(std::chrono::milliseconds timeout) {
    const auto deadline = Clock::now() + timeout;
    while (!exit_code_) {
        siginfo_t ended{};
        const int failed =
            ::waitid(P_PID, static_cast<id_t>(supervisor_), &ended, WEXITED | WNOHANG | WNOWAIT);
        if (ended.si_pid != 0 || (failed != 0 && errno != EINTR)) {
            wait();
        } else if (Clock::now() >= deadline) {
            return std::nullopt;
        } else {
            std::this_thread::sleep_for(2ms);
        }
    }
    return exit_code_;
}

int ChildProcess::terminate(std::chrono::milliseconds timeout) {
    signal(SIGTERM);
    if (!wait_for(timeout)) kill_hard();
    return wait();
}

Finished run(Command command, std::chrono::milliseconds timeout) {
    const TemporaryFolder folder("leasehold-run");
    command.log = folder.path() / "output";
    ChildProcess process(command);
    const auto exit_code = process.wait_for(timeout);
    process.kill_hard();
    std::ifstream log(command.log);
    std::string output{std::istreambuf_iterator<char>(log), {}};
    if (!exit_code) {
        throw std::runtime_error(command.arguments[0] + " did not end within " +
                                 std::to_string(timeout.count()) + " ms; it said:\n" + output);
    }
    return {*exit_code, std::move(output)};
}

TemporaryFolder::TemporaryFolder(const std::string& prefix) : owner_(::getpid()) {
    const char* parent = std::getenv("TMPDIR");
    std::string name = std::string(parent != nullptr && *parent != '\0' ? parent : "/tmp") + "/" +
                       prefix + "-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw_errno("cannot make the folder " + name);
    path_ = name;
    if (::chmod(name.c_str(), 0755) != 0) throw_errno("cannot open the folder " + name);
}

TemporaryFolder::~TemporaryFolder() {
    if (!made_here()) return;
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

bool TemporaryFolder::made_here() const {
    return ::getpid() == owner_;
}

void TemporaryFolder::give_to(const std::string& user) const {
    if (::geteuid() != 0) return;
    const Identity identity = identity_of(user);
    if (::chown(path_.c_str(), identity.user, identity.group) != 0) {
        throw_errno("cannot give " + path_.string() + " to " + user);
    }
}

std::uint16_t free_port() {
    int outgoing_first = 32768;
    std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> outgoing_first;
    constexpr int lowest = 10000;
    if (outgoing_first <= lowest) {
        throw std::runtime_error("outgoing connections draw from port " +
                                 std::to_string(outgoing_first) + " on; tests need ports from " +
                                 std::to_string(lowest) + " on for themselves");
    }
    std::random_device random;
    std::uniform_int_distribution<int> draw(lowest, outgoing_first - 1);
    for (int attempt = 0; attempt < 1000; ++attempt) {
        const auto port = static_cast<std::uint16_t>(draw(random));
        const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (probe < 0) throw_errno("cannot make a socket");
        const int on = 1;
        ::setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const bool free =
            ::bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
        ::close(probe);
        if (free && reserve(port)) return port;
    }
    throw std::runtime_error("no free TCP port found");
}

}  // namespace leasehold::testing
