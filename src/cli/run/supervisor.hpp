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

// Until when the command may run: it is asked to end at `end_at`, and killed at `kill_at`.
struct Deadline {
    SteadyClock::time_point end_at = SteadyClock::time_point::max();
    SteadyClock::time_point kill_at = SteadyClock::time_point::max();
};

enum class Foreground : std::uint8_t { no, yes };  // of the terminal

// To the supervisor process.
struct Order {
    enum class Kind : std::uint8_t { start, deadline, signal, kill };
    Kind kind;
    Foreground foreground = Foreground::no;
    int signal = 0;
    Deadline deadline{};
    Fence fence = 0;
    std::array<char, 40> lock_id{};  // empty: not for the command
};

// From the supervisor process.
struct Event {
    enum class Kind : std::uint8_t {
        started,      // value: the process, which leads a process group of its own
        not_started,  // value: errno
        paused,       // value: the signal
        ended         // value: as waitpid() tells it
    };
    enum class Cause : std::uint8_t { itself, stopped };
    Kind kind;
    Cause cause = Cause::itself;
    int value = 0;
};

// A small process of its own that runs the command and ends it when its deadline passes. It does so
// also while this process is stopped, and when this process is gone: the command never outlives the
// last deadline that was set, nor its supervisor.
//
// The command has ended when its process group has; what it left elsewhere is adopted and killed
// only where the command had to be stopped. deadline() is for any thread, the rest for one.
class Supervisor {
public:
    struct Command {
        std::vector<std::string> arguments{};  // first the program
        std::string type{};
        std::string id{};
        // From being asked to end until being killed, where nobody set a deadline that is earlier.
        Duration grace{};
    };

    // Forks: to be made before there are threads.
    explicit Supervisor(const Command& command);
    Supervisor(const Supervisor&) = delete;
    Supervisor& operator=(const Supervisor&) = delete;
    ~Supervisor();

    void start(const Deadline& deadline, Fence fence, const std::string& lock_id,
               Foreground foreground);
    void deadline(const Deadline& deadline);
    void signal(int number);
    // Everything the command started, at once.
    void kill();

    // Readable when there is an event.
    [[nodiscard]] int events() const noexcept { return socket_; }
    // Nothing where the supervisor is gone; everything it ran is then killed.
    [[nodiscard]] std::optional<Event> next_event();

    // The command's process group, once it has started.
    [[nodiscard]] pid_t group() const noexcept { return group_; }
    // Ends a supervisor that does not do its work; the next event is that it is gone.
    void replace() const;

    // Returns when the supervisor is gone, and the command with it.
    void dismiss();

private:
    void send(const Order& order) const;
    void kill_orphans();

    int socket_ = -1;  // closed with the process: other threads may be sending
    pid_t process_ = -1;
    pid_t group_ = -1;
};

// What the supervisor process does.
[[noreturn]] void supervise(int socket, const Supervisor::Command& command);

}  // namespace leasehold::cli
