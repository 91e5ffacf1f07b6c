#include "cycle.hpp"

#include <stdexcept>

namespace leasehold::bench {

std::string cycle_id(std::size_t thread, std::uint64_t k) {
    constexpr std::uint64_t keys_of_a_thread = 1000;
    return std::to_string(thread) + '-' + std::to_string(k % keys_of_a_thread);
}

void expect(bool done, const char* step) {
    if (!done) throw std::runtime_error{std::string{"a cycle's "} + step + " was refused"};
}

}  // namespace leasehold::bench
