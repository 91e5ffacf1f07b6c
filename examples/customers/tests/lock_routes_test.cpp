#include <boost/json/parse.hpp>

#include <thread>

#include "domain/lock_rules.hpp"
#include "stage.hpp"

namespace customers::testing {
namespace {

class LockRoutesTest : public Stage {
protected:
    static boost::json::object read(const Person::Answer& answer) {
        return boost::json::parse(answer.body).as_object();
    }
    static std::string text(const boost::json::object& object, const char* name) {
        return std::string{object.at(name).as_string()};
    }

    const leasehold::LockKey first_ = key_of<Customer>("1");
};
ON_EVERY_DATABASE(LockRoutesTest);

TEST_P(LockRoutesTest, ThePageRenewsChecksAndReleases) {
    Person kim = person("Kim");
    const std::string lock_id = kim.post("/customers/1/edit").form().get("lock_id");
    const auto renewed = kim.ask("PATCH", "Customer/1", R"({"ttl_ms": 60000})", lock_id);
    EXPECT_EQ(renewed.status, 200);
    EXPECT_EQ(text(read(renewed), "lock_id"), lock_id);
    EXPECT_EQ(kim.ask("GET", "Customer/1", "", lock_id).status, 200);
    EXPECT_EQ(kim.ask("DELETE", "Customer/1", "", lock_id).status, 200);
    EXPECT_TRUE(is_free(first_));
    EXPECT_EQ(kim.ask("DELETE", "Customer/1", "", lock_id).status, 200);
    const auto gone = kim.ask("GET", "Customer/1", "", lock_id);
    EXPECT_EQ(gone.status, 410);
    EXPECT_EQ(text(read(gone), "reason"), "released");
}

TEST_P(LockRoutesTest, TheOwnerIsOfTheSessionWhateverThePageSays) {
    Person kim = person("Kim");
    const auto taken =
        kim.ask("POST", "Customer/1", R"({"owner": "Lee/s-0/tab-9", "ttl_ms": 86400000})");
    ASSERT_EQ(taken.status, 201);
    const std::string owner = text(read(taken), "owner");
    EXPECT_TRUE(owner.starts_with("Kim/s-")) << owner;
    EXPECT_TRUE(owner.ends_with("/tab-9")) << owner;
    EXPECT_LE(read(taken).at("remaining_ms").to_number<double>(), 120'000);
    EXPECT_EQ(kim.ask("POST", "Customer/2", R"({"owner": "Kim/a b"})").status, 400);
    EXPECT_EQ(kim.ask("POST", "Customer/2", R"({})").status, 400);
}

TEST_P(LockRoutesTest, SomebodyElsesLockIdIsOfNoUse) {
    Person kim = person("Kim");
    Person lee = person("Lee");
    const std::string lock_id = kim.post("/customers/1/edit").form().get("lock_id");
    const auto checked = lee.ask("GET", "Customer/1", "", lock_id);
    EXPECT_EQ(checked.status, 410);
    EXPECT_FALSE(checked.body.contains("Kim"));
    EXPECT_EQ(lee.ask("PATCH", "Customer/1", R"({"ttl_ms": 1000})", lock_id).status, 410);
    EXPECT_EQ(lee.ask("DELETE", "Customer/1", "", lock_id).status, 200);
    EXPECT_FALSE(is_free(first_));
    EXPECT_EQ(kim.ask("GET", "Customer/2", "", lock_id).status, 410);
}

TEST_P(LockRoutesTest, OnlyOurKeysAndOnlyInTheirModes) {
    Person kim = person("Kim");
    EXPECT_EQ(kim.ask("POST", "Payroll/1", R"({"owner": "t"})").status, 403);
    EXPECT_EQ(kim.ask("POST", "Customer/1", R"({"owner": "t", "mode": "shared"})").status, 403);
    EXPECT_EQ(kim.ask("POST", "Counter/invoice", R"({"owner": "t", "mode": "shared"})").status,
              403);
    EXPECT_EQ(kim.ask("POST", "PriceList/standard", R"({"owner": "t", "mode": "shared"})").status,
              201);
    EXPECT_EQ(kim.ask("POST", "Customer/1", R"({"owner": "t", "colour": "red"})").status, 400);
    EXPECT_EQ(kim.ask("POST", "Customer/1", "{").status, 400);
    EXPECT_EQ(kim.ask("PUT", "Customer/1").status, 405);
    EXPECT_EQ(kim.ask("GET", "Customer/1", "", "no-lock-id").status, 400);
    // An address is its customer.
    EXPECT_EQ(kim.ask("POST", "Address/1", R"({"owner": "t"})").status, 201);
    EXPECT_FALSE(is_free(first_));
}

TEST_P(LockRoutesTest, AnybodyMaySeeWhoHoldsIt) {
    Person kim = person("Kim");
    const std::string lock_id = kim.post("/customers/1/edit").form().get("lock_id");
    const auto seen = person("Lee").ask("GET", "Customer/1");
    EXPECT_EQ(seen.status, 200);
    EXPECT_TRUE(seen.body.contains("Kim/"));
    EXPECT_FALSE(seen.body.contains(lock_id));
}

TEST_P(LockRoutesTest, AKnockReachesTheHolder) {
    Person kim = person("Kim");
    const std::string lock_id = kim.post("/customers/1/edit").form().get("lock_id");
    Person lee = person("Lee");
    EXPECT_EQ(lee.ask("POST", "Customer/1/knock", R"({"owner": "x/t", "message": "five minutes?"})")
                  .status,
              202);
    const auto heard = read(kim.ask("GET", "Customer/1", "", lock_id)).at("knocks").as_array();
    ASSERT_EQ(heard.size(), 1U);
    EXPECT_EQ(text(heard.front().as_object(), "message"), "five minutes?");
    EXPECT_TRUE(text(heard.front().as_object(), "by").starts_with("Lee/"));
    // A long one is cut between two letters.
    std::string many;
    for (int i = 0; i < 300; ++i) many += "가";
    Person park = person("Park");
    park.ask("POST", "Customer/1/knock", R"({"owner": "x/t", "message": ")" + many + "\"}");
    const auto cut = read(kim.ask("GET", "Customer/1", "", lock_id)).at("knocks").as_array();
    EXPECT_EQ(cut.back().at("message").as_string(), many.substr(0, 200 * 3));
    // The next holder has not been knocked on.
    kim.ask("DELETE", "Customer/1", "", lock_id);
    const std::string next = kim.post("/customers/1/edit").form().get("lock_id");
    EXPECT_TRUE(read(kim.ask("GET", "Customer/1", "", next)).at("knocks").as_array().empty());
}

TEST_P(LockRoutesTest, WaitersAreServedInTheirOrder) {
    Person kim = person("Kim");
    const Page form = kim.post("/customers/1/edit");
    const std::string body = R"({"owner": "t", "wait_ms": 50000})";
    const auto wait_for_it = [&](Person who) {
        Person::Answer answer;
        while ((answer = who.ask("POST", "Customer/1", body)).status == 409) {
        }
        return answer;
    };
    std::atomic<int> lees_turn = 0;
    std::atomic<int> parks_turn = 0;
    std::atomic<int> turn = 0;
    std::jthread first{[&] {
        Person lee = person("Lee");
        const auto lease = read(wait_for_it(lee));
        lees_turn = ++turn;
        lee.ask("DELETE", "Customer/1", "", text(lease, "lock_id"));
    }};
    ASSERT_TRUE(eventually([&] { return desk().routes.waiting_for(first_).size() == 1; }));
    std::jthread second{[&] {
        Person park = person("Park");
        static_cast<void>(wait_for_it(park));
        parks_turn = ++turn;
    }};
    ASSERT_TRUE(eventually([&] { return desk().routes.waiting_for(first_).size() == 2; }));
    EXPECT_TRUE(desk().routes.waiting_for(first_).front().starts_with("Lee/"));
    EXPECT_EQ(kim.post("/customers/1/save", form.form()).status, 303);
    first.join();
    second.join();
    EXPECT_LT(lees_turn, parks_turn);
}

TEST_P(LockRoutesTest, AClientThatLeavesTheLineIsNotServed) {
    Person kim = person("Kim");
    const Page form = kim.post("/customers/1/edit");
    const std::string drawn = leasehold::LockId::random().to_string();
    Person lee = person("Lee");
    std::jthread waiting{[&] {
        const auto answer =
            lee.ask("POST", "Customer/1", R"({"owner": "t", "wait_ms": 50000})", drawn);
        EXPECT_EQ(answer.status, 409);
    }};
    ASSERT_TRUE(eventually([&] { return desk().routes.waiting_for(first_).size() == 1; }));
    EXPECT_EQ(lee.ask("DELETE", "Customer/1", "", drawn).status, 200);
    waiting.join();
    EXPECT_TRUE(desk().routes.waiting_for(first_).empty());
}

TEST_P(LockRoutesTest, AClosedPageLeavesItsLockSoonAndAReloadedOneKeepsIt) {
    Person kim = person("Kim");
    Person lee = person("Lee");
    const std::string closed = kim.post("/customers/1/edit").form().get("lock_id");
    const std::string reloaded = lee.post("/customers/2/edit").form().get("lock_id");
    EXPECT_EQ(lee.leave("Customer/2", reloaded, "2000").status, 202);
    EXPECT_EQ(lee.ask("PATCH", "Customer/2", R"({"ttl_ms": 120000})", reloaded).status, 200);
    EXPECT_EQ(kim.leave("Customer/1", closed, "2000").status, 202);
    EXPECT_TRUE(eventually([&] { return is_free(first_); }));
    EXPECT_EQ(lee.ask("GET", "Customer/2", "", reloaded).status, 200);
}

TEST_P(LockRoutesTest, AStrangerIsToldSo) {
    const auto answer = application().handle({.method = "GET", .target = "/v1/locks/Customer/1"});
    EXPECT_EQ(answer.status, 401);
}

}  // namespace
}  // namespace customers::testing
