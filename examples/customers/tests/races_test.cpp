#include <algorithm>
#include <atomic>
#include <mutex>
#include <regex>
#include <set>
#include <thread>

#include "domain/lock_rules.hpp"
#include "stage.hpp"

namespace customers::testing {
namespace {

constexpr int crowd = 8;
constexpr int rounds = 12;

// A refused person leaves the others undisturbed.
bool is_refused(const Page& page) {
    if (page.status == 200) return false;
    EXPECT_EQ(page.status, 409);
    std::this_thread::sleep_for(1ms);
    return true;
}

class RaceTest : public Stage {
protected:
    // Everybody at once, each a person with a session of their own.
    void together(const std::function<void(Person&, int)>& work) {
        std::vector<std::jthread> threads;
        for (int i = 0; i < crowd; ++i) {
            threads.emplace_back([this, i, &work] {
                Person somebody = person("person-" + std::to_string(i));
                work(somebody, i);
            });
        }
    }
};
ON_EVERY_DATABASE(RaceTest);

TEST_P(RaceTest, NoUpdateOfACustomerIsLost) {
    sql("update customers set phone = '0' where id = '1'");
    std::atomic<int> saved = 0;
    together([&](Person& somebody, int number) {
        for (int round = 0; round < rounds;) {
            const Page form = somebody.post("/customers/1/edit");
            if (is_refused(form)) continue;
            ++round;
            if ((round + number) % 5 == 0) {
                EXPECT_EQ(somebody.post("/customers/1/cancel", form.form()).status, 303);
                continue;
            }
            const int count = std::stoi(form.form().get("phone"));
            const Page page =
                somebody.send("/customers/1/save", form, "phone", std::to_string(count + 1));
            EXPECT_EQ(page.status, 303);
            ++saved;
        }
    });
    EXPECT_EQ(sql("select phone from customers where id = '1'"), std::to_string(saved));
    EXPECT_EQ(sql("select version from customers where id = '1'"), std::to_string(saved + 1));
    EXPECT_TRUE(is_free(key_of<Customer>("1")));
}

TEST_P(RaceTest, EveryNumberIsGivenOnceAndWithoutAGap) {
    std::mutex mutex;
    std::multiset<std::string> used;
    together([&](Person& somebody, int number) {
        for (int round = 0; round < rounds;) {
            const Page open = somebody.post("/counter/open");
            if (is_refused(open)) continue;
            ++round;
            if ((round + number) % 3 == 0) {
                somebody.post("/counter/put-back", open.form());
                continue;
            }
            const Page taken = somebody.post("/counter/take", open.form());
            EXPECT_EQ(taken.status, 303);
            const std::scoped_lock lock{mutex};
            used.insert(taken.location.substr(taken.location.find('=') + 1));
        }
    });
    const std::set<std::string> different{used.begin(), used.end()};
    EXPECT_EQ(different.size(), used.size());
    EXPECT_EQ(sql("select next_number from counters"), std::to_string(1001 + used.size()));
}

// Locks that run out at any moment, even between the check and the write.
TEST_P(RaceTest, NoUpdateIsLostWhileLocksRunOut) {
    open({.ttl = 100ms});
    sql("update customers set phone = '0' where id = '1'");
    std::atomic<int> saved = 0;
    together([&](Person& somebody, int number) {
        for (int round = 0; round < 5;) {
            const Page form = somebody.post("/customers/1/edit");
            if (is_refused(form)) continue;
            ++round;
            std::this_thread::sleep_for(
                std::chrono::milliseconds{(number * 37 + round * 53) % 130});
            const int count = std::stoi(form.form().get("phone"));
            const Page page =
                somebody.send("/customers/1/save", form, "phone", std::to_string(count + 1));
            EXPECT_TRUE(page.status == 303 || page.status == 409) << page.status;
            if (page.status == 303) ++saved;
        }
    });
    EXPECT_EQ(sql("select phone from customers where id = '1'"), std::to_string(saved));
}

TEST_P(RaceTest, ReadersNeverSeeHalfAPriceList) {
    sql("update prices set cents = 100");
    together([&](Person& somebody, int number) {
        for (int round = 0; round < rounds; ++round) {
            if (number % 2 == 0) {
                const Page form = somebody.post("/price-list/edit");
                if (is_refused(form)) continue;
                const std::string price = std::to_string(number * rounds + round + 1) + ".00";
                auto fields = form.form();
                for (const char* field : {"price.1", "price.2", "price.3", "price.4"}) {
                    fields = with(fields, field, price);
                }
                EXPECT_EQ(somebody.post("/price-list/save", fields).status, 303);
                continue;
            }
            const Page read = somebody.post("/price-list/read");
            if (is_refused(read)) continue;
            EXPECT_EQ(sql("select version from price_lists"),
                      sql("select version from price_lists"));
            EXPECT_EQ(somebody.post("/price-list/leave", read.form()).status, 303);
        }
    });
    EXPECT_EQ(sql("select count(distinct cents) from prices"), "1");
}

}  // namespace
}  // namespace customers::testing
