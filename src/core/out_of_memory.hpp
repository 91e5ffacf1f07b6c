#pragma once

#include <leasehold/errors.hpp>

#include <new>

#include "core/retry.hpp"

// If memory runs out, the request that met it is answered with a fault, and everything else goes
// on.
namespace leasehold {

// The fault for a request that could not be handled for lack of memory. Needs no memory itself once
// it has been called before; a Batcher calls it when it is made.
[[nodiscard]] const StoreFault& out_of_memory(StoreFault::Effect effect);

// Ends the process, and says on stderr that no memory was free for retries::memory_patience.
[[noreturn]] void end_for_lack_of_memory() noexcept;

// Does something small that must be done. Waits while no memory is free: other requests end and
// free theirs. If none is free for retries::memory_patience, the process cannot go on, and ends.
template <class Do>
void do_for_certain(Do act, Duration longest_wait = retries::memory_patience) {
    Retry retry{retries::no_memory, SteadyClock::now() + longest_wait};
    for (;;) {
        try {
            return act();
        } catch (const std::bad_alloc&) {
            if (!retry.pause()) end_for_lack_of_memory();
        }
    }
}

}  // namespace leasehold
