#include <gtest/gtest.h>

#include <leasehold/errors.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/lock_key.hpp>
#include <string>
#include <unordered_set>

#include "core/text.hpp"

namespace leasehold::testing {
namespace {

std::string problem_of_text(std::string_view text, Lines lines = Lines::one,
                            std::size_t max_bytes = 100) {
    return text_problem("the text", text, max_bytes, lines).value_or("");
}

TEST(Text, GoodTextHasNoProblem) {
    for (const char* good :
         {"", "plain", "with space ", "ümläut", "日本語", "\U0001F512", "\u007E",
          "\u00A0 and \u07FF", "\u0800 and \uFFFF", "\U00010000 and \U0010FFFF"}) {
        EXPECT_EQ(problem_of_text(good), "") << good;
    }
}

TEST(Text, TheLimitCountsBytes) {
    EXPECT_EQ(problem_of_text(std::string(100, 'x')), "");
    EXPECT_EQ(problem_of_text(std::string(101, 'x')),
              "the text is 101 bytes long; at most 100 are allowed");
    std::string umlauts;
    for (int i = 0; i < 50; ++i) umlauts += "ü";
    EXPECT_EQ(problem_of_text(umlauts), "");
    EXPECT_NE(problem_of_text(umlauts + "x"), "");
}

TEST(Text, ControlCharactersAreRefusedWithTheirPlace) {
    EXPECT_EQ(problem_of_text("ab\x01"), "the text contains a control character at byte 2");
    EXPECT_EQ(problem_of_text(std::string_view{"a\0b", 3}),
              "the text contains a control character at byte 1");
    EXPECT_EQ(problem_of_text("\x7F"), "the text contains a control character at byte 0");
    EXPECT_EQ(problem_of_text("a\u0085"), "the text contains a control character at byte 1");
    EXPECT_EQ(problem_of_text("\x1F"), "the text contains a control character at byte 0");
    EXPECT_EQ(problem_of_text("ü\n"), "the text contains a control character at byte 2");
}

TEST(Text, ManyLinesMayHaveTabsAndLineBreaksButNothingElse) {
    EXPECT_EQ(problem_of_text("a\tb\r\nc\n", Lines::many), "");
    EXPECT_NE(problem_of_text("a\tb"), "");
    EXPECT_NE(problem_of_text("a\rb"), "");
    EXPECT_NE(problem_of_text(std::string_view{"a\0b", 3}, Lines::many), "");
    EXPECT_NE(problem_of_text("a\x1B[31mb", Lines::many), "");
    EXPECT_NE(problem_of_text("a\x7F", Lines::many), "");
}

TEST(Text, IllFormedUtf8IsRefused) {
    for (const std::string_view bad : {
             "\x80",
             "\xBF",  // a continuation without a start
             "\xC3",
             "\xE2\x82",
             "\xF0\x9F\x94",  // cut short
             "\xC0\xAF",
             "\xC1\xBF",  // overlong, two bytes
             "\xE0\x80\x80",
             "\xE0\x9F\xBF",  // overlong, three
             "\xF0\x80\x80\x80",
             "\xF0\x8F\xBF\xBF",  // overlong, four
             "\xED\xA0\x80",
             "\xED\xBF\xBF",  // surrogates
             "\xF4\x90\x80\x80",
             "\xF5\x80\x80\x80",  // beyond U+10FFFF
             "\xFE",
             "\xFF",
             "\xC3(",
             "\xE2(\xA1",
             "\xE2\x82(",
             "\xF0\x9F\x94(",
         }) {
        EXPECT_EQ(problem_of_text(bad), "the text is not valid UTF-8 at byte 0")
            << ::testing::PrintToString(bad);
        EXPECT_EQ(problem_of_text("ok " + std::string{bad}),
                  "the text is not valid UTF-8 at byte 3");
    }
}

TEST(LockKey, HasATypeAndAnId) {
    const LockKey key{"Order", "1"};
    EXPECT_EQ(key.type(), "Order");
    EXPECT_EQ(key.id(), "1");
    EXPECT_EQ(key.to_string(), "Order/1");
}

TEST(LockKey, IsRefusedWhereAPartIsEmpty) {
    EXPECT_EQ(LockKey::parse("", "1").error(), "the key's type is empty");
    EXPECT_EQ(LockKey::parse("Order", "").error(), "the key's id is empty");
    EXPECT_THROW((LockKey{"", "1"}), BadRequest);
    EXPECT_THROW((LockKey{"Order", ""}), BadRequest);
}

TEST(LockKey, IsRefusedWhereAPartIsTooLong) {
    const std::string type(Limits::type_bytes, 't');
    const std::string id(Limits::id_bytes, 'i');
    EXPECT_TRUE(LockKey::parse(type, id));
    EXPECT_EQ(LockKey::parse(type + "t", id).error(),
              "the key's type is 129 bytes long; at most 128 are allowed");
    EXPECT_EQ(LockKey::parse(type, id + "i").error(),
              "the key's id is 513 bytes long; at most 512 are allowed");
}

TEST(LockKey, IsRefusedWhereAPartIsIllFormed) {
    EXPECT_FALSE(LockKey::parse("Or\nder", "1"));
    EXPECT_FALSE(LockKey::parse("Order", "\xFF"));
    EXPECT_FALSE(LockKey::parse("Order", std::string_view{"1\0", 2}));
    EXPECT_THROW((LockKey{"Order", "\xED\xA0\x80"}), BadRequest);
}

TEST(LockKey, ParsesToWhatTheConstructorMakes) {
    EXPECT_EQ(LockKey::parse("Order", "ü/\U0001F512").value(), (LockKey{"Order", "ü/\U0001F512"}));
}

TEST(LockKey, IsOneLockOnlyWithEqualBytes) {
    const std::vector<LockKey> different{
        {"Order", "k"},   {"Order", "K"},      {"Order", "k "},      {"Order", " k"},
        {"order", "k"},   {"Order", "\u1E31"}, {"Order", "k\u0301"}, {"Order", "\U0001F512"},
        {"Order/k", "k"}, {"Order", "k/k"},    {"Orde", "rk"},       {"Order", "0"},
    };
    std::unordered_set<LockKey> set;
    for (const LockKey& key : different) set.insert(key);
    EXPECT_EQ(set.size(), different.size());
    for (const LockKey& key : different) EXPECT_TRUE(set.contains(LockKey{key.type(), key.id()}));
}

TEST(LockKey, IsOrderedByTypeThenId) {
    EXPECT_LT((LockKey{"A", "2"}), (LockKey{"B", "1"}));
    EXPECT_LT((LockKey{"A", "1"}), (LockKey{"A", "2"}));
    EXPECT_LT((LockKey{"A", "z"}), (LockKey{"A", "ü"}));  // by bytes, not by signed characters
}

TEST(Harmless, LeavesNothingThatActsOnATerminal) {
    EXPECT_EQ(harmless("Größe 日本 👩‍💻"), "Größe 日本 👩‍💻");
    EXPECT_EQ(harmless("a\nb\tc\x1b[31m\x7f"), "a b c [31m ");
    EXPECT_EQ(harmless("a\u202Eb\u2066c\u2028d\u009B\uFEFF\u200F"), "a b c d   ");
    EXPECT_EQ(harmless("a\xFF\xC3"), "a  ");
    EXPECT_EQ(harmless("\U000E0041"), " ");
    EXPECT_EQ(harmless(""), "");
}

TEST(Harmless, JsonMeansTheSame) {
    EXPECT_EQ(harmless_json("{\"a\":\"Größe 日本\"}"), "{\"a\":\"Größe 日本\"}");
    EXPECT_EQ(harmless_json("\"a\u202Eb\x7f\u009B\U000E0041\""),
              "\"a\\u202eb\\u007f\\u009b\\udb40\\udc41\"");
    EXPECT_EQ(harmless_json("\"\xFF\""), "\"\\ufffd\"");
}

}  // namespace
}  // namespace leasehold::testing
