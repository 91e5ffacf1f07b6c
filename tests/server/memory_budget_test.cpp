#include "server/http/memory_budget.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <string>
#include <vector>

// Answers that are not sent yet, of clients that do not read them, and bodies of clients that do
// not send the rest.
namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using server::MemoryBudget;
using Room = MemoryBudget::Room;

constexpr std::size_t page = 100 * 1024;

class Unsent : public ::testing::Test {
protected:
    // The answer is made, and the client does not take it.
    void is_not_read(const std::string& token, std::chrono::milliseconds at = 0ms) {
        MemoryBudget::Share& share = shares_.emplace_back();
        ASSERT_EQ(share.reserve(budget_, token, page, begin_ + at), Room::enough);
        share.count(budget_, token, page);
        share.may_be_ended([this, token] { ended_.push_back(token); }, begin_ + at);
    }
    [[nodiscard]] Room asks(const std::string& token, std::chrono::milliseconds at = 0ms) {
        return shares_.emplace_back().reserve(budget_, token, page, begin_ + at);
    }

    const MemoryBudget::Moment begin_ = MemoryBudget::Moment::clock::now();
    std::vector<std::string> ended_;
    MemoryBudget budget_{16 * page, 6 * page};
    std::deque<MemoryBudget::Share> shares_;
};

TEST_F(Unsent, LeaveRoomForEveryOtherToken) {
    const auto take_all = [&](const std::string& token) {
        std::size_t pages = 0;
        while (asks(token) == Room::enough) ++pages;
        return pages;
    };
    EXPECT_EQ(take_all("first"), 6U);  // its limit
    EXPECT_EQ(take_all("second"), 5U);
    EXPECT_EQ(take_all("third"), 3U);
    EXPECT_EQ(take_all("fourth"), 1U);
    EXPECT_EQ(asks("first"), Room::token_has_too_much);
    EXPECT_EQ(asks("fourth"), Room::token_has_too_much);
    EXPECT_EQ(asks("holder"), Room::enough);
    EXPECT_EQ(asks("another"), Room::too_little);
    EXPECT_EQ(budget_.kept(), 16 * page);
}

TEST_F(Unsent, OfTheTokenThatKeepsMostMakeRoomForOthers) {
    for (int i = 0; i < 6; ++i) is_not_read("greedy");
    for (int i = 0; i < 5; ++i) is_not_read("second");
    for (int i = 0; i < 3; ++i) is_not_read("third");
    for (const char* small : {"fourth", "fifth"}) is_not_read(small);
    EXPECT_EQ(budget_.kept(), 16 * page);
    EXPECT_EQ(asks("holder"), Room::enough);
    EXPECT_EQ(ended_, std::vector<std::string>{"greedy"});
    // Two must be free for the second page.
    EXPECT_EQ(asks("holder"), Room::enough);
    EXPECT_EQ(ended_, (std::vector<std::string>{"greedy", "greedy", "second"}));
    shares_.clear();
    EXPECT_EQ(budget_.kept(), 0U);
}

TEST_F(Unsent, OfATokenThatKeepsNoMoreStay) {
    for (int i = 0; i < 5; ++i) is_not_read("first");
    for (int i = 0; i < 5; ++i) is_not_read("second");
    for (int i = 0; i < 3; ++i) is_not_read("third");
    EXPECT_EQ(asks("second"), Room::token_has_too_much);
    EXPECT_TRUE(ended_.empty());
    EXPECT_EQ(budget_.kept(), 13 * page);
}

TEST_F(Unsent, OfAClientThatHangsMakeRoomForOthersWithItsToken) {
    for (int i = 0; i < 6; ++i) is_not_read("shop", i * 1s);
    EXPECT_EQ(asks("shop", 4s), Room::token_has_too_much);
    EXPECT_EQ(asks("shop", MemoryBudget::stalled), Room::enough);
    EXPECT_EQ(asks("shop", MemoryBudget::stalled), Room::token_has_too_much);
    EXPECT_EQ(ended_.size(), 1U);
}

TEST_F(Unsent, OfAServerWithoutTokensMakeRoomWhenTheyHang) {
    for (int i = 0; i < 16; ++i) is_not_read("");
    EXPECT_EQ(asks("", 1s), Room::too_little);
    EXPECT_EQ(asks("", MemoryBudget::stalled), Room::enough);
    EXPECT_EQ(ended_.size(), 1U);
}

// Its answer is being made, or is being sent at this moment: nobody is slow.
TEST_F(Unsent, AreNotEndedWhileTheirClientIsNotSlow) {
    for (int i = 0; i < 16; ++i) EXPECT_EQ(asks(""), Room::enough);
    EXPECT_EQ(asks("", 1h), Room::too_little);
    shares_.pop_front();
    EXPECT_EQ(asks("", 1h), Room::enough);
}

TEST_F(Unsent, AreCountedIfTheyFollowAChangeAndNeverRefused) {
    for (int i = 0; i < 20; ++i) shares_.emplace_back().count(budget_, "shop", page);
    EXPECT_EQ(budget_.kept(), 20 * page);
    shares_.emplace_back().count(budget_, "shop", MemoryBudget::small_bytes);
    EXPECT_EQ(budget_.kept(), 20 * page);
}

TEST_F(Unsent, ThatFollowAChangeEndTheOldestOfTheirTokenIfItKeepsTooMuch) {
    is_not_read("other");
    for (int i = 0; i < 9; ++i) {
        MemoryBudget::Share& share = shares_.emplace_back();
        share.count(budget_, "shop", page);
        share.may_be_ended([this] { ended_.emplace_back("shop"); }, begin_ + i * 1ms);
    }
    EXPECT_EQ(ended_.size(), 3U);
    EXPECT_EQ(budget_.kept(), (1 + 6) * page);
    // One that is larger than all its token may keep is ended itself.
    MemoryBudget::Share& large = shares_.emplace_back();
    large.count(budget_, "shop", 7 * page);
    EXPECT_EQ(ended_.size(), 3U);
    large.may_be_ended([this] { ended_.emplace_back("large"); }, begin_ + 10ms);
    EXPECT_EQ(ended_.size(), 10U);
    EXPECT_EQ(ended_.back(), "large");
    EXPECT_EQ(budget_.kept(), page);
}

// Batches that are being answered.
TEST(Unanswered, OneOfEachTokenAlwaysFits) {
    MemoryBudget budget{4 * page, MemoryBudget::no_limit, MemoryBudget::First::always_fits};
    std::deque<MemoryBudget::Share> shares;
    const auto sends = [&](const std::string& token) {
        return shares.emplace_back().reserve(budget, token, 2 * page);
    };
    EXPECT_EQ(sends("greedy"), Room::enough);
    EXPECT_EQ(sends("greedy"), Room::token_has_too_much);
    for (const char* token : {"second", "third", "fourth"}) EXPECT_EQ(sends(token), Room::enough);
    EXPECT_EQ(sends("second"), Room::token_has_too_much);
    shares.clear();
    EXPECT_EQ(budget.kept(), 0U);
    EXPECT_EQ(sends(""), Room::enough);
    EXPECT_EQ(sends(""), Room::enough);
    EXPECT_EQ(sends(""), Room::too_little);
}

// Bodies that are being received.
class Unreceived : public ::testing::Test {
protected:
    using Share = MemoryBudget::Share;

    // A client sends this much of a body, and then no more.
    [[nodiscard]] Room sends(const std::string& token, std::size_t bytes) {
        Share& share = shares_.emplace_back();
        const Room room = share.grow_to(budget_, token, bytes, begin_);
        share.may_be_ended([this, token] { ended_.push_back(token); }, begin_);
        return room;
    }

    const MemoryBudget::Moment begin_ = MemoryBudget::Moment::clock::now();
    std::vector<std::string> ended_;
    MemoryBudget budget_{16 * page};
    std::deque<Share> shares_;
};

TEST_F(Unreceived, OneThatGrowsMayTakeTheWholeRoom) {
    ASSERT_EQ(sends("shop", page), Room::enough);
    Share& share = shares_.back();
    for (std::size_t pages = 2; pages <= 16; ++pages) {
        EXPECT_EQ(share.grow_to(budget_, "shop", pages * page, begin_), Room::enough) << pages;
    }
    EXPECT_EQ(budget_.kept(), 16 * page);
    EXPECT_EQ(share.grow_to(budget_, "shop", 17 * page, begin_), Room::too_little);
    EXPECT_EQ(budget_.kept(), 16 * page);
    EXPECT_TRUE(ended_.empty());
}

TEST_F(Unreceived, OfOneTokenTakeHalfOfTheRoom) {
    int bodies = 0;
    while (sends("greedy", page) == Room::enough) ++bodies;
    EXPECT_EQ(bodies, 8);
    EXPECT_EQ(sends("greedy", page), Room::token_has_too_much);
    EXPECT_EQ(sends("holder", 2 * page), Room::enough);
    EXPECT_TRUE(ended_.empty());
}

TEST_F(Unreceived, OfTheTokenThatKeepsMostMakeRoomForOthers) {
    const auto send_bodies = [&](const std::string& token, int bodies) {
        for (int i = 0; i < bodies; ++i) ASSERT_EQ(sends(token, page), Room::enough);
    };
    send_bodies("greedy", 6);
    send_bodies("second", 5);
    send_bodies("third", 3);
    send_bodies("fourth", 1);
    send_bodies("fifth", 1);
    EXPECT_EQ(budget_.kept(), 16 * page);
    ASSERT_EQ(sends("holder", page), Room::enough);
    EXPECT_EQ(ended_, std::vector<std::string>{"greedy"});
    EXPECT_EQ(shares_.back().grow_to(budget_, "holder", 2 * page, begin_), Room::enough);
    EXPECT_EQ(ended_, (std::vector<std::string>{"greedy", "greedy"}));
}

TEST_F(Unreceived, OneThatMadeRoomGetsNoMore) {
    ASSERT_EQ(sends("greedy", 12 * page), Room::enough);
    Share& ended = shares_.back();
    ASSERT_EQ(sends("holder", 5 * page), Room::enough);
    EXPECT_EQ(ended_, std::vector<std::string>{"greedy"});
    EXPECT_EQ(budget_.kept(), 5 * page);
    EXPECT_EQ(ended.grow_to(budget_, "greedy", 13 * page, begin_), Room::too_little);
    EXPECT_EQ(budget_.kept(), 5 * page);
}

TEST_F(Unreceived, OneThatGrowsSlowlyDoesNotEndItself) {
    ASSERT_EQ(sends("shop", 8 * page), Room::enough);
    Share& first = shares_.back();
    ASSERT_EQ(sends("another", page), Room::enough);
    EXPECT_EQ(first.grow_to(budget_, "shop", 16 * page, begin_ + MemoryBudget::stalled),
              Room::too_little);
    EXPECT_TRUE(ended_.empty());
    EXPECT_EQ(budget_.kept(), 9 * page);
}

}  // namespace
}  // namespace leasehold::testing
