#include <gtest/gtest.h>

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include <leasehold/leasehold.hpp>

#include "command/host.hpp"
#include "faults/databases.hpp"

namespace leasehold::command {
namespace {

using namespace std::chrono_literals;

// A person at a terminal.
class Person {
public:
    Person(std::vector<std::string> arguments, const std::string& store) {
        std::vector<char*> pointers;
        for (std::string& argument : arguments) pointers.push_back(argument.data());
        pointers.push_back(nullptr);
        winsize size{.ws_row = 10, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
        program_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
        if (program_ == 0) {
            ::setenv("LEASEHOLD_STORE", store.c_str(), 1);
            ::setenv("LEASEHOLD", LEASEHOLD_COMMAND, 1);
            ::setenv("PS1", "prompt> ", 1);
            ::setenv("TERM", "xterm", 1);
            ::unsetenv("NO_COLOR");
            ::execvp(pointers[0], pointers.data());
            ::_exit(127);
        }
    }
    Person(const Person&) = delete;
    Person& operator=(const Person&) = delete;
    ~Person() {
        ::close(terminal_);
        if (program_ > 0) {
            ::kill(program_, SIGKILL);
            ::waitpid(program_, nullptr, 0);
        }
    }

    void types(const std::string& keys) const {
        EXPECT_EQ(::write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
    }
    // Waits for it, and goes on reading behind it.
    [[nodiscard]] bool sees(const std::string& text) {
        const auto deadline = SteadyClock::now() + 60s;
        while (SteadyClock::now() < deadline) {
            if (const std::size_t at = seen_.find(text, read_to_); at != std::string::npos) {
                read_to_ = at + text.size();
                return true;
            }
            pollfd ready{terminal_, POLLIN, 0};
            ::poll(&ready, 1, 100);
            std::array<char, 4096> bytes{};
            if (ready.revents == 0) continue;
            const ssize_t size = ::read(terminal_, bytes.data(), bytes.size());
            if (size <= 0) break;
            seen_.append(bytes.data(), static_cast<std::size_t>(size));
        }
        return seen_.find(text, read_to_) != std::string::npos;
    }
    [[nodiscard]] const std::string& seen() const { return seen_; }
    [[nodiscard]] termios settings() const {
        termios all{};
        ::tcgetattr(terminal_, &all);
        return all;
    }
    [[nodiscard]] int waits() {
        // What it still writes must have a reader.
        (void)sees("\xFF never written");
        int status = 0;
        ::waitpid(program_, &status, 0);
        program_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

private:
    int terminal_ = -1;
    pid_t program_ = -1;
    std::string seen_;
    std::size_t read_to_ = 0;
};

class AtATerminal : public ::testing::Test {
protected:
    Person with_shell() const { return Person{{"bash", "--norc", "--noediting", "-i"}, store_}; }
    const std::string& store() const { return store_; }

private:
    testing::TemporaryFolder folder_;
    std::string store_ = "sqlite:" + (folder_.path() / "locks.db").string();
};

TEST_F(AtATerminal, TheCommandReadsTheKeyboardAndCanBeSuspended) {
    Person person = with_shell();
    ASSERT_TRUE(person.sees("prompt> "));
    person.types("$LEASEHOLD run job -- sh -c 'echo up; exec sed -u s/e/E/g'\n");
    ASSERT_TRUE(person.sees("\nup")) << person.seen();
    person.types("hello\n");
    EXPECT_TRUE(person.sees("hEllo")) << person.seen();
    person.types("\x1a");
    EXPECT_TRUE(person.sees("Stopped")) << person.seen();
    person.types("fg\n");
    person.types("next\n");
    EXPECT_TRUE(person.sees("nExt")) << person.seen();
    person.types("\x04");
    EXPECT_TRUE(person.sees("prompt> ")) << person.seen();
    person.types("echo code=$?\n");
    EXPECT_TRUE(person.sees("\ncode=0")) << person.seen();
}

TEST_F(AtATerminal, CtrlCEndsTheCommandAndTheLockIsFree) {
    Person person = with_shell();
    ASSERT_TRUE(person.sees("prompt> "));
    person.types("$LEASEHOLD run job -- sh -c 'echo up; exec sleep 1000'\n");
    ASSERT_TRUE(person.sees("\nup")) << person.seen();
    person.types("\x03");
    ASSERT_TRUE(person.sees("prompt> ")) << person.seen();
    person.types("echo code=$?; $LEASEHOLD who job\n");
    EXPECT_TRUE(person.sees("code=130")) << person.seen();
    EXPECT_TRUE(person.sees("nobody holds dist_lock/job")) << person.seen();
}

TEST_F(AtATerminal, ACommandInAPipelineGetsTheTerminalWhenItReads) {
    Person person = with_shell();
    ASSERT_TRUE(person.sees("prompt> "));
    person.types("$LEASEHOLD run job -- sed -u s/e/E/g | cat\n");
    person.types("hello\n");
    EXPECT_TRUE(person.sees("hEllo")) << person.seen();
    person.types("\x04");
    EXPECT_TRUE(person.sees("prompt> ")) << person.seen();
}

TEST_F(AtATerminal, TheNextCommandOfAScriptHasTheTerminalAgain) {
    Person person{{"sh", "-c",
                   "$LEASEHOLD run job -- true; $LEASEHOLD run job -- /no/such; "
                   "echo ready; read line; echo got-$line"},
                  store()};
    ASSERT_TRUE(person.sees("ready")) << person.seen();
    person.types("it\n");
    EXPECT_TRUE(person.sees("got-it")) << person.seen();
}

TEST_F(AtATerminal, SuspendingWithoutAShellDoesNotStopItForEver) {
    Person person{
        {LEASEHOLD_COMMAND, "run", "job", "--", "sh", "-c", "echo up; exec sed -u s/e/E/g"},
        store()};
    ASSERT_TRUE(person.sees("up")) << person.seen();
    person.types("\x1a");
    person.types("hello\n");
    EXPECT_TRUE(person.sees("hEllo")) << person.seen();
    person.types("\x04");
    EXPECT_EQ(person.waits(), 0) << person.seen();
}

TEST_F(AtATerminal, ColoursAreForPeopleWhoWantThem) {
    LockManager locks{open_store(store())};
    ASSERT_TRUE(locks.try_lock({"Order", "1"}, {.owner = "alice"}));
    Person person{{"sh", "-c", "$LEASEHOLD ls; NO_COLOR=1 $LEASEHOLD ls; echo end"}, store()};
    ASSERT_TRUE(person.sees("\x1b[1mKEY")) << person.seen();
    ASSERT_TRUE(person.sees("\nKEY")) << person.seen();
    EXPECT_TRUE(person.sees("end"));
}

TEST_F(AtATerminal, WatchShowsChangesAsTheyHappenAndLeavesTheTerminalAsItWas) {
    LockManager locks{open_store(store())};
    for (const char* const keys : {"q", "\x03"}) {
        Person person{{LEASEHOLD_COMMAND, "watch", "--every", "50ms"}, store()};
        ASSERT_TRUE(person.sees("\x1b[?1049h")) << person.seen();
        ASSERT_TRUE(person.sees("0 leases")) << person.seen();
        const auto lease = locks.try_lock({"Order", "1"}, {.owner = "alice"});
        ASSERT_TRUE(lease);
        EXPECT_TRUE(person.sees("Order/1")) << person.seen();
        EXPECT_EQ(person.settings().c_lflag & static_cast<tcflag_t>(ECHO), 0U);
        ASSERT_TRUE(locks.release(lease->lock_id));
        EXPECT_TRUE(person.sees("0 leases")) << person.seen();
        person.types(keys);
        EXPECT_TRUE(person.sees("\x1b[?1049l")) << person.seen();
        const bool echoes = faults::eventually(
            [&] { return (person.settings().c_lflag & static_cast<tcflag_t>(ECHO)) != 0; });
        EXPECT_TRUE(echoes);
        EXPECT_EQ(person.waits(), 0);
    }
}

TEST_F(AtATerminal, WatchFitsTheTerminalAndSaysWhatItHides) {
    LockManager locks{open_store(store())};
    for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE(locks.try_lock({"Order", std::to_string(i)}, {.note = std::string(200, 'x')}));
    }
    Person person{{LEASEHOLD_COMMAND, "watch"}, store()};
    // Ten lines: the title, the headings, seven leases, and this one.
    EXPECT_TRUE(person.sees("and 13 more")) << person.seen();
    EXPECT_EQ(person.seen().find(std::string(101, 'x')), std::string::npos);
    person.types("q");
    EXPECT_EQ(person.waits(), 0);
}

TEST_F(AtATerminal, WatchTellsChangesByLinesElsewhere) {
    LockManager locks{open_store(store())};
    const auto lease = locks.try_lock({"Order", "1"}, {.owner = "alice"});
    ASSERT_TRUE(lease);
    Host host{{"watch", "--every", "50ms"}, store()};
    const auto says = [&](const std::string& text) {
        return faults::eventually([&] { return host.output().find(text) != std::string::npos; });
    };
    EXPECT_TRUE(says(" held Order/1 fence " + std::to_string(lease->fence) + " alice\n"));
    ASSERT_TRUE(locks.release(lease->lock_id));
    EXPECT_TRUE(says(" ended Order/1 fence "));
    host.signal(SIGTERM);
    EXPECT_TRUE(faults::eventually([&] { return host.exit_code() == 0; }));
}

}  // namespace
}  // namespace leasehold::command
