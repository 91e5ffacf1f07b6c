#include <leasehold/errors.hpp>

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iterator>

#include "cli/input.hpp"
#include "cli/listing.hpp"
#include "cli/output.hpp"

namespace leasehold::cli {
namespace {

using namespace std::chrono_literals;

// More leases do not fit on any screen.
constexpr std::size_t most_shown = 1000;

struct WatchOptions {
    Selection selection;
    std::optional<Duration> every;
};

// A file to poll for Ctrl-C, for the end of the terminal and for changes of its size.
class TerminalSignals {
public:
    TerminalSignals() {
        sigset_t set;
        sigemptyset(&set);
        for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) sigaddset(&set, number);
        ::sigprocmask(SIG_BLOCK, &set, nullptr);
        file_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    }
    TerminalSignals(const TerminalSignals&) = delete;
    TerminalSignals& operator=(const TerminalSignals&) = delete;
    ~TerminalSignals() { ::close(file_); }

    [[nodiscard]] int file() const noexcept { return file_; }
    [[nodiscard]] bool end() const {
        signalfd_siginfo signal{};
        bool ending = false;
        while (::read(file_, &signal, sizeof signal) == sizeof signal) {
            ending = ending || signal.ssi_signo != SIGWINCH;
        }
        return ending;
    }

private:
    int file_ = -1;
};

struct Size {
    std::size_t rows = 24;
    std::size_t columns = 80;
};

// Switches to the terminal's other screen, without a cursor and with unbuffered keys. The
// destructor restores the terminal.
class Screen {
public:
    Screen() {
        has_keys_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
        if (has_keys_) {
            termios keys = before_;
            keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
            keys.c_cc[VMIN] = 0;
            keys.c_cc[VTIME] = 0;
            ::tcsetattr(STDIN_FILENO, TCSANOW, &keys);
        }
        write("\x1b[?1049h\x1b[?25l");
    }
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;
    ~Screen() {
        write("\x1b[?25h\x1b[?1049l");
        if (has_keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    }

    [[nodiscard]] static Size size() {
        winsize window{};
        if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_row == 0) return {};
        return {window.ws_row, window.ws_col};
    }

    // Overwrites the old lines in one write, so that nothing flickers.
    static void draw(const std::vector<std::string>& lines) {
        std::string picture{"\x1b[H"};
        for (std::size_t i = 0; i < lines.size(); ++i) {
            picture.append(i > 0 ? "\r\n" : "").append("\x1b[2K").append(lines[i]);
        }
        write(picture + (lines.size() < size().rows ? "\r\n\x1b[J" : ""));
    }

    // Whether q was pressed.
    [[nodiscard]] bool quit() const {
        char key = 0;
        while (has_keys_ && ::read(STDIN_FILENO, &key, 1) == 1) {
            if (key == 'q' || key == 'Q' || key == 3) return true;
        }
        return false;
    }
    [[nodiscard]] int keys() const { return has_keys_ ? STDIN_FILENO : -1; }

private:
    static void write(const std::string& text) {
        for (std::size_t at = 0; at < text.size();) {
            const ssize_t size = ::write(STDOUT_FILENO, text.data() + at, text.size() - at);
            if (size <= 0) return;
            at += static_cast<std::size_t>(size);
        }
    }

    bool has_keys_ = false;
    termios before_{};
};

// Asks the store for its leases, again and again.
class Source {
public:
    Source(const Invocation& call, const Selection& selection)
        : call_{call}, selection_{selection} {}

    void ask() {
        if (!locks_) {
            locks_ = std::make_unique<LockManager>(open_shared_store(call_));
            name_ = locks_->status().name;
        }
        holders_ = select(*locks_, selection_, most_shown);
    }
    [[nodiscard]] const HolderPage& holders() const { return holders_; }
    [[nodiscard]] Time now() const { return holders_.store_now; }
    [[nodiscard]] const std::string& name() const { return name_; }

private:
    const Invocation& call_;
    const Selection& selection_;
    std::unique_ptr<LockManager> locks_;
    std::string name_;
    HolderPage holders_;
};

std::vector<std::string> picture_of(const Source& source, const std::string& trouble) {
    const Size size = Screen::size();
    const std::size_t count = source.holders().size();
    const std::string leases =
        spoken(count == 1 ? phrases::watched_one : phrases::watched,
               {{"count", std::to_string(count) + (count == most_shown ? "+" : "")}});
    const std::string heading =
        "leasehold  " + source.name() + "  " + local_time(source.now()) + "  " + leases;
    std::vector<std::string> lines{painted(fitted(heading, size.columns), Colour::dim)};
    if (!trouble.empty()) {
        lines.push_back(painted(fitted(trouble, size.columns), Colour::red));
    }
    std::ranges::move(table_of(source.holders()).lines(size.columns), std::back_inserter(lines));
    if (lines.size() > size.rows) {
        const std::size_t hidden = lines.size() - size.rows + 1;
        lines.resize(size.rows - 1);
        lines.push_back(painted(
            fitted(spoken(phrases::and_more, {{"count", std::to_string(hidden)}}), size.columns),
            Colour::dim));
    }
    return lines;
}

int watch_on_screen(const Invocation& call, const WatchOptions& options, Duration every) {
    Source source{call, options.selection};
    source.ask();  // fails before the screen changes if the store cannot be opened
    const TerminalSignals signals;
    const Screen screen;
    std::string trouble;
    for (;;) {
        Screen::draw(picture_of(source, trouble));
        std::array<pollfd, 2> ready{{{signals.file(), POLLIN, 0}, {screen.keys(), POLLIN, 0}}};
        ::poll(ready.data(), ready.size(),
               static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(every).count()));
        if (signals.end() || screen.quit() || (ready[1].revents & POLLHUP) != 0) return done;
        try {
            source.ask();
            trouble.clear();
        } catch (const StoreFault& fault) {
            trouble = fault.what();
        }
    }
}

void print_changes(const HolderPage& before, const HolderPage& now) {
    const auto tell = [time = now.store_now](const Holder& holder, const char* what) {
        say(to_string(time) + ' ' + what + ' ' + holder.key.to_string() + " fence " +
            std::to_string(holder.fence) + ' ' + named(holder.owner));
    };
    const auto has = [](const HolderPage& list, const Holder& one) {
        return std::ranges::any_of(list, [&one](const Holder& other) {
            return other.fence == one.fence && other.key == one.key;
        });
    };
    for (const Holder& holder : before) {
        if (!has(now, holder)) tell(holder, "ended");
    }
    for (const Holder& holder : now) {
        if (!has(before, holder)) tell(holder, "held");
    }
}

int watch_as_lines(const Invocation& call, const WatchOptions& options, Duration every) {
    Source source{call, options.selection};
    const TerminalSignals signals;
    HolderPage before;
    source.ask();
    for (;;) {
        print_changes(before, source.holders());
        before = source.holders();
        (void)flush_output();
        pollfd ready{signals.file(), POLLIN, 0};
        ::poll(&ready, 1,
               static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(every).count()));
        if (signals.end() || !flush_output()) return done;
        try {
            source.ask();
        } catch (const StoreFault& fault) {
            complain(fault.what());
        }
    }
}

}  // namespace

void add_watch(CLI::App& app, Invocation& call) {
    const auto options = std::make_shared<WatchOptions>();
    Subcommand command{app, "watch", "Show who holds what, live; q ends it",
                       "  leasehold watch\n"
                       "  leasehold watch --type Order --every 250ms\n"
                       "  leasehold watch | grep Order      # a line for each change"};
    add_selection(command, call, options->selection);
    command.duration("--every", options->every, "how often to ask the store (1s)");
    command.shows(call, [&call, options] {
        const Duration every = options->every.value_or(1s);
        if (every < 50ms || every > 1h) throw BadRequest{"--every takes 50ms to 1h"};
        return ::isatty(STDOUT_FILENO) == 1 ? watch_on_screen(call, *options, every)
                                            : watch_as_lines(call, *options, every);
    });
}

}  // namespace leasehold::cli
