#include <gtest/gtest.h>

#include "core/key_template.hpp"

namespace leasehold {
namespace {

using Kind = KeyTemplate::Part::Kind;

// "text {column} ..." for the parts.
std::string shown(const KeyTemplate::Parts& parts) {
    return sql_expression(
        parts, " ", [](const std::string& text) { return text; },
        [](const std::string& column) { return "{" + column + "}"; });
}

TEST(KeyTemplates, AreSplitAtTheFirstSlashOutsideBraces) {
    const auto check = [](std::string_view text, const std::string& type, const std::string& id) {
        const auto key = KeyTemplate::parse(text);
        ASSERT_TRUE(key) << key.error();
        EXPECT_EQ(shown(key->type()), type) << text;
        EXPECT_EQ(shown(key->id()), id) << text;
        EXPECT_EQ(key->with_columns([](const std::string& name) { return name; }).text(), text);
    };
    check("Order/{id}", "Order", "{id}");
    check("{tenant}:Order/{order_no}", "{tenant} :Order", "{order_no}");
    check("File/{folder}/{name}.txt", "File", "{folder} / {name} .txt");
    check("Order/{a/b}", "Order", "{a/b}");
    check("{a/b}/{b}", "{a/b}", "{b}");
    check("Orders/all", "Orders", "all");
    check("주문/{번호}", "주문", "{번호}");
}

TEST(KeyTemplates, NameEachColumnOnce) {
    const auto key = KeyTemplate::parse("{a}{b}/{b}{c}{a}");
    ASSERT_TRUE(key);
    EXPECT_EQ(key->columns(), (std::vector<std::string>{"a", "b", "c"}));
}

TEST(KeyTemplates, ThatMakeNoKeyAreRefusedWithTheReason) {
    const auto refused = [](std::string_view text, std::string_view words) {
        const auto key = KeyTemplate::parse(text);
        return !key && key.error().contains(words);
    };
    EXPECT_TRUE(refused("", "no '/'"));
    EXPECT_TRUE(refused("Order", "no '/'"));
    EXPECT_TRUE(refused("{a/b}", "no '/'"));
    EXPECT_TRUE(refused("Order/", "no valid key"));
    EXPECT_TRUE(refused("/{id}", "no valid key"));
    EXPECT_TRUE(refused("Order/{", "'{' without '}'"));
    EXPECT_TRUE(refused("Order/{id", "'{' without '}'"));
    EXPECT_TRUE(refused("Order/}", "'}' without '{'"));
    EXPECT_TRUE(refused("Order/{}", "without a column"));
    EXPECT_TRUE(refused("Or\nder/{id}", "no valid key"));
    EXPECT_TRUE(refused("\xff/{id}", "no valid key"));
    EXPECT_TRUE(refused(std::string(200, 'x') + "/{id}", "no valid key"));
}

}  // namespace
}  // namespace leasehold
