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

// Does something small that must be done. Waits for memory if there is none: other requests end and
// free theirs.
template <class Do>
void do_for_certain(Do act) {
    for (;;) {
        try {
            return act();
        } catch (const std::bad_alloc&) {
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
    }
}

}  // namespace leasehold
