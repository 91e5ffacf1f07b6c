#include "server/events/ledger.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <string>

#include <leasehold/limits.hpp>

#include "core/rules.hpp"

// Defined if a sanitizer has replaced malloc.
extern "C" [[gnu::weak]] std::size_t __sanitizer_get_current_allocated_bytes();  // NOLINT

namespace leasehold::server {
namespace {

std::size_t allocated_bytes() {
    if (__sanitizer_get_current_allocated_bytes != nullptr) {
        return __sanitizer_get_current_allocated_bytes();
    }
    return ::mallinfo2().uordblks;
}

using namespace std::chrono_literals;

const LockKey order{"Order", "1"};
constexpr Time start{std::chrono::seconds{1'800'000'000}};

// Leases as a store would know them, and the events that were reported of them.
class LedgerTest : public ::testing::Test {
protected:
    static Holder holder(Fence fence, std::string owner = "alice", Mode mode = Mode::exclusive) {
        return {.key = order,
                .owner = std::move(owner),
                .mode = mode,
                .fence = fence,
                .granted_at = start + Duration{fence},
                .expires_at = start + 1min};
    }
    static Lease lease(const Holder& holder) {
        return {.key = holder.key,
                .lock_id = LockId::random(),
                .owner = holder.owner,
                .mode = holder.mode,
                .fence = holder.fence,
                .granted_at = holder.granted_at,
                .expires_at = holder.expires_at,
                .note = holder.note,
                .store_now = holder.granted_at};
    }
    static PastLease past(const Holder& holder, std::int64_t sequence, Gone how = Gone::released) {
        return {.lease = holder, .how = how, .ended_at = start + 1s, .sequence = sequence};
    }
    void survey(std::vector<Holder> live, std::vector<PastLease> ended = {}, bool complete = true) {
        ledger_.begin_survey();
        surveyed({std::move(live), complete, std::move(ended), start + 1s});
    }
    void surveyed(Ledger::Survey survey) {
        ledger_.surveyed(std::move(survey));
        work_off();
    }
    void begin(Ledger::Survey survey) {
        ledger_.begin(std::move(survey));
        work_off();
    }
    void work_off() {
        while (ledger_.work_off(1)) {
        }
    }
    // "granted 5, released 5", since the last time.
    std::string told() { return std::exchange(told_, {}); }
    // The keys that are wanted, all of which are then being looked at.
    std::size_t wanted() { return ledger_.take_wanted(100).size(); }
    void look(const std::vector<Holder>& live, std::vector<PastLease> ended = {},
              Time now = start + 1s) {
        ledger_.looked(order, HolderPage{.items = live}, std::move(ended), now);
    }

    std::string told_;
    Ledger ledger_{[this](const Event& event) {
        told_.append(told_.empty() ? "" : ", ")
            .append(name_of(event.kind))
            .append(" ")
            .append(std::to_string(event.lease.fence));
    }};
};

TEST_F(LedgerTest, ReportsNothingAboutTheLeasesOfTheFirstLook) {
    begin({.live = {holder(5)}, .past = {past(holder(3), 7)}});
    survey({holder(5)}, {past(holder(3), 7)});
    EXPECT_EQ(told(), "");
}

TEST_F(LedgerTest, TellsWhatThisServerDoesOnceHoweverOftenItIsSeen) {
    ledger_.is_alive(lease(holder(5)));
    ledger_.is_alive(lease(holder(5)));
    survey({holder(5)});
    EXPECT_EQ(told(), "granted 5");
    ledger_.was_released(lease(holder(5)));
    ledger_.was_released(lease(holder(5)));
    ledger_.is_alive(lease(holder(5)));
    survey({}, {past(holder(5), 1)});
    survey({}, {past(holder(5), 1)});
    EXPECT_EQ(told(), "released 5");
    EXPECT_FALSE(ledger_.wants());
}

TEST_F(LedgerTest, TellsWhatOthersDo) {
    survey({holder(5)});
    Holder longer = holder(5);
    longer.expires_at += 1min;
    survey({longer});
    EXPECT_EQ(told(), "granted 5, extended 5");
    survey({holder(9)}, {past(holder(7), 2), past(longer, 1)});
    EXPECT_EQ(told(), "released 5, granted 7, released 7, granted 9");
}

TEST_F(LedgerTest, AnOldSurveyOverrulesNothing) {
    ledger_.is_alive(lease(holder(5)));
    ledger_.begin_survey();
    Holder longer = holder(5);
    longer.expires_at += 1min;
    ledger_.is_alive(lease(longer));
    surveyed({.live = {holder(5)}});
    EXPECT_EQ(told(), "granted 5, extended 5");

    ledger_.begin_survey();
    ledger_.was_released(lease(longer));
    ledger_.is_alive(lease(holder(9)));
    surveyed({.live = {longer}});
    EXPECT_EQ(told(), "released 5, granted 9");
    EXPECT_EQ(wanted(), 0U);
}

TEST_F(LedgerTest, WhatCameBeforeSomethingThatWasToldIsNotToldAnyMore) {
    ledger_.is_alive(lease(holder(9)));
    survey({holder(9)}, {past(holder(7), 1)});
    EXPECT_EQ(told(), "granted 9");
    ledger_.was_released(lease(holder(9)));
    survey({}, {past(holder(9), 3), past(holder(8), 2)});
    EXPECT_EQ(told(), "released 9");
}

TEST_F(LedgerTest, AnOlderExpiryIsNoNews) {
    Holder longer = holder(5);
    longer.expires_at += 1min;
    ledger_.is_alive(lease(longer));
    ledger_.is_alive(lease(holder(5)));
    EXPECT_EQ(told(), "granted 5");
}

TEST_F(LedgerTest, LooksAtAKeyWhereAGrantContradictsWhatWasTold) {
    ledger_.is_alive(lease(holder(5)));
    ledger_.is_alive(lease(holder(9)));
    EXPECT_EQ(told(), "granted 5");
    EXPECT_EQ(wanted(), 1U);
    look({holder(9)}, {past(holder(7), 2), past(holder(5), 1, Gone::broken)});
    EXPECT_EQ(told(), "broken 5, granted 7, released 7, granted 9");
    EXPECT_EQ(wanted(), 0U);
}

TEST_F(LedgerTest, WhatHappensDuringALookIsLookedAtAgain) {
    ledger_.is_alive(lease(holder(5)));
    ledger_.is_alive(lease(holder(9)));
    EXPECT_EQ(wanted(), 1U);
    ledger_.was_released(lease(holder(9)));
    ledger_.is_alive(lease(holder(11)));
    look({holder(9)}, {past(holder(5), 1)});
    EXPECT_EQ(told(), "granted 5, released 5, granted 9");
    EXPECT_EQ(wanted(), 1U);
    look({holder(11)}, {past(holder(9), 2), past(holder(5), 1)});
    EXPECT_EQ(told(), "released 9, granted 11");
}

TEST_F(LedgerTest, LooksAtWhatVanished) {
    survey({holder(5)});
    survey({});
    EXPECT_EQ(told(), "granted 5");
    EXPECT_EQ(wanted(), 1U);
    look({}, {past(holder(5), 1, Gone::broken)});
    EXPECT_EQ(told(), "broken 5");
}

TEST_F(LedgerTest, SaysSoWhereTheStoreDoesNotSayHowALeaseEnded) {
    survey({holder(5)});
    survey({});
    EXPECT_EQ(wanted(), 1U);
    look({});
    EXPECT_EQ(told(), "granted 5, ended 5");

    survey({holder(9)});
    survey({});
    EXPECT_EQ(wanted(), 1U);
    look({}, {}, start + 2min);
    EXPECT_EQ(told(), "granted 9, expired 9");
}

TEST_F(LedgerTest, ExpectsExpiries) {
    ledger_.is_alive(lease(holder(5)));
    EXPECT_EQ(ledger_.next_expiry(), start + 1min);
    ledger_.expect_expiries(start + 59s, 100);
    EXPECT_EQ(wanted(), 0U);
    ledger_.expect_expiries(start + 1min, 100);
    ledger_.expect_expiries(start + 1min, 100);
    EXPECT_EQ(wanted(), 1U);
    look({}, {past(holder(5), highest_sequence, Gone::expired)});
    EXPECT_EQ(told(), "granted 5, expired 5");
    EXPECT_EQ(ledger_.next_expiry(), std::nullopt);
    survey({holder(9)}, {past(holder(5), 1, Gone::taken)});
    EXPECT_EQ(told(), "granted 9");
}

TEST_F(LedgerTest, AnExpiryIsReportedOnceHoweverLateSomebodyTakesTheKeyOver) {
    const auto survey_at = [&](Time now, std::vector<Holder> live, std::vector<PastLease> ended) {
        ledger_.begin_survey();
        surveyed({std::move(live), true, std::move(ended), now});
    };
    survey_at(start + 1s, {holder(5)}, {});
    ledger_.expect_expiries(start + 2min, 100);
    EXPECT_EQ(wanted(), 1U);
    look({}, {}, start + 2min);
    EXPECT_EQ(told(), "granted 5, expired 5");
    for (int i = 0; i < 5; ++i) survey_at(start + 2min + Duration{i}, {}, {});
    PastLease taken = past(holder(5), 1, Gone::taken);
    taken.ended_at = start + 3min;
    survey_at(start + 3min, {holder(9)}, {taken});
    EXPECT_EQ(told(), "granted 9");
    // A lease that lived between two surveys was not reported before.
    Holder brief = holder(11);
    brief.granted_at = start + 4min;
    brief.expires_at = start + 5min;
    PastLease missed = past(brief, 3, Gone::taken);
    missed.ended_at = start + 5min;
    survey_at(start + 6min, {}, {past(holder(9), 2), missed});
    EXPECT_EQ(told(), "released 9, granted 11, taken 11");
}

TEST_F(LedgerTest, AnExpiryThatWasPutOffElsewhereIsAnExtension) {
    ledger_.is_alive(lease(holder(5)));
    ledger_.expect_expiries(start + 1min, 100);
    EXPECT_EQ(wanted(), 1U);
    Holder longer = holder(5);
    longer.expires_at = never;
    look({longer});
    EXPECT_EQ(told(), "granted 5, extended 5");
    EXPECT_EQ(ledger_.next_expiry(), std::nullopt);
}

TEST_F(LedgerTest, SharedLeasesAreTogether) {
    ledger_.is_alive(lease(holder(5, "a", Mode::shared)));
    ledger_.is_alive(lease(holder(6, "b", Mode::shared)));
    survey(
        {holder(5, "a", Mode::shared), holder(6, "b", Mode::shared), holder(7, "c", Mode::shared)});
    ledger_.was_released(lease(holder(5, "a", Mode::shared)));
    EXPECT_EQ(told(), "granted 5, granted 6, granted 7, released 5");
}

TEST_F(LedgerTest, ASharedLeaseThatBecomesExclusiveIsAGrantOfItsNewFence) {
    const Holder shared = holder(5, "a", Mode::shared);
    ledger_.is_alive(lease(shared));
    Holder exclusive = shared;
    exclusive.mode = Mode::exclusive;
    exclusive.fence = 9;
    ledger_.is_alive(lease(exclusive));
    EXPECT_EQ(wanted(), 1U);
    look({exclusive});
    EXPECT_EQ(told(), "granted 5, granted 9");
    exclusive.mode = Mode::shared;
    ledger_.is_alive(lease(exclusive));
    EXPECT_EQ(told(), "extended 9");
}

TEST_F(LedgerTest, KnowsThatItDoesNotKnowAll) {
    begin({.live = {}, .complete = true});
    const Holder other{
        .key = {"A", "1"}, .fence = 3, .granted_at = start, .expires_at = start + 1min};
    survey({other}, {}, false);
    Lease renewed = lease(holder(5));
    renewed.store_now = start + 10s;
    ledger_.is_alive(renewed);
    EXPECT_EQ(told(), "granted 3, extended 5");
    // Behind the last that was listed, nothing vanishes.
    survey({other}, {}, false);
    EXPECT_EQ(wanted(), 0U);
    survey({other}, {past(holder(5), 1), past(holder(6), 2)}, false);
    EXPECT_EQ(told(), "released 5, released 6");
}

TEST_F(LedgerTest, ALookThatFailedIsRepeated) {
    ledger_.want(order);
    ledger_.want(order);
    const auto keys = ledger_.take_wanted(1);
    ASSERT_EQ(keys.size(), 1U);
    ledger_.want(keys.front());
    EXPECT_EQ(wanted(), 1U);
}

TEST_F(LedgerTest, LooksAtEachExpiryOnce) {
    constexpr std::size_t leases = 2'000;
    for (std::size_t i = 0; i < leases; ++i) {
        Holder one = holder(5);
        one.key = {"Order", std::to_string(i)};
        ledger_.is_alive(lease(one));
    }
    std::size_t taken = 0;
    std::size_t looks = 0;
    for (bool more = true; more && looks <= leases;) {
        taken += ledger_.expect_expiries(start + 1min, 100);
        const auto keys = ledger_.take_wanted(10);
        for (const LockKey& key : keys) ledger_.looked(key, {}, {}, start + 1min);
        looks += keys.size();
        more = !keys.empty();
    }
    EXPECT_EQ(taken, leases);
    EXPECT_EQ(looks, leases);
}

TEST_F(LedgerTest, ExpectsTheExpiryAgainIfTheLookFindsTheLeaseAlive) {
    ledger_.is_alive(lease(holder(5)));
    EXPECT_EQ(ledger_.expect_expiries(start + 1min, 100), 1U);
    EXPECT_EQ(ledger_.expect_expiries(start + 1min, 100), 0U);
    EXPECT_EQ(ledger_.next_expiry(), std::nullopt);
    EXPECT_EQ(wanted(), 1U);
    look({holder(5)}, {}, start + 59s);
    EXPECT_EQ(ledger_.next_expiry(), start + 1min);
}

TEST_F(LedgerTest, NewsBetweenTheSlicesOfASurveyIsNewer) {
    const auto of_key = [](const char* id, Fence fence) {
        Holder one = holder(fence);
        one.key = {"Order", id};
        return one;
    };
    survey({of_key("1", 5), of_key("2", 5), of_key("3", 5)});
    EXPECT_EQ(told(), "granted 5, granted 5, granted 5");
    ledger_.begin_survey();
    ledger_.surveyed({.live = {of_key("1", 5), of_key("2", 5)}});
    EXPECT_TRUE(ledger_.work_off(1));
    ledger_.was_released(lease(of_key("1", 5)));
    ledger_.was_released(lease(of_key("2", 5)));
    ledger_.is_alive(lease(of_key("2", 9)));
    ledger_.is_alive(lease(of_key("4", 7)));
    work_off();
    EXPECT_EQ(told(), "released 5, released 5, granted 9, granted 7");
    EXPECT_EQ(ledger_.take_wanted(100), (std::vector<LockKey>{{"Order", "3"}}));
}

// Of other leases it keeps hashes.
TEST_F(LedgerTest, KeepsTheTextsOfSomeLeases) {
    Ledger small{[this](const Event& event) {
                     told_.append(name_of(event.kind)).append(" to ").append(event.lease.owner);
                     told_.append(", ");
                 },
                 1};
    Holder first = holder(5, "first");
    first.key = {"Order", "0"};
    small.is_alive(lease(first));
    Holder shared = holder(5, "alice", Mode::shared);
    small.is_alive(lease(shared));
    small.is_alive(lease(shared));
    EXPECT_EQ(told(), "granted to first, granted to alice, ");
    shared.note = "another";
    small.is_alive(lease(shared));
    EXPECT_EQ(told(), "extended to alice, ");

    // The look brings the texts, and another owner is no continuation.
    EXPECT_EQ(small.expect_expiries(start + 1min, 100), 2U);
    EXPECT_EQ(small.take_wanted(100).size(), 2U);
    Holder other = holder(9, "bob");
    other.granted_at = shared.granted_at;
    small.looked(order, HolderPage{.items = {other}}, {past(shared, 1, Gone::taken)}, start + 1min);
    EXPECT_EQ(told(), "taken to alice, granted to bob, ");
    small.looked(first.key, {}, {}, start + 1min);
    EXPECT_EQ(told(), "expired to first, ");
}

TEST_F(LedgerTest, KeepsLittleOfFurtherLeases) {
    constexpr std::size_t leases = 5'000;
    Ledger small{[](const Event&) {}, 10};
    Holder one = holder(5, std::string(Limits::owner_bytes, 'o'));
    one.note = std::string(Limits::note_bytes, 'n');
    const std::size_t before = allocated_bytes();
    for (std::size_t i = 0; i < leases; ++i) {
        one.key = {"Order", std::to_string(i)};
        small.is_alive(lease(one));
    }
    const std::size_t after = allocated_bytes();
    EXPECT_GT(after, before) << "the measurement does not work";
    EXPECT_LE((after - before) / leases, 500U) << "bytes for each lease";
}

}  // namespace
}  // namespace leasehold::server
