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

std::string describe(const std::vector<Violation>& violations) {
    std::ostringstream text;
    for (const Violation& violation : violations) {
        text << violation.rule << ": " << violation.what << '\n';
        for (const Operation* operation : violation.operations) {
            write_call(text, 0, *operation);
            if (operation->returned) write_return(text, 0, *operation);
        }
    }
    return std::move(text).str();
}

TEST(Checker, RaisesNoAlarmOnCleanHistories) {
    std::size_t operations = 0, answered = 0, unknown = 0;
    for (std::uint64_t seed = 1; operations < 100'000; ++seed) {
        const Recording run = simulate_memory(seed);
        const auto violations = check(run.operations, {}, &run.aftermath);
        ASSERT_TRUE(violations.empty()) << "seed " << seed << '\n' << describe(violations);
        operations += run.operations.size();
        for (const Operation& operation : run.operations)
            ++(operation.is_unknown() ? unknown : answered);
    }
    EXPECT_GT(unknown, 1000U);
    std::cout << operations << " operations, " << unknown << " without an answer, no alarm\n";
}

TEST(Simulation, IsTheSameForTheSameSeed) {
    const auto text = [](const Recording& run) {
        std::ostringstream out;
        for (const Operation& operation : run.operations) {
            write_call(out, 0, operation);
            if (operation.returned) write_return(out, 0, operation);
        }
        return std::move(out).str();
    };
    EXPECT_EQ(text(simulate_memory(7)), text(simulate_memory(7)));
    EXPECT_NE(text(simulate_memory(7)), text(simulate_memory(8)));
}

}  // namespace
}  // namespace leasehold::lab
