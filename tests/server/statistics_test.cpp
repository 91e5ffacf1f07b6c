#include "server/statistics/statistics.hpp"

#include <algorithm>
#include <string>
#include <thread>

#include "server/server_fixture.hpp"
#include "unit/faulty_store.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using server::HotKeys;
using server::Point;
using server::RefusedTries;
using server::Series;

constexpr Series::Clock::time_point start{1000s};

TEST(Series, HasAPointForEveryStepAlsoForEmptyOnes) {
    Series series{10s, 360, start};
    series.at(start + 9s).grants = 1;
    series.at(start + 35s).grants = 2;
    ASSERT_EQ(series.points().size(), 4U);
    EXPECT_EQ(series.points()[0].grants, 1U);
    EXPECT_EQ(series.points()[1].grants, 0U);
    EXPECT_EQ(series.points()[3].grants, 2U);
    EXPECT_EQ(series.last_begun(), start + 30s);
}

TEST(Series, IsBoundedHoweverLongNothingHappened) {
    Series series{10s, 5, start};
    series.at(start).grants = 7;
    EXPECT_EQ(series.at(start + 48h).grants, 0U);
    EXPECT_EQ(series.points().size(), 5U);
    EXPECT_EQ(series.last_begun(), start + 48h);
}

TEST(Series, AWaiterIsSeenInEveryStep) {
    Series series{10s, 360, start};
    series.waiting(2, start);
    series.waiting(3, start + 1s);
    series.waiting(1, start + 2s);
    (void)series.at(start + 25s);
    EXPECT_EQ(series.points()[0].waiters, 3U);
    EXPECT_EQ(series.points()[1].waiters, 1U);
    EXPECT_EQ(series.points()[2].waiters, 1U);
}

TEST(Statistics, AsksForACountOnceAMinute) {
    const auto now = Series::Clock::now();
    server::Statistics young{now};
    EXPECT_FALSE(young.count_is_due());
    server::Statistics older{now - 61s};
    EXPECT_TRUE(older.count_is_due());
    EXPECT_FALSE(older.count_is_due());
}

LockKey numbered_order(std::size_t number) {
    return {"Order", std::to_string(number)};
}

TEST(HotKeys, FindsTheHottestAmongVeryMany) {
    HotKeys keys{start};
    for (std::size_t i = 0; i < 100'000; ++i) {
        keys.tried(numbered_order(1000 + i), HotKeys::Answer::granted, start);
        if (i % 10 == 0) keys.tried(numbered_order(1), HotKeys::Answer::refused, start);
        if (i % 20 == 0) keys.tried(numbered_order(2), HotKeys::Answer::granted, start);
    }
    const auto hottest = keys.hottest(2, start);
    ASSERT_EQ(hottest.size(), 2U);
    EXPECT_EQ(hottest[0].key, numbered_order(1));
    EXPECT_GE(hottest[0].tries, 10'000U);
    EXPECT_EQ(hottest[0].refusals, 10'000U);
    EXPECT_EQ(hottest[1].key, numbered_order(2));
    EXPECT_EQ(hottest[1].refusals, 0U);
}

TEST(HotKeys, CoolDownAndAreForgotten) {
    HotKeys keys{start};
    for (int i = 0; i < 8; ++i) keys.tried(numbered_order(1), HotKeys::Answer::refused, start);
    EXPECT_EQ(keys.hottest(9, start + HotKeys::half_life).front().tries, 4U);
    EXPECT_TRUE(keys.hottest(9, start + 5 * HotKeys::half_life).empty());
    EXPECT_TRUE(keys.hottest(9, start + 24h * 365).empty());
}

// A key that takes the place of another one starts with its count. A client that may see only some
// keys must not learn the counts of others by that.
TEST(HotKeys, TellAClientOfSomeKeysNothingAboutTheOthers) {
    HotKeys keys{start};
    constexpr int tries = 7;
    for (std::size_t i = 0; i < 20'000; ++i) {  // 20 times as many as there are places
        for (int n = 0; n < tries; ++n) {
            keys.tried({"Secret", std::to_string(i)}, HotKeys::Answer::refused, start);
        }
    }
    const KeySet orders{{KeyPattern::parse("Order/*").value()}};
    EXPECT_TRUE(keys.hottest(9, start, orders).empty());
    keys.tried(numbered_order(1), HotKeys::Answer::granted, start);
    keys.tried(numbered_order(1), HotKeys::Answer::refused, start);
    auto seen = keys.hottest(9, start, orders);
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].tries, 2U);
    EXPECT_EQ(seen[0].refusals, 1U);
    seen = keys.hottest(9, start + HotKeys::half_life, orders);
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].tries, 1U);
    // Its own tries are forgotten, as if the others had never been there.
    EXPECT_TRUE(keys.hottest(9, start + 2 * HotKeys::half_life, orders).empty());
}

constexpr Time noon{std::chrono::hours{12}};

TEST(RefusedTries, RepeatedTriesAreOneEntryForAWhile) {
    RefusedTries tries{100};
    for (int i = 0; i < 30; ++i) tries.add(numbered_order(1), "bob", noon + i * 500ms);
    tries.add(numbered_order(1), "carol", noon + 1s);
    tries.add(numbered_order(2), "bob", noon + 2s);
    const auto all = tries.latest(numbered_order(1), 10);
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].owner, "carol");
    EXPECT_EQ(all[1].owner, "bob");
    EXPECT_EQ(all[1].tries, 10U);
    EXPECT_EQ(all[2].tries, 20U);
    EXPECT_EQ(all[2].last - all[2].first, 9500ms);
    EXPECT_EQ(tries.latest({}, 1).front().key, numbered_order(2));
}

TEST(RefusedTries, AreBounded) {
    RefusedTries tries{10};
    for (std::size_t i = 0; i < 1000; ++i) {
        tries.add(numbered_order(i % 20), "bob", noon + std::chrono::seconds{i});
    }
    const auto all = tries.latest({}, 1000);
    ASSERT_EQ(all.size(), 10U);
    EXPECT_EQ(all.front().last, noon + 999s);
    EXPECT_EQ(all.back().last, noon + 990s);
}

class StatisticsRoute : public ServerTest {
protected:
    boost::json::value read(std::string_view target = "/v1/statistics") {
        const Answer answer = client_.ask("GET", target);
        EXPECT_EQ(answer.status, 200U) << answer.body;
        return answer.json();
    }
    static std::int64_t sum(const boost::json::value& numbers) {
        std::int64_t all = 0;
        for (const auto& number : numbers.as_array()) all += number.to_number<std::int64_t>();
        return all;
    }

    Client client_ = server_.connect();
};

TEST_F(StatisticsRoute, CountsWhatWasGrantedRefusedWaitedForAndLost) {
    const Answer held = client_.ask("POST", "/v1/locks/Order/1", R"({"owner":"alice"})");
    client_.ask("POST", "/v1/locks/Order/1", R"({"owner":"bob"})");
    client_.ask("POST", "/v1/locks/Order/1", R"({"owner":"bob","wait_ms":1})");
    client_.ask("POST", "/v1/batch",
                R"({"requests":[{"op":"try","type":"Order","id":"1","owner":"carol"},
                    {"op":"try_all","keys":[{"type":"A","id":"1"},{"type":"A","id":"2"}]}]})");
    client_.ask(
        "POST", "/v1/locks/Order/1/break",
        R"({"by":"admin","fence":)" + std::to_string(held.json().at("fence").as_int64()) + "}");
    client_.ask("GET", "/v1/locks/Order/1", {},
                "Lock-Token: " + std::string{held.json().at("lock_id").as_string()} + "\r\n");

    const auto seen = read();
    const auto& series = seen.at("series");
    EXPECT_EQ(series.at("step_ms").as_int64(), 10'000);
    EXPECT_EQ(sum(series.at("grants")), 3);
    EXPECT_EQ(sum(series.at("refusals")), 3);
    EXPECT_EQ(sum(series.at("waits")), 1);
    EXPECT_EQ(sum(series.at("lost")), 1);
    EXPECT_EQ(series.at("held").as_array().back().as_int64(), 2);
    EXPECT_EQ(series.at("held").as_array().size(), series.at("grants").as_array().size());
    EXPECT_TRUE(seen.at("held_complete").as_bool());
    EXPECT_TRUE(seen.at("store_now").is_string());
    const auto& hottest = seen.at("hot_keys").at(0);
    EXPECT_EQ(hottest.at("id").as_string(), "1");
    EXPECT_EQ(hottest.at("type").as_string(), "Order");
    EXPECT_EQ(hottest.at("tries").as_int64(), 4);
    EXPECT_EQ(hottest.at("refusals").as_int64(), 3);
    EXPECT_EQ(read("/v1/statistics?over=day").at("series").at("step_ms").as_int64(), 60'000);

    const auto refused = read("/v1/refused?type=Order&id=1").at("refused").as_array();
    ASSERT_EQ(refused.size(), 2U);
    EXPECT_EQ(refused[0].at("owner").as_string(), "carol");
    EXPECT_EQ(refused[1].at("owner").as_string(), "bob");
    EXPECT_EQ(refused[1].at("tries").as_int64(), 2);
    EXPECT_TRUE(read("/v1/refused?type=Order&id=2").at("refused").as_array().empty());
}

TEST_F(StatisticsRoute, AWaiterIsCountedAndListed) {
    client_.ask("POST", "/v1/locks/Order/1", R"({"owner":"alice"})");
    client_.ask("POST", "/v1/locks/Order/2", R"({"owner":"alice"})");
    Client waiter = server_.connect();
    waiter.send(message("POST", "/v1/locks/Order/1", R"({"owner":"bob","wait_ms":60000})"));
    ASSERT_TRUE(server_.waits_for(1));
    EXPECT_EQ(read().at("waiting").as_int64(), 1);
    EXPECT_EQ(read().at("series").at("waiters").as_array().back().as_int64(), 1);
    const auto locks = read("/v1/locks").at("locks");
    EXPECT_EQ(locks.at(0).at("waiters").as_int64(), 1);
    EXPECT_EQ(locks.at(1).at("waiters").as_int64(), 0);
    client_.ask("DELETE", "/v1/owners/alice/locks");
    EXPECT_EQ(waiter.receive().status, 201U);
    EXPECT_EQ(read().at("waiting").as_int64(), 0);
    EXPECT_EQ(read("/v1/locks").at("locks").at(0).at("waiters").as_int64(), 0);
}

TEST(StatisticsOfAFailingStore, AreStillTold) {
    auto faulty = std::make_unique<FaultyStore>(memory::open());
    FaultyStore& store = *faulty;
    RunningServer server{std::move(faulty)};
    Client client = server.connect();
    client.ask("POST", "/v1/locks/Order/1", "{}");
    store.fail(0, Fails::before_effect, 1000);
    const Answer answer = client.ask("GET", "/v1/statistics");
    ASSERT_EQ(answer.status, 200U);
    EXPECT_TRUE(answer.json().at("store_now").is_null());
    EXPECT_EQ(answer.json().at("series").at("grants").as_array().back().as_int64(), 1);
}

class SearchingTheList : public StatisticsRoute {
protected:
    std::string ids(const std::string& parameters) {
        std::string all;
        std::string after;
        do {
            const auto page = read("/v1/locks?" + parameters + after);
            for (const auto& lock : page.at("locks").as_array()) {
                all.append(all.empty() ? "" : " ").append(lock.at("id").as_string());
            }
            after = page.at("next").is_null() ? "" : "&after=" + encoded(page.at("next"));
        } while (!after.empty());
        return all;
    }
    static std::string encoded(const boost::json::value& cursor) {
        std::string text{cursor.as_string()};
        for (std::size_t at = 0; (at = text.find_first_of("/%", at)) != std::string::npos;
             at += 3) {
            text.replace(at, 1, text[at] == '/' ? "%2F" : "%25");
        }
        return text;
    }
};

TEST_F(SearchingTheList, FindsTextInKeyOwnerAndNote) {
    client_.ask("POST", "/v1/locks/Order/north-1", R"({"owner":"alice","note":"Prices"})");
    client_.ask("POST", "/v1/locks/Order/south-2", R"({"owner":"bob/North"})");
    client_.ask("POST", "/v1/locks/Report/3", R"({"owner":"carol","note":"up NORTH"})");
    client_.ask("POST", "/v1/locks/Report/4", R"({"owner":"carol"})");
    EXPECT_EQ(ids("contains=north"), "north-1 south-2 3");
    EXPECT_EQ(ids("contains=north&type=Order"), "north-1 south-2");
    EXPECT_EQ(ids("contains=report%2F4"), "4");
    EXPECT_EQ(ids("contains=prices"), "north-1");
    EXPECT_EQ(ids("contains=nowhere"), "");
    EXPECT_EQ(ids("contains="), "north-1 south-2 3 4");
    EXPECT_EQ(ids("contains=north&limit=1"), "north-1 south-2 3");
    EXPECT_EQ(client_.ask("GET", "/v1/locks?contains=x&limit=99999").status, 400U);
}

}  // namespace
}  // namespace leasehold::testing
