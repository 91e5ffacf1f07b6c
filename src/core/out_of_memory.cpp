#include "core/out_of_memory.hpp"

namespace leasehold {

const StoreFault& out_of_memory(StoreFault::Effect effect) {
    static const StoreFault none{StoreFault::Effect::none, StoreFault::Cause::unavailable,
                                 "there is not enough memory for this request; nothing was done"};
    static const StoreFault unknown{
        StoreFault::Effect::unknown, StoreFault::Cause::unavailable,
        "there was not enough memory for this request; it may have been carried out"};
    return effect == StoreFault::Effect::none ? none : unknown;
}

}  // namespace leasehold
