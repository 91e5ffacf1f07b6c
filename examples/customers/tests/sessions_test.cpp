#include <atomic>
#include <memory>

#include "domain/lock_rules.hpp"
#include "stage.hpp"

namespace customers::testing {
namespace {

class SessionTest : public Stage {
protected:
    SessionTest() {
        open({.session_timeout = 30min, .clock = [passed = passed_] {
                  return leasehold::SteadyClock::now() + passed->load();
              }});
    }
    void let_pass(leasehold::Duration time) { *passed_ = passed_->load() + time; }

    const leasehold::LockKey first_ = key_of<Customer>("1");

private:
    // The application asks for the time as long as it lives, which is longer than this.
    const std::shared_ptr<std::atomic<leasehold::Duration>> passed_ =
        std::make_shared<std::atomic<leasehold::Duration>>();
};
ON_EVERY_DATABASE(SessionTest);

TEST_P(SessionTest, TheEndOfASessionReleasesAllItsLocks) {
    Person kim = person("Kim");
    kim.post("/customers/1/edit");
    kim.in_tab("tab-2").post("/counter/open");
    Person lee = person("Lee");
    lee.post("/customers/2/edit");
    EXPECT_EQ(kim.post("/sign-out").location, "/sign-in");
    EXPECT_TRUE(is_free(first_));
    EXPECT_EQ(lee.post("/counter/open").status, 200);
    EXPECT_EQ(kim.get("/customers").location, "/sign-in");
}

TEST_P(SessionTest, ATimeoutReleasesThemToo) {
    Person kim = person("Kim");
    kim.post("/customers/1/edit");
    let_pass(29min);
    Person lee = person("Lee");
    EXPECT_EQ(lee.post("/customers/1/edit").status, 409);
    let_pass(2min);
    application().sessions().sweep();
    EXPECT_EQ(lee.post("/customers/1/edit").status, 200);
    EXPECT_EQ(kim.get("/customers").location, "/sign-in");
}

TEST_P(SessionTest, LivesAsLongAsItIsUsed) {
    Person kim = person("Kim");
    const std::string lock_id = kim.post("/customers/1/edit").form().get("lock_id");
    let_pass(20min);
    // The page renews: somebody works in it.
    EXPECT_EQ(kim.ask("PATCH", "Customer/1", R"({"ttl_ms": 60000})", lock_id).status, 200);
    let_pass(20min);
    // A list that looks for marks by itself is nobody's work.
    EXPECT_EQ(kim.get("/customers/marks").status, 200);
    let_pass(20min);
    EXPECT_EQ(kim.get("/customers").location, "/sign-in");
}

TEST_P(SessionTest, WhatWasTypedSurvivesTheSession) {
    Person kim = person("Kim");
    const Page form = kim.post("/customers/1/edit");
    let_pass(31min);
    application().sessions().sweep();
    const Page out = kim.send("/customers/1/save", form, "note", "half a novel");
    EXPECT_EQ(out.status, 401);
    EXPECT_TRUE(out.shows("Sign in to continue"));

    Person again = person("Kim");
    const Page back = again.post("/sign-in", with(out.form(), "name", "Kim"));
    EXPECT_EQ(back.status, 200);
    EXPECT_EQ(back.form().get("note"), "half a novel");
    EXPECT_FALSE(back.cookie.empty());
    EXPECT_FALSE(is_free(first_));
}

TEST_P(SessionTest, ARestartEndsSessionsAndTheirLocks) {
    Person kim = person("Kim");
    kim.post("/customers/1/edit");
    open();
    EXPECT_TRUE(is_free(first_));
    EXPECT_EQ(person("Lee").post("/customers/1/edit").status, 200);
}

}  // namespace
}  // namespace customers::testing
