// grant_forever URL PREFIX: takes one key after the other, releases every third, and prints a line
// after each answer, until it is killed.
#include <unistd.h>

#include <cstdio>
#include <string>

#include <leasehold/leasehold.hpp>

namespace {

void say(const std::string& line) {
    if (write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
        _exit(1);
}

std::string told(const char* what, const leasehold::Lease& lease) {
    return std::string{what} + ' ' + std::string{lease.key.id()} + ' ' + lease.lock_id.to_string() +
           ' ' + std::to_string(lease.fence) + '\n';
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: grant_forever URL PREFIX\n", stderr);
        return 2;
    }
    try {
        leasehold::LockManager locks{leasehold::open_store(argv[1])};
        for (int i = 0;; ++i) {
            const leasehold::LockKey key{"Order", argv[2] + std::to_string(i)};
            const auto lease =
                locks.try_lock(key, {.owner = "child", .ttl = std::chrono::hours{1}});
            if (!lease) {
                if (lease.error().kind == leasehold::Refusal::Kind::busy) continue;
                say("refused " + lease.error().message() + '\n');
                return 1;
            }
            say(told("granted", *lease));
            if (i % 3 == 0 && locks.release(key, lease->lock_id)) say(told("released", *lease));
        }
    } catch (const std::exception& error) {
        say(std::string{"failed "} + error.what() + '\n');
        return 1;
    }
}
