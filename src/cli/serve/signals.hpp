#pragma once

#include <functional>
#include <thread>

namespace leasehold::cli {

// Keeps SIGTERM, SIGINT and SIGHUP for Signals, and ignores SIGPIPE. Call it before any thread is
// made: one that was made before would take them.
void block_signals();

// Takes those signals on a thread of its own. At its end they are deadly as they were; but a hangup
// means nothing any more.
class Signals {
public:
    struct Handlers {
        std::function<void(int)> stop;  // at the first SIGTERM or SIGINT; the second ends all
        std::function<void()> reload;   // at each SIGHUP
    };

    explicit Signals(Handlers handlers);
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;
    ~Signals();

private:
    void listen();

    Handlers handlers_;
    int signals_ = -1;  // a signalfd
    int over_ = -1;     // an eventfd
    std::thread thread_;
};

}  // namespace leasehold::cli
