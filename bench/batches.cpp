// leasehold_batches URL BATCHES: gives a store batches of the same 24 kinds of requests, one after
// the other, on one thread: 6 tries, 6 checks, 6 extensions and 6 releases, of keys that were
// locked before. bench/instructions counts what the database's server does for them.
#include <leasehold/open_store.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "core/fresh_lock_id.hpp"
#include "cycle.hpp"

namespace {

using namespace leasehold;

constexpr std::size_t groups = 4;
constexpr std::size_t keys_of_a_group = 6;

Request request_of(std::size_t step, const LockKey& key, LockId& lock_id) {
    switch (step) {
        case 0: {
            const TryLockId fresh = FreshLockId::draw();
            lock_id = fresh;
            return TryLock{.key = key, .lock_id = fresh, .ttl = bench::cycle_ttl};
        }
        case 1: return Check{key, lock_id};
        case 2:
            return Extend{.key = key,
                          .lock_id = lock_id,
                          .by = bench::cycle_extension,
                          .max_ttl = std::chrono::hours{24}};
        default: return Release{.key = key, .lock_id = lock_id};
    }
}

void run(const std::string& url, std::size_t batches) {
    const auto store = open_store(url);
    std::vector<LockId> lock_ids(groups * keys_of_a_group);
    for (std::size_t batch = 0; batch < batches; ++batch) {
        std::vector<Request> requests;
        // Each group is a step behind the one before.
        for (std::size_t group = 0; group < groups && group <= batch; ++group) {
            for (std::size_t i = 0; i < keys_of_a_group; ++i) {
                const std::size_t number = group * keys_of_a_group + i;
                const LockKey key{bench::cycle_type, std::to_string(number)};
                requests.push_back(request_of((batch - group) % 4, key, lock_ids[number]));
            }
        }
        std::vector<Outcome> outcomes(requests.size());
        store->apply(requests, outcomes);
        for (const Outcome& outcome : outcomes) {
            if (!std::holds_alternative<Lease>(outcome)) {
                throw std::runtime_error{"a request was refused"};
            }
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc != 3) throw std::runtime_error{"usage: leasehold_batches URL BATCHES"};
        run(argv[1], std::stoul(argv[2]));
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "leasehold_batches: %s\n", error.what());
        return 1;
    }
}
