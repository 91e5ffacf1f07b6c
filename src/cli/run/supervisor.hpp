#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <leasehold/lease.hpp>
#include <leasehold/time.hpp>

namespace leasehold::cli {

// The command gets SIGTERM at `end_at` and SIGKILL at `kill_at`.
struct Deadline {
    SteadyClock::time_point end_at = SteadyClock::time_point::max();
    SteadyClock::time_point kill_at = SteadyClock::time_point::max();
};

// Whether the command gets the variables that let it ask the store: its URL and the token.
enum class PassStore : std::uint8_t { no, yes };

enum class Foreground : std::uint8_t { no, yes };  // of the terminal

// A message to the supervisor process.
struct Order {
    enum class Kind : std::uint8_t { start, deadline, signal, kill };
    Kind kind;
    Foreground foreground = Foreground::no;
    int signal = 0;
    Deadline deadline{};
    Fence fence = 0;
    std::array<char, 40> lock_id{};  // empty: the command does not get it
};

// A message from the supervisor process.
struct Event {
    enum class Kind : std::uint8_t {
        started,      // value: the process, which leads a process group of its own
        not_started,  // value: errno
        paused,       // value: the signal
        ended         // value: the status of waitpid()
    };
    enum class Cause : std::uint8_t { itself, stopped };
    Kind kind;
    Cause cause = Cause::itself;
    int value = 0;
};

// Runs the command in a small process of its own, the supervisor, which ends the command when its
// deadline passes, even if this process is stopped or gone. The command never outlives its last
// deadline or its supervisor.
//
// The command has ended when its process group is empty. Processes that it started in other groups
// are killed only if the command had to be stopped. deadline() may be called on any thread, the
// rest on one thread.
class Supervisor {
public:
    struct Command {
        std::vector<std::string> arguments{};  // the program comes first
        std::string type{};
        std::string id{};
        PassStore store = PassStore::no;
        // The time from SIGTERM to SIGKILL, unless the deadline is earlier.
        Duration grace{};
    };

    // Forks: construct it before any thread is started.
    explicit Supervisor(const Command& command);
    Supervisor(const Supervisor&) = delete;
    Supervisor& operator=(const Supervisor&) = delete;
    ~Supervisor();

    void start(const Deadline& deadline, Fence fence, const std::string& lock_id,
               Foreground foreground);
    void deadline(const Deadline& deadline);
    void signal(int number);
    // Kills everything that the command started.
    void kill();

    // Readable when there is an event.
    [[nodiscard]] int events() const noexcept { return socket_; }
    // Nothing if the supervisor is gone; everything it ran has been killed then.
    [[nodiscard]] std::optional<Event> next_event();

    // The command's process group, once it has started.
    [[nodiscard]] pid_t group() const noexcept { return group_; }
    // Kills a supervisor that does not respond; next_event() then finds it gone.
    void replace() const;

    // Ends the supervisor and the command; returns when both are gone.
    void dismiss();

private:
    void send(const Order& order) const;
    void kill_orphans();

    int socket_ = -1;  // never closed: other threads may be sending
    pid_t process_ = -1;
    pid_t group_ = -1;
};

// The main function of the supervisor process.
[[noreturn]] void supervise(int socket, const Supervisor::Command& command);

}  // namespace leasehold::cli
