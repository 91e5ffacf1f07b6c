#include <gtest/gtest.h>

#include <string_view>

#include "core/columns.hpp"

namespace leasehold {
namespace {

// A row of a database whose columns all have this number.
struct RowOf {
    [[nodiscard]] std::int64_t integer(int /*column*/) const { return number; }
    std::int64_t number;
};

template <class Enum>
std::string fault_of(std::int64_t number) {
    Enum field{};
    try {
        read_field(RowOf{number}, 0, field);
    } catch (const StoreFault& fault) {
        EXPECT_EQ(fault.effect(), StoreFault::Effect::none);
        EXPECT_EQ(fault.cause(), StoreFault::Cause::internal);
        return fault.what();
    }
    return "none";
}

TEST(Columns, ReadEveryModeAndEveryEnd) {
    Mode mode{};
    for (const Mode known : {Mode::exclusive, Mode::shared}) {
        read_field(RowOf{number_of(known)}, 0, mode);
        EXPECT_EQ(mode, known);
    }
    Gone gone{};
    for (const Gone known :
         {Gone::unknown, Gone::expired, Gone::released, Gone::taken, Gone::broken}) {
        read_field(RowOf{number_of(known)}, 0, gone);
        EXPECT_EQ(gone, known);
    }
}

TEST(Columns, ANumberThatIsNoModeOrEndIsAFaultThatNamesIt) {
    for (const std::int64_t number : {-1, 2, 7}) {
        EXPECT_NE(fault_of<Mode>(number).find("\"mode\" " + std::to_string(number)),
                  std::string::npos);
    }
    for (const std::int64_t number : {-1, 5, 7}) {
        EXPECT_NE(fault_of<Gone>(number).find("\"ended\" " + std::to_string(number)),
                  std::string::npos);
    }
}

}  // namespace
}  // namespace leasehold
