// The short form of the laboratory: every fault once on every store. The long form is
// tests/faults/soak.
#include <filesystem>
#include <iostream>
#include <string>

#include "faults/laboratory/report.hpp"
#include "faults/laboratory/round.hpp"

namespace leasehold::faults {
namespace {

// Every key is granted about four times between two faults. The long form waits for more.
constexpr std::size_t grants_between_faults = 4 * keys_of_load;

class Laboratory : public ::testing::TestWithParam<const char*> {
protected:
    static void expect_no_violation_under_each_fault(Wired wired) {
        const testing::TemporaryFolder folder;
        Ground ground{GetParam(), wired};
        const Round round = run_round(
            ground,
            {.grants_between = grants_between_faults,
             .go_on = [](std::size_t strikes, std::size_t kinds) { return strikes < kinds; }},
            folder.path());
        std::cout << table({round});
        EXPECT_GT(round.strikes.size(), 1U);
        EXPECT_TRUE(round.violations.empty())
            << some_of(round.violations) << "its history is in " << keep(folder.path(), wired);
    }

private:
    static std::filesystem::path keep(const std::filesystem::path& recordings, Wired wired) {
        const auto kept = std::filesystem::absolute("histories") /
                          (GetParam() + std::string{wired == Wired::clocks ? "-clocks" : ""});
        std::filesystem::remove_all(kept);
        std::filesystem::create_directories(kept);
        std::filesystem::copy(recordings, kept, std::filesystem::copy_options::recursive);
        return kept;
    }
};

const auto by_name = [](const auto& store) { return std::string{store.param}; };

INSTANTIATE_TEST_SUITE_P(, Laboratory,
                         ::testing::Values("sqlite", "postgres", "mysql", "mariadb", "etcd"),
                         by_name);
TEST_P(Laboratory, FindsNoViolationUnderAnyFault) {
    expect_no_violation_under_each_fault(Wired::disk);
}

// etcd has no clock that could be set, because its time is a key that Leasehold writes.
class LaboratoryOfClocks : public Laboratory {};
INSTANTIATE_TEST_SUITE_P(, LaboratoryOfClocks,
                         ::testing::Values("sqlite", "postgres", "mysql", "mariadb"), by_name);
TEST_P(LaboratoryOfClocks, FindsNoViolationWhenClocksAreSet) {
    expect_no_violation_under_each_fault(Wired::clocks);
}

}  // namespace
}  // namespace leasehold::faults
