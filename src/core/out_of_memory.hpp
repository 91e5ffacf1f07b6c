#pragma once

#include <leasehold/errors.hpp>

#include <chrono>
#include <new>
#include <thread>

// What is done if memory runs out: the request that met it is answered with a fault, and everything
// else goes on.
namespace leasehold {

// The fault for a request that could not be handled for lack of memory. Needs no memory itself once
// it has been called before; a Batcher calls it when it is made.
[[nodiscard]] const StoreFault& out_of_memory(StoreFault::Effect effect);

// Ends the process, and says on stderr that there was no memory for this long.
[[noreturn]] void end_for_lack_of_memory() noexcept;
inline constexpr std::chrono::seconds longest_wait_for_memory{30};

// Does something small that must be done. Waits while no memory is free: other requests end and
// free theirs. If none is free for longest_wait_for_memory the process cannot go on, and ends.
template <class Do>
void do_for_certain(Do act) {
    const auto begun = std::chrono::steady_clock::now();
    for (;;) {
        try {
            return act();
        } catch (const std::bad_alloc&) {
            if (std::chrono::steady_clock::now() > begun + longest_wait_for_memory) {
                end_for_lack_of_memory();
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
    }
}

}  // namespace leasehold
