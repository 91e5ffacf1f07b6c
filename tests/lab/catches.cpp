#include "lab/catches.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace leasehold::lab {

void Catches::add(const std::vector<Violation>& violations) {
    ++runs_;
    runs_with_any_ += violations.empty() ? 0 : 1;
    for (const Violation& violation : violations) rules_.insert(violation.rule);
}

std::string Catches::to_string() const {
    return fmt::format("in {} of {} runs ({})", runs_with_any_, runs_, fmt::join(rules_, ", "));
}

}  // namespace leasehold::lab
