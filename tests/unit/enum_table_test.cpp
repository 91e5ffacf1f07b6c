#include "core/enum_table.hpp"

#include <cstdint>
#include <type_traits>

#include <gtest/gtest.h>

namespace leasehold {
namespace {

enum class Fruit : std::uint8_t { apple, pear, plum };

constexpr EnumTable<Fruit, std::string_view> names{
    {{Fruit::apple, "apple"}, {Fruit::pear, "pear"}, {Fruit::plum, "plum"}}};

using Names = EnumTable<Fruit, std::string_view>;

// Whether a table with this many rows compiles.
template <std::size_t rows>
inline constexpr bool takes_rows = std::is_constructible_v<Names, const Names::Row (&)[rows]>;

TEST(EnumTable, HasOneRowForEachEnumerator) {
    static_assert(enum_size<Fruit> == 3);
    static_assert(takes_rows<3>);
    static_assert(!takes_rows<2>);
    static_assert(!takes_rows<4>);
    EXPECT_EQ(names[Fruit::plum], "plum");
}

TEST(EnumTable, FindsAnEnumeratorByItsValue) {
    EXPECT_EQ(names.find("pear"), Fruit::pear);
    EXPECT_EQ(names.find("nut"), std::nullopt);
}

TEST(EnumArray, CountsForEachEnumerator) {
    EnumArray<Fruit, int> counts;
    ++counts[Fruit::pear];
    EXPECT_EQ(counts[Fruit::apple], 0);
    EXPECT_EQ(counts[Fruit::pear], 1);
    static_assert(counts.size() == 3);
}

}  // namespace
}  // namespace leasehold
