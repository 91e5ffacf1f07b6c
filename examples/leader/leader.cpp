// Start it several times: leader sqlite:jobs.db host-1
// One of them works. End it (Ctrl+C) or kill it, and another takes over.
#include <chrono>
#include <csignal>
#include <iostream>
#include <leasehold/leasehold.hpp>
#include <thread>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
    if (argc != 3) return std::cerr << "usage: leader STORE NAME\n", 2;
    const std::string name = argv[2];
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGINT);
    sigaddset(&end, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &end, nullptr);  // in the threads to come, too

    leasehold::LockManager locks{leasehold::open_store(argv[1])};
    const auto work = [&](const std::stop_token& stop, leasehold::Fence fence) {
        std::cout << name << " leads with fence " << fence << std::endl;
        while (!stop.stop_requested()) std::this_thread::sleep_for(50ms);
        std::cout << name << " stops" << std::endl;
    };
    const leasehold::Leader leader{locks, {"Leader", "clock"}, {.name = name, .ttl = 2s}, work};
    int signal = 0;
    sigwait(&end, &signal);
}
