#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <sstream>

#include "lab/simulation.hpp"

namespace leasehold::lab {
namespace {

std::string text_of(const Recording& run) {
    std::ostringstream out;
    for (const Operation& operation : run.operations) {
        write_call(out, 0, operation);
        if (operation.returned) write_return(out, 0, operation);
    }
    return std::move(out).str();
}

TEST(Simulation, IsTheSameForTheSameSeed) {
    EXPECT_EQ(text_of(simulate_servers({.seed = 7})), text_of(simulate_servers({.seed = 7})));
    EXPECT_NE(text_of(simulate_servers({.seed = 7})), text_of(simulate_servers({.seed = 8})));
}

TEST(Simulation, OfServersWithBatchesOnADatabaseInTroubleShowsNoViolation) {
    constexpr std::uint64_t seeds = 2000;
    const auto began = std::chrono::steady_clock::now();
    std::size_t operations = 0, unknown = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const Recording run = simulate_servers({.seed = seed, .servers = 1 + seed % 3});
        const auto violations = check(run.operations, {}, &run.aftermath);
        ASSERT_TRUE(violations.empty()) << "seed " << seed << '\n' << describe(violations.front());
        operations += run.operations.size();
        for (const Operation& operation : run.operations) unknown += operation.is_unknown() ? 1 : 0;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::cout << seeds << " seeds, " << operations << " operations, " << unknown
              << " without a certain answer; "
              << static_cast<std::size_t>(static_cast<double>(operations) / took.count() * 60)
              << " operations a minute\n";
}

}  // namespace
}  // namespace leasehold::lab
