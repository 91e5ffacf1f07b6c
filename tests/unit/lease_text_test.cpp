#include <gtest/gtest.h>

#include <chrono>
#include <leasehold/lease.hpp>
#include <leasehold/refusal_texts.hpp>
#include <leasehold/store_status.hpp>
#include <optional>
#include <string_view>

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_days;

const Time morning = Time{sys_days{2026y / 11 / 15}} + 9h + 20min;

Holder alice() {
    return {.key = {"Order", "1"},
            .owner = "alice/tab-2",
            .mode = Mode::exclusive,
            .fence = 7,
            .granted_at = morning,
            .expires_at = morning + 5min,
            .note = ""};
}

Refusal held_by(std::vector<Holder> holders) {
    Refusal refusal;
    refusal.kind = Refusal::Kind::held;
    refusal.holders = std::move(holders);
    refusal.store_now = morning;
    return refusal;
}

Refusal gone(Gone reason, std::string by = "", std::string why = "") {
    Refusal refusal;
    refusal.reason = reason;
    refusal.by = std::move(by);
    refusal.why = std::move(why);
    return refusal;
}

TEST(LeaseText, PrintsTimesToTheMicrosecondInUtc) {
    EXPECT_EQ(to_string(morning), "2026-11-15T09:20:00.000000Z");
    EXPECT_EQ(to_string(morning + 1us), "2026-11-15T09:20:00.000001Z");
    EXPECT_EQ(to_string(morning - 1us), "2026-11-15T09:19:59.999999Z");
    EXPECT_EQ(to_string(Time{}), "1970-01-01T00:00:00.000000Z");
    EXPECT_EQ(to_string(Time{} - 1us), "1969-12-31T23:59:59.999999Z");
    EXPECT_EQ(to_string(Time{sys_days{2028y / 2 / 29}}), "2028-02-29T00:00:00.000000Z");
    EXPECT_EQ(to_string(never), "never");
}

TEST(LeaseText, PrintsTimesBeyondFourDigitsAsTheLastThatFit) {
    EXPECT_EQ(to_string(Time{sys_days{9999y / 12 / 31}}), "9999-12-31T00:00:00.000000Z");
    EXPECT_EQ(to_string(Time{sys_days{10'000y / 1 / 1}}), "9999-12-31T23:59:59.999999Z");
    EXPECT_EQ(to_string(never - 1us), "9999-12-31T23:59:59.999999Z");
    EXPECT_EQ(to_string(Time{sys_days{-1y / 1 / 1}}), "0000-01-01T00:00:00.000000Z");
}

TEST(LeaseText, AHeldKeyNamesThePersonAndTheTimeLeft) {
    EXPECT_EQ(held_by({alice()}).message(), "Order/1 is held by alice for at most 5 minutes more");
}

TEST(LeaseText, TheTimeLeftIsRoundedUpToAUnitThatAPersonCountsIn) {
    const auto message_for = [](Duration left) {
        Holder holder = alice();
        holder.expires_at = morning + left;
        const std::string message = held_by({holder}).message();
        return message.substr(std::string_view{"Order/1 is held by alice for "}.size());
    };
    EXPECT_EQ(message_for(0us), "a moment more");
    EXPECT_EQ(message_for(-1h), "a moment more");
    EXPECT_EQ(message_for(1us), "at most 1 second more");
    EXPECT_EQ(message_for(1s + 1us), "at most 2 seconds more");
    EXPECT_EQ(message_for(90s), "at most 90 seconds more");
    EXPECT_EQ(message_for(119s + 1us), "at most 2 minutes more");
    EXPECT_EQ(message_for(2min), "at most 2 minutes more");
    EXPECT_EQ(message_for(2min + 1us), "at most 3 minutes more");
    EXPECT_EQ(message_for(24h), "at most 24 hours more");
    EXPECT_EQ(message_for(48h), "at most 2 days more");
}

TEST(LeaseText, APersonIsNamedByTheFirstPartOfThePath) {
    EXPECT_EQ(gone(Gone::taken, "bob/session-7/tab-2").message(),
              "the lease has expired and bob took the key");
    EXPECT_EQ(gone(Gone::broken, "root/console").message(), "the lease was broken by root");
}

TEST(LeaseText, AHeldKeyShowsTheNote) {
    Holder holder = alice();
    holder.note = "back at ten";
    EXPECT_TRUE(held_by({holder}).message().ends_with("(back at ten)"));
}

TEST(LeaseText, AnAnonymousHolderIsSomebody) {
    Holder holder = alice();
    holder.owner = "";
    EXPECT_TRUE(held_by({holder}).message().starts_with("Order/1 is held by somebody for"));
}

TEST(LeaseText, AnEndlessLeaseSaysSo) {
    Holder holder = alice();
    holder.expires_at = never;
    EXPECT_TRUE(held_by({holder}).message().ends_with(" until it is released"));
}

TEST(LeaseText, SharedHoldersAreCounted) {
    Holder holder = alice();
    holder.mode = Mode::shared;
    const std::string message = held_by({holder, holder, holder}).message();
    EXPECT_TRUE(message.starts_with("Order/1 is shared by alice for")) << message;
    EXPECT_TRUE(message.ends_with(" and 2 more")) << message;
}

TEST(LeaseText, AKeyThatIsJustBeingTakenHasNobodyToNameYet) {
    EXPECT_EQ(held_by({}).message(), "somebody else holds the key");
}

TEST(LeaseText, ALostLeaseSaysWhy) {
    EXPECT_EQ(gone(Gone::unknown).message(), "no such lease is known");
    EXPECT_EQ(gone(Gone::expired).message(), "the lease has expired");
    EXPECT_EQ(gone(Gone::released).message(), "the lease has been released");
    EXPECT_EQ(gone(Gone::taken, "bob").message(), "the lease has expired and bob took the key");
    EXPECT_EQ(gone(Gone::taken).message(), "the lease has expired and somebody took the key");
    EXPECT_EQ(gone(Gone::broken, "root", "on holiday").message(),
              "the lease was broken by root: on holiday");
    EXPECT_EQ(gone(Gone::broken, "root").message(), "the lease was broken by root");
}

TEST(LeaseText, ABusyLeaseAsksForPatience) {
    Refusal refusal;
    refusal.kind = Refusal::Kind::busy;
    EXPECT_EQ(refusal.message(), "an open transaction is using this lock; try again in a moment");
}

TEST(LeaseText, EveryWordIsTheDesigns) {
    EXPECT_STREQ(to_string(Mode::exclusive), "exclusive");
    EXPECT_STREQ(to_string(Mode::shared), "shared");
    EXPECT_STREQ(to_string(Gone::unknown), "unknown");
    EXPECT_STREQ(to_string(Gone::expired), "expired");
    EXPECT_STREQ(to_string(Gone::released), "released");
    EXPECT_STREQ(to_string(Gone::taken), "taken");
    EXPECT_STREQ(to_string(Gone::broken), "broken");
    EXPECT_STREQ(to_string(Refusal::Kind::held), "held");
    EXPECT_STREQ(to_string(Refusal::Kind::gone), "gone");
    EXPECT_STREQ(to_string(Refusal::Kind::busy), "busy");
    EXPECT_STREQ(to_string(Durability::none), "none");
    EXPECT_STREQ(to_string(Durability::weak), "weak");
    EXPECT_STREQ(to_string(Durability::strong), "strong");
}

TEST(LeaseText, AShortSentenceNamesThePersonAndTheTimeOfDay) {
    Refusal refusal = held_by({alice()});
    EXPECT_EQ(refusal.short_message(), "alice has been editing this since 09:20 UTC.");
    EXPECT_EQ(refusal.short_message(RefusalTexts::in(Language::korean), 9h),
              "alice 님이 18:20부터 편집하고 있습니다.");
    EXPECT_EQ(refusal.short_message(RefusalTexts::in(Language::english), -10h),
              "alice has been editing this since 23:20.");
    refusal.holders_in_all = 3;
    EXPECT_EQ(refusal.short_message(RefusalTexts::in(Language::english)),
              "alice has been using this since 09:20 UTC, and 2 more.");
    EXPECT_EQ(held_by({}).short_message(), "Somebody else is editing this.");
}

TEST(LeaseText, AShortSentenceSaysHowTheLockEnded) {
    const RefusalTexts& english = RefusalTexts::in(Language::english);
    EXPECT_EQ(gone(Gone::expired).short_message(english), "Your lock has expired.");
    EXPECT_EQ(gone(Gone::released).short_message(english), "Your lock was released elsewhere.");
    EXPECT_EQ(gone(Gone::taken).short_message(english), "Your lock ended, and somebody took it.");
    EXPECT_EQ(gone(Gone::broken, "root/1").short_message(english), "root broke your lock.");
    EXPECT_EQ(gone(Gone::unknown).short_message(english), "You no longer have the lock.");
    // Braces that people typed are not placeholders.
    EXPECT_EQ(gone(Gone::broken, "{why}", "{name}").short_message(english),
              "{why} broke your lock: “{name}”");
    Refusal busy;
    busy.kind = Refusal::Kind::busy;
    EXPECT_EQ(busy.short_message(english), "This is being saved right now. Try again in a moment.");
}

TEST(LeaseText, EveryLanguageHasEveryShortSentence) {
    for (const Language language : {Language::english, Language::korean}) {
        const auto& [somebody, held, several, nobody_named, expired, released, taken, broken,
                     broken_why, unknown, busy] = RefusalTexts::in(language);
        for (const auto* text : {&somebody, &held, &several, &nobody_named, &expired, &released,
                                 &taken, &broken, &broken_why, &unknown, &busy}) {
            EXPECT_FALSE(text->empty());
        }
        for (const auto* text : {&held, &several, &taken, &broken, &broken_why}) {
            EXPECT_NE(text->find("{name}"), std::string::npos) << *text;
        }
    }
}

TEST(LeaseText, AHeldKeyIsDescribedInKorean) {
    Holder holder = alice();
    EXPECT_EQ(held_by({holder}).message(Language::korean),
              "Order/1 잠금은 alice 님이 선점하고 있습니다(최대 5분 남음)");
    holder.mode = Mode::shared;
    holder.note = "{name}";
    holder.expires_at = morning + 2s;
    EXPECT_EQ(
        held_by({holder, holder, holder}).message(Language::korean),
        "Order/1 잠금은 alice 님이 공유하고 있습니다(최대 2초 남음, 메모: {name}, 그 밖에 2건)");
    holder.expires_at = never;
    holder.owner = "";
    holder.note = "";
    EXPECT_EQ(held_by({holder}).message(Language::korean),
              "Order/1 잠금은 익명 사용자 님이 공유하고 있습니다(해제할 때까지)");
    EXPECT_EQ(held_by({}).message(Language::korean), "다른 사용자가 이 키를 선점하고 있습니다");
}

TEST(LeaseText, ALostLeaseIsExplainedInKorean) {
    const auto korean = [](const Refusal& refusal) { return refusal.message(Language::korean); };
    EXPECT_EQ(korean(gone(Gone::unknown)), "그런 잠금이 없습니다");
    EXPECT_EQ(korean(gone(Gone::expired)), "잠금이 만료되었습니다");
    EXPECT_EQ(korean(gone(Gone::released, "", "로그아웃")), "잠금이 해제되었습니다: 로그아웃");
    EXPECT_EQ(korean(gone(Gone::taken, "bob/1")), "잠금이 만료된 뒤 bob 님이 선점했습니다");
    EXPECT_EQ(korean(gone(Gone::broken, "root", "휴가")),
              "root 님이 잠금을 강제 해제했습니다: 휴가");
    Refusal busy;
    busy.kind = Refusal::Kind::busy;
    EXPECT_EQ(korean(busy),
              "열려 있는 트랜잭션이 이 잠금을 사용하고 있습니다. 잠시 뒤에 다시 시도하세요");
}

TEST(LeaseText, RemainingIsCountedFromTheStoresClock) {
    Lease lease{.key = {"Order", "1"}, .expires_at = morning + 5min, .store_now = morning};
    EXPECT_EQ(lease.remaining(), 5min);
    lease.expires_at = never;
    EXPECT_EQ(lease.remaining(), std::nullopt);
    lease.ended = true;
    EXPECT_EQ(lease.remaining(), Duration::zero());
}

}  // namespace
}  // namespace leasehold::testing
