#include <gtest/gtest.h>

#include <leasehold/stores/memory.hpp>

#include <sstream>

#include "lab/simulation.hpp"

namespace leasehold::lab {
namespace {

Recording simulate_memory(std::uint64_t seed) {
    return simulate({.seed = seed},
                    [](std::function<Time()> clock) { return memory::open({}, std::move(clock)); });
}

TEST(Checker, RaisesNoAlarmOnCleanHistories) {
    std::size_t operations = 0, answered = 0, unknown = 0;
    for (std::uint64_t seed = 1; operations < 100'000; ++seed) {
        const Recording run = simulate_memory(seed);
        const auto violations = check(run.operations, {}, &run.aftermath);
        ASSERT_TRUE(violations.empty()) << "seed " << seed << '\n' << describe(violations.front());
        operations += run.operations.size();
        for (const Operation& operation : run.operations)
            ++(operation.is_unknown() ? unknown : answered);
    }
    EXPECT_GT(unknown, 1000U);
    std::cout << operations << " operations, " << unknown << " without an answer, no alarm\n";
}

}  // namespace
}  // namespace leasehold::lab
