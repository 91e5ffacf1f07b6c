#include <gtest/gtest.h>

#include <leasehold/key_set.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace leasehold {
namespace {

KeyPattern pattern(std::string_view text) {
    auto read = KeyPattern::parse(text);
    if (!read) throw std::runtime_error{read.error()};
    return *std::move(read);
}

KeySet set(const std::vector<std::string>& texts) {
    std::vector<KeyPattern> patterns;
    for (const std::string& text : texts) patterns.push_back(pattern(text));
    return KeySet{std::move(patterns)};
}

std::vector<std::string> texts(const KeySet& keys) {
    std::vector<std::string> all;
    for (const KeyPattern& one : keys.patterns()) all.push_back(one.to_string());
    return all;
}

// Keys that begin alike, in their order.
const std::vector<LockKey> keys{
    {" ", " "},      {"A", "1"},        {"Order", " "},      {"Order", "1"},      {"Order", "10"},
    {"Order", "eu"}, {"Order", "eu-1"}, {"Order", "eu-1/x"}, {"Order", "f"},      {"Order/eu", "1"},
    {"Orders", "1"}, {"lfs", "game"},   {"lfs:", "x"},       {"lfs:game", "a/b"}, {"lfs:h", "1"}};
const std::vector<std::string> patterns{
    "*",     "Order/*",    "Order/1",      "Order/eu*", "Order/eu-*", "Order*", "Orders/1",
    "lfs:*", "lfs:game/*", "lfs:game/a/*", "l*",        "Order/10",   "A/2"};

TEST(KeyPatternTest, MatchesWhatItsTextSays) {
    const auto matched = [](const std::string& text) {
        std::string all;
        for (const LockKey& key : keys) {
            if (pattern(text).matches(key)) all += (all.empty() ? "" : ", ") + key.to_string();
        }
        return all;
    };
    EXPECT_EQ(matched("Order/1"), "Order/1");
    EXPECT_EQ(matched("Order/1*"), "Order/1, Order/10");
    EXPECT_EQ(matched("Order/eu-*"), "Order/eu-1, Order/eu-1/x");
    EXPECT_EQ(matched("Order/eu-1/*"), "Order/eu-1/x");
    EXPECT_EQ(matched("Orders/*"), "Orders/1");
    EXPECT_EQ(matched("lfs:*"), "lfs:/x, lfs:game/a/b, lfs:h/1");
    EXPECT_EQ(matched("lfs:game/*"), "lfs:game/a/b");
    EXPECT_EQ(matched("order/*"), "");
    EXPECT_TRUE(
        std::ranges::all_of(keys, [](const LockKey& key) { return pattern("*").matches(key); }));
}

TEST(KeyPatternTest, HasOneText) {
    for (const std::string& text : patterns) EXPECT_EQ(pattern(text).to_string(), text);
}

TEST(KeyPatternTest, IsRefusedWithWhatWouldBeRight) {
    const auto error = [](std::string_view text) {
        const auto read = KeyPattern::parse(text);
        return read ? "none" : read.error();
    };
    EXPECT_EQ(error(""), "a key pattern is empty; '*' is every key");
    EXPECT_EQ(error("Order"),
              "the key pattern 'Order' names no keys; write 'Order/*' for all keys of that type");
    EXPECT_EQ(error("Order/"),
              "the key pattern 'Order/' has no id after the slash; '*' is every id");
    EXPECT_EQ(error("/1"), "the key pattern '/1' has no type before the slash");
    for (const char* const star : {"*/1", "Or*er/1", "Order/*/x", "**", "Order/**"}) {
        EXPECT_EQ(error(star),
                  "the key pattern '" + std::string{star} + "' has a '*' that is not at its end");
    }
    EXPECT_NE(error("a\nb/*"), "none");
    EXPECT_NE(error("\xff/*"), "none");
    EXPECT_NE(error(std::string(300, 'x') + "/*"), "none");
    EXPECT_NE(error("Order/" + std::string(2000, 'x')), "none");
}

// On every pair of patterns, and on every key.
TEST(KeyPatternTest, CoversOrHasNothingInCommon) {
    for (const std::string& a : patterns) {
        for (const std::string& b : patterns) {
            const KeyPattern one = pattern(a);
            const KeyPattern two = pattern(b);
            for (const LockKey& key : keys) {
                if (one.covers(two) && two.matches(key)) {
                    EXPECT_TRUE(one.matches(key)) << a << b << key.to_string();
                }
                if (one.matches(key) && two.matches(key)) {
                    EXPECT_TRUE(one.covers(two) || two.covers(one)) << a << " " << b;
                }
                EXPECT_EQ(set({a}).common(set({b})).has(key), one.matches(key) && two.matches(key));
                EXPECT_EQ(set({a, b}).has(key), one.matches(key) || two.matches(key));
            }
        }
    }
}

TEST(KeyPatternTest, MatchesKeysThatLieSideBySide) {
    for (const std::string& text : patterns) {
        const KeyPattern one = pattern(text);
        for (const LockKey& key : keys) {
            if (one.matches(key)) {
                EXPECT_GE(key, one.first()) << text << " " << key.to_string();
            }
            const bool after = key >= one.first() && !one.matches(key);
            EXPECT_EQ(one.ends_before(key), after) << text << " " << key.to_string();
            EXPECT_TRUE(!one.matches(key) || one.has_keys_of(key.type()));
        }
    }
}

TEST(KeySetTest, KeepsTheWidestPatternsInTheOrderOfKeys) {
    EXPECT_TRUE(KeySet{}.has_every_key());
    EXPECT_EQ(texts(set({"lfs:game/*", "Order/1", "lfs:*", "Order/1", "Order/eu-*"})),
              (std::vector<std::string>{"Order/1", "Order/eu-*", "lfs:*"}));
    EXPECT_TRUE(set({"Order/1", "*", "lfs:*"}).has_every_key());
    EXPECT_FALSE(KeySet{std::vector<KeyPattern>{}}.has({"Order", "1"}));
}

TEST(KeySetTest, CoversAnotherIfItHasAllItsKeys) {
    EXPECT_TRUE(set({"Order/*", "lfs:*"}).covers(set({"lfs:game/*", "Order/1"})));
    EXPECT_FALSE(set({"Order/*", "lfs:game/*"}).covers(set({"lfs:*"})));
    EXPECT_TRUE(KeySet{}.covers(set({"*"})));
    EXPECT_FALSE(set({"Order/*"}).covers(KeySet{}));
}

}  // namespace
}  // namespace leasehold
