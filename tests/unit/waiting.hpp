#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace leasehold::testing {

// Long enough for a busy machine under a sanitizer; a test that works never waits for it.
inline constexpr std::chrono::seconds patience{60};

// Waits for a condition; false where it did not come true in time.
template <class Condition>
[[nodiscard]] bool eventually(Condition condition, std::chrono::milliseconds timeout = patience) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return true;
}

// Threads of which each makes one blocking call. Joins them at the end; one that hangs could never
// be joined and ends the program.
class Callers {
public:
    Callers() = default;
    Callers(const Callers&) = delete;
    Callers& operator=(const Callers&) = delete;
    ~Callers() {
        if (wait_until_returned()) return;
        std::fputs("somebody was left waiting\n", stderr);
        std::abort();
    }

    void start(std::function<void()> call) {
        auto& caller = callers_.emplace_back(std::make_unique<Caller>());
        caller->thread = std::jthread{[&state = *caller, call = std::move(call)] {
            state.id = gettid();
            call();
            state.returned = true;
        }};
    }

    // Every caller that has not returned sleeps in its call: it has been queued.
    [[nodiscard]] bool wait_until_asleep() const {
        int seen = 0;
        return eventually([&] {
            seen = std::ranges::all_of(callers_, asleep) ? seen + 1 : 0;
            return seen == 3;  // not just asleep on a mutex for a moment
        });
    }

    [[nodiscard]] bool wait_until_returned() const {
        return eventually([&] {
            return std::ranges::all_of(callers_, [](const auto& c) { return c->returned.load(); });
        });
    }

private:
    struct Caller {
        std::atomic<pid_t> id{0};
        std::atomic<bool> returned{false};
        std::jthread thread;
    };

    static bool asleep(const std::unique_ptr<Caller>& caller) {
        if (caller->returned) return true;
        if (caller->id == 0) return false;
        std::ifstream file{"/proc/self/task/" + std::to_string(caller->id) + "/stat"};
        std::string stat;
        std::getline(file, stat);
        const auto name_end = stat.rfind(')');
        return name_end != std::string::npos && stat.substr(name_end).starts_with(") S");
    }

    std::vector<std::unique_ptr<Caller>> callers_;
};

}  // namespace leasehold::testing
