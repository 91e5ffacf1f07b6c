#include "core/out_of_memory.hpp"

#include <cstdio>
#include <cstdlib>

namespace leasehold {

const StoreFault& out_of_memory(StoreFault::Effect effect) {
    static const StoreFault none{StoreFault::Effect::none, StoreFault::Cause::unavailable,
                                 "there is not enough memory for this request; nothing was done"};
    static const StoreFault unknown{
        StoreFault::Effect::unknown, StoreFault::Cause::unavailable,
        "there was not enough memory for this request; it may have been carried out"};
    return effect == StoreFault::Effect::none ? none : unknown;
}

void end_for_lack_of_memory() noexcept {
    (void)std::fprintf(stderr, "leasehold: no memory for %d seconds: the process ends\n",
                       static_cast<int>(retries::memory_patience.count()));
    std::_Exit(EXIT_FAILURE);
}

}  // namespace leasehold
