#include "cli/input.hpp"

#include <gtest/gtest.h>

#include <leasehold/errors.hpp>

#include "core/unique_owner.hpp"

namespace leasehold::cli {
namespace {

using namespace std::chrono_literals;

TEST(Durations, AreNumbersWithUnitsTheLargerFirst) {
    EXPECT_EQ(parse_duration("250ms"), Duration{250ms});
    EXPECT_EQ(parse_duration("90s"), Duration{90s});
    EXPECT_EQ(parse_duration("5m"), Duration{5min});
    EXPECT_EQ(parse_duration("1h30m"), Duration{90min});
    EXPECT_EQ(parse_duration("1d2h3m4s5ms"), Duration{24h + 2h + 3min + 4s + 5ms});
    EXPECT_EQ(parse_duration("0"), Duration::zero());
    EXPECT_EQ(parse_duration("0s"), Duration::zero());
}

TEST(Durations, AreRefusedWhereTheyCouldMeanAnythingElse) {
    for (const char* const text : {"", "90", "s", "-1s", "+1s", "1.5s", "1m1h", "1s1s", "1 s",
                                   "1sec", "1S", "5m30", "99999999999999999999s", "40000d"}) {
        const auto duration = parse_duration(text);
        EXPECT_FALSE(duration) << text;
    }
    EXPECT_NE(parse_duration("90").error().find("'90' has no unit; write 90s for seconds"),
              std::string::npos);
}

TEST(Durations, AreWrittenAsTheyAreRead) {
    EXPECT_EQ(in_words(250ms), "250ms");
    EXPECT_EQ(in_words(90s), "1m30s");
    EXPECT_EQ(in_words(1s + 400ms), "1s");
    EXPECT_EQ(in_words(1h), "1h");
    EXPECT_EQ(in_words(25h + 30min), "1d1h");
    EXPECT_EQ(in_words(1h + 5s), "1h");
    EXPECT_EQ(in_words(Duration::zero()), "0s");
    EXPECT_EQ(in_words(-90s), "-1m30s");
}

TEST(Keys, AreSplitAtTheFirstSlash) {
    EXPECT_EQ(key_from("Order/1", ""), (LockKey{"Order", "1"}));
    EXPECT_EQ(key_from("File/etc/hosts", ""), (LockKey{"File", "etc/hosts"}));
    EXPECT_EQ(key_from("File//etc/hosts", ""), (LockKey{"File", "/etc/hosts"}));
}

TEST(Keys, OfAGivenTypeAreTheIdAsItIs) {
    EXPECT_EQ(key_from("a/b", "shop/Order"), (LockKey{"shop/Order", "a/b"}));
}

TEST(Keys, WithoutASlashAreNamesOfDistLock) {
    EXPECT_EQ(key_from("nightly-report", ""), (LockKey{"dist_lock", "nightly-report"}));
}

TEST(Keys, OfNothingAreRefused) {
    for (const char* const text : {"", "/", "Order/", "/1", "Order/\x01"}) {
        EXPECT_THROW((void)key_from(text, ""), BadRequest) << text;
    }
}

TEST(Owners, AreNeverTheSameTwice) {
    const std::string one = unique_owner("alice", "run");
    EXPECT_TRUE(one.starts_with("alice/run-")) << one;
    EXPECT_NE(one, unique_owner("alice", "run"));
}

}  // namespace
}  // namespace leasehold::cli
