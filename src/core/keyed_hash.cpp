#include "core/keyed_hash.hpp"

#include <span>

#include "core/random.hpp"

namespace leasehold {

const HashKey& hash_key() {
    static const HashKey key = [] {
        HashKey drawn{};
        fill_with_random(std::as_writable_bytes(std::span{drawn}));
        return drawn;
    }();
    return key;
}

}  // namespace leasehold
