// leasehold_lab_load URL NAME SEED CLIENTS KEYS each|common FILE: clients that ask until they are
// ended by a signal.
#include <csignal>
#include <cstdio>
#include <string>

#include "lab/load.hpp"

int main(int argc, char** argv) {
    if (argc != 8) {
        std::fputs("usage: leasehold_lab_load URL NAME SEED CLIENTS KEYS each|common FILE\n",
                   stderr);
        return 2;
    }
    sigset_t endings;
    sigemptyset(&endings);
    sigaddset(&endings, SIGTERM);
    sigaddset(&endings, SIGINT);
    pthread_sigmask(SIG_BLOCK, &endings, nullptr);
    try {
        using Connections = leasehold::lab::LoadOptions::Connections;
        const leasehold::lab::Load load{{.url = argv[1],
                                         .name = argv[2],
                                         .seed = std::stoull(argv[3]),
                                         .clients = std::stoul(argv[4]),
                                         .keys = std::stoul(argv[5]),
                                         .record = argv[7],
                                         .connections = std::string{argv[6]} == "common"
                                                            ? Connections::common
                                                            : Connections::each}};
        int signal = 0;
        sigwait(&endings, &signal);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
