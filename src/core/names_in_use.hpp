#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include <leasehold/request.hpp>

namespace leasehold {

// What requests name: keys, lock ids and owners. Requests that clash must keep their order: both
// name the same key or lock id and one of them may change it, or one is a release_all of an owner
// and the other a try in the name of that owner, or of one above or below it. Not thread-safe.
class NamesInUse {
public:
    // Of two equal hashes of different names one waits for the other, and nothing worse happens.
    struct Name {
        std::uint64_t hash;
        bool shared;  // clashes only with a name that is not shared
    };

    // Adds the names of a request to the list.
    static void append(const Request& request, std::vector<Name>& names);

    [[nodiscard]] bool clash(std::span<const Name> names) const;
    // If it throws, nothing was added.
    void add(std::span<const Name> names);
    void remove(std::span<const Name> names) noexcept;
    void clear() noexcept { uses_.clear(); }

private:
    struct Uses {
        std::uint32_t shared = 0;
        std::uint32_t alone = 0;
    };
    std::unordered_map<std::uint64_t, Uses> uses_;
};

}  // namespace leasehold
