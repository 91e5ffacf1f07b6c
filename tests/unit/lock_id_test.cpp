#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <leasehold/lock_id.hpp>
#include <leasehold/request.hpp>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_set>
#include <vector>

#include "core/fresh_lock_id.hpp"

namespace leasehold::testing {
namespace {

TEST(LockId, IsPrintedAsAUuidOfVersionEight) {
    for (int i = 0; i < 1000; ++i) {
        const std::string text = LockId::random().to_string();
        ASSERT_EQ(text.size(), 36U);
        for (std::size_t at = 0; at < text.size(); ++at) {
            const bool dash = at == 8 || at == 13 || at == 18 || at == 23;
            if (dash) {
                EXPECT_EQ(text[at], '-') << text;
            } else {
                EXPECT_TRUE(std::string{"0123456789abcdef"}.contains(text[at])) << text;
            }
        }
        EXPECT_EQ(text[14], '8') << text;
        EXPECT_TRUE(std::string{"89ab"}.contains(text[19])) << text;
    }
}

TEST(LockId, ComesInTheOrderOfTime) {
    const LockId before = LockId::random();
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    EXPECT_LT(before, LockId::random());
    EXPECT_LT(before.to_string(), LockId::random().to_string());
}

TEST(LockId, ReadsWhatItPrints) {
    for (int i = 0; i < 1000; ++i) {
        const LockId id = LockId::random();
        const auto read = LockId::parse(id.to_string());
        ASSERT_TRUE(read) << read.error();
        EXPECT_EQ(*read, id);
    }
}

TEST(LockId, KeepsEveryDigitInItsPlace) {
    const std::string text = "01234567-89ab-cdef-fedc-ba9876543210";
    EXPECT_EQ(LockId::parse(text).value().to_string(), text);
}

TEST(LockId, ReadsUpperCase) {
    const auto id = LockId::parse("ABCDEF01-2345-4789-ABCD-EF0123456789");
    ASSERT_TRUE(id);
    EXPECT_EQ(id->to_string(), "abcdef01-2345-4789-abcd-ef0123456789");
    EXPECT_EQ(*id, LockId::parse("abcdef01-2345-4789-abcd-ef0123456789").value());
}

TEST(LockId, RefusesEverythingElseWithoutRepeatingIt) {
    for (const std::string bad : {
             "",
             "-",
             "x",
             "01234567-89ab-4def-8edc-ba987654321",    // too short
             "01234567-89ab-4def-8edc-ba98765432100",  // too long
             "01234567-89ab-4def-8edc-ba987654321g",   // not hexadecimal
             "0123456789ab-4def-8edc-ba9876543210-",   // a dash elsewhere
             "01234567089ab-4def-8edc-ba987654321",    // a dash missing
             "01234567+89ab+4def+8edc+ba9876543210",   // not dashes
             "{01234567-89ab-4def-8edc-ba987654321}",  // in braces
             " 1234567-89ab-4def-8edc-ba9876543210",   // with a space
             "0123456789ab4def8edcba9876543210",       // without dashes
             "01234567-89ab-4def-8edc-ba98765432\xC3\xBC",
         }) {
        const auto id = LockId::parse(bad);
        ASSERT_FALSE(id) << bad;
        EXPECT_EQ(id.error(), "a lock id is a UUID: 32 hexadecimal digits, 8-4-4-4-12");
    }
}

TEST(LockId, IsNilByDefault) {
    EXPECT_TRUE(LockId{}.is_nil());
    EXPECT_EQ(LockId{}.to_string(), "00000000-0000-0000-0000-000000000000");
    EXPECT_EQ(LockId::parse("00000000-0000-0000-0000-000000000000").value(), LockId{});
    EXPECT_FALSE(LockId::random().is_nil());
    EXPECT_FALSE(LockId::parse("00000000-0000-0000-0000-000000000001").value().is_nil());
    EXPECT_FALSE(LockId::parse("10000000-0000-0000-0000-000000000000").value().is_nil());
}

TEST(LockId, IsDrawnDifferentEachTimeOnEveryThread) {
    constexpr std::size_t threads = 4;
    constexpr std::size_t draws = 10'000;
    std::mutex mutex;
    std::unordered_set<LockId> seen;
    {
        std::vector<std::jthread> drawing;
        for (std::size_t t = 0; t < threads; ++t) {
            drawing.emplace_back([&] {
                std::vector<LockId> mine(draws);
                for (LockId& id : mine) id = LockId::random();
                const std::lock_guard lock{mutex};
                seen.insert(mine.begin(), mine.end());
            });
        }
    }
    EXPECT_EQ(seen.size(), threads * draws);
}

TEST(LockId, EveryRandomBitChanges) {
    constexpr std::size_t digits_of_time = 8;
    std::set<char> seen[36];
    for (int i = 0; i < 1000; ++i) {
        const std::string text = LockId::random().to_string();
        for (std::size_t at = 0; at < text.size(); ++at) seen[at].insert(text[at]);
    }
    for (std::size_t at = digits_of_time; at < 36; ++at) {
        const bool dash = at == 8 || at == 13 || at == 18 || at == 23;
        const std::size_t expected = dash || at == 14 ? 1U : at == 19 ? 4U : 16U;
        EXPECT_EQ(seen[at].size(), expected) << "at digit " << at;
    }
}

// What a forked child draws next, in text.
std::string drawn_by_a_child(std::size_t ids) {
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) return {};
    const pid_t child = fork();
    if (child == 0) {
        std::string text;
        for (std::size_t i = 0; i < ids; ++i) text += LockId::random().to_string();
        const bool written = write(pipe_ends[1], text.data(), text.size()) == std::ssize(text);
        _exit(written ? 0 : 1);
    }
    close(pipe_ends[1]);
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = read(pipe_ends[0], buffer, sizeof buffer)) > 0;) {
        text.append(buffer, static_cast<std::size_t>(got));
    }
    close(pipe_ends[0]);
    waitpid(child, nullptr, 0);
    return text;
}

TEST(LockId, AForkDoesNotRepeatWhatItsParentDraws) {
    constexpr std::size_t ids = 50;
    (void)LockId::random();  // so that there is something to inherit
    std::set<std::string> seen;
    for (int child = 0; child < 3; ++child) {
        const std::string text = drawn_by_a_child(ids);
        ASSERT_EQ(text.size(), ids * 36);
        for (std::size_t i = 0; i < ids; ++i) seen.insert(text.substr(i * 36, 36));
    }
    for (std::size_t i = 0; i < ids; ++i) seen.insert(LockId::random().to_string());
    EXPECT_EQ(seen.size(), 4 * ids);
}

TEST(FreshLockId, IsFreshOnlyUntilItIsSent) {
    TryLockId drawn = FreshLockId::draw();
    EXPECT_TRUE(FreshLockId::is_fresh(drawn));
    EXPECT_NE(drawn, LockId{});
    const LockId before = drawn;
    FreshLockId::mark_as_sent(drawn);
    EXPECT_FALSE(FreshLockId::is_fresh(drawn));
    EXPECT_EQ(drawn, before);
}

TEST(FreshLockId, IsNeverOneThatTheCallerBrings) {
    EXPECT_FALSE(FreshLockId::is_fresh(TryLockId{LockId::random()}));
    EXPECT_FALSE(FreshLockId::is_fresh(TryLockId{}));
    const LockId own = LockId::random();
    TryLockId assigned = FreshLockId::draw();
    assigned = own;
    EXPECT_FALSE(FreshLockId::is_fresh(assigned));
    EXPECT_EQ(assigned, own);
}

}  // namespace
}  // namespace leasehold::testing
