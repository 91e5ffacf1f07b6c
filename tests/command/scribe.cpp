// leasehold_scribe FILE: appends its fence to the file again and again and never ends by itself:
// it, a child of its, and one in a session of its own, all deaf to SIGTERM. Whether two ran at once
// is then to be read in the file.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
    const char* const fence = std::getenv("LEASEHOLD_FENCE");
    if (argc != 2 || fence == nullptr) return 2;
    std::signal(SIGTERM, SIG_IGN);
    if (::fork() == 0 && ::fork() == 0) ::setsid();
    const int file = ::open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const std::string line = std::string{fence} + "\n";
    for (;;) {
        if (::write(file, line.data(), line.size()) < 0) return 1;
        ::usleep(2000);
    }
}
