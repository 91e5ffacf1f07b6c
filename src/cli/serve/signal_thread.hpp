#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace leasehold::cli {

// Blocks SIGTERM, SIGINT and SIGHUP for SignalThread, and ignores SIGPIPE. Call it before any
// thread is started: an earlier thread would receive these signals.
void block_signals();

// Handles these signals on a thread of its own. After its end SIGTERM and SIGINT kill the process
// again; SIGHUP is ignored.
class SignalThread {
public:
    struct Handlers {
        std::function<void(int)> stop;  // at the first SIGTERM or SIGINT; the second ends all
        // A process that is still there so long after the first signal ends at once.
        std::chrono::seconds longest_stop = std::chrono::seconds{30};
        std::function<void()> reload;  // at each SIGHUP
        // Every now and then, if there is one.
        std::function<void()> tick{};
        std::chrono::milliseconds between_ticks = std::chrono::seconds{2};
    };

    explicit SignalThread(Handlers handlers);
    SignalThread(const SignalThread&) = delete;
    SignalThread& operator=(const SignalThread&) = delete;
    ~SignalThread();

private:
    void listen();

    Handlers handlers_;
    int signals_ = -1;  // a signalfd
    int over_ = -1;     // an eventfd: this object ends
    std::thread thread_;
};

}  // namespace leasehold::cli
