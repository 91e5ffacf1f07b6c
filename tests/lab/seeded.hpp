#pragma once

#include <string>
#include <vector>

// Bugs that are put into a copy of the code, to see whether the checker finds them.
namespace leasehold::lab {

struct SeededBug {
    std::string name;
    std::string file;  // it is in
};
extern const std::vector<SeededBug> seeded_bugs;

// The bug that is on; 0: none. Counted from 1.
inline std::size_t seeded_bug = 0;

}  // namespace leasehold::lab

namespace leasehold {

inline bool seeded(std::size_t number) {
    return lab::seeded_bug == number;
}

}  // namespace leasehold
