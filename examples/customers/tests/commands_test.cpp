#include <regex>

#include "domain/lock_rules.hpp"
#include "stage.hpp"

namespace customers::testing {
namespace {

class CommandTest : public Stage {
protected:
    const leasehold::LockKey first_ = key_of<Customer>("1");

    std::string name_in_database() { return sql("select name from customers where id = '1'"); }
    std::string version_in_database() {
        return sql("select version from customers where id = '1'");
    }
};
ON_EVERY_DATABASE(CommandTest);

TEST_P(CommandTest, ListsCustomersAndMarksThoseThatAreEdited) {
    Person kim = person("Kim");
    Person lee = person("Lee");
    EXPECT_TRUE(kim.get("/customers").shows("Ahn &amp; Daughters"));
    EXPECT_FALSE(kim.get("/customers").shows("Lee is editing"));
    lee.post("/customers/1/edit");
    EXPECT_TRUE(kim.get("/customers").shows("Lee is editing"));
    EXPECT_EQ(kim.get("/customers/marks").body, R"({"1":"Lee"})");
}

TEST_P(CommandTest, ViewsWithoutALockAndSaysWhoEdits) {
    Person kim = person("Kim");
    EXPECT_EQ(kim.get("/customers/1").status, 200);
    EXPECT_TRUE(is_free(first_));
    person("Lee").post("/customers/1/edit");
    EXPECT_TRUE(kim.get("/customers/1").shows("<strong>Lee</strong>"));
    EXPECT_EQ(kim.get("/customers/99").status, 404);
}

TEST_P(CommandTest, OpensUnderALockAndSavesAndReleasesTogether) {
    Person kim = person("Kim");
    const Page form = kim.post("/customers/1/edit");
    ASSERT_EQ(form.status, 200);
    ASSERT_FALSE(is_free(first_));
    EXPECT_EQ(kit::user_of(desk().locks.holders(first_).front().owner), "Kim");

    const Page saved = kim.send("/customers/1/save", form, "name", "Ahn, Daughters & Co");
    EXPECT_EQ(saved.status, 303);
    EXPECT_TRUE(kim.get(saved.location).shows("Saved."));
    EXPECT_EQ(name_in_database(), "Ahn, Daughters & Co");
    EXPECT_EQ(version_in_database(), "2");
    EXPECT_EQ(sql("select changed_by from customers where id = '1'"), "Kim");
    EXPECT_TRUE(is_free(first_));
}

TEST_P(CommandTest, ASaveThatIsSentTwiceIsSavedOnce) {
    Person kim = person("Kim");
    Person lee = person("Lee");
    const auto sent = with(kim.post("/customers/1/edit").form(), "name", "Twice");
    const Page first = kim.post("/customers/1/save", sent);
    EXPECT_EQ(kim.post("/customers/1/save", sent).location, first.location);
    lee.post("/customers/1/edit");
    EXPECT_EQ(kim.post("/customers/1/save", sent).location, first.location);
    EXPECT_EQ(version_in_database(), "2");
    EXPECT_EQ(kim.post("/customers/1/save", with(sent, "note", "more")).status, 409);
    EXPECT_EQ(lee.post("/customers/1/save", with(sent, "form_token", "")).status, 409);
}

TEST_P(CommandTest, APageThatIsLoadedAgainGoesOnWithItsLockAndTakesNone) {
    Person kim = person("Kim");
    const std::string reload = "/customers/1/edit?tab=tab-1";
    EXPECT_EQ(kim.get(reload).location, "/customers/1");
    EXPECT_TRUE(is_free(first_));
    const Page form = kim.post("/customers/1/edit");
    const Page again = kim.get(reload);
    EXPECT_EQ(again.status, 200);
    EXPECT_EQ(again.form().get("lock_id"), form.form().get("lock_id"));
    EXPECT_EQ(kim.get("/customers/1/edit?tab=tab-2").location, "/customers/1");
    EXPECT_EQ(kim.get("/customers/1/edit").location, "/customers/1");
    EXPECT_EQ(person("Lee").get(reload).location, "/customers/1");
    ASSERT_EQ(kim.send("/customers/1/save", again, "name", "Saved").status, 303);
    EXPECT_EQ(kim.get(reload).location, "/customers/1");
    EXPECT_TRUE(is_free(first_));
}

TEST_P(CommandTest, SavesAddressesWithTheirCustomer) {
    Person kim = person("Kim");
    auto fields = kim.post("/customers/1/edit").form();
    fields = with(fields, "address.2.label", "창고");
    fields = with(fields, "address.2.street", "7 River Road");
    fields = with(fields, "address.2.city", "Busan");
    fields = with(fields, "address.1.label", "");
    fields = with(fields, "address.1.street", " ");
    fields = with(fields, "address.1.city", "");
    ASSERT_EQ(kim.post("/customers/1/save", fields).status, 303);
    EXPECT_EQ(sql("select count(*) from addresses where customer_id = '1'"), "1");
    EXPECT_EQ(sql("select label from addresses where customer_id = '1' and position = 1"), "창고");
}

TEST_P(CommandTest, RefusesASecondPersonAndNamesTheHolder) {
    Person kim = person("Kim");
    Person lee = person("Lee");
    kim.post("/customers/1/edit");
    const Page refused = lee.post("/customers/1/edit");
    EXPECT_EQ(refused.status, 409);
    EXPECT_TRUE(refused.shows("<strong>Kim</strong>"));
    // HTML allows at most three digits after the point.
    static const std::regex time_in_html{R"(<time datetime="[^"]*:\d{2}\.\d{3}Z")"};
    EXPECT_TRUE(std::regex_search(refused.body, time_in_html)) << refused.body;
    EXPECT_FALSE(refused.form().has("lock_id"));
    EXPECT_EQ(lee.get("/customers/1").status, 200);
    EXPECT_EQ(lee.post("/customers/2/edit").status, 200);
}

TEST_P(CommandTest, AnAddressIsLockedByItsCustomer) {
    Person kim = person("Kim");
    EXPECT_EQ(kim.post("/customers/1/addresses/1/edit").status, 200);
    EXPECT_FALSE(is_free(first_));
    EXPECT_EQ(person("Lee").post("/customers/1/edit").status, 409);
    EXPECT_EQ(person("Park").post("/customers/1/addresses/2/edit").status, 409);
}

TEST_P(CommandTest, CancelsWithoutAChange) {
    Person kim = person("Kim");
    const Page form = kim.post("/customers/1/edit");
    EXPECT_EQ(kim.send("/customers/1/cancel", form, "name", "Never").status, 303);
    EXPECT_TRUE(is_free(first_));
    EXPECT_EQ(version_in_database(), "1");
    EXPECT_EQ(person("Lee").post("/customers/1/edit").status, 200);
    // Too late now, and it is Lee's.
    EXPECT_EQ(kim.send("/customers/1/cancel", form, "name", "Never").status, 303);
    EXPECT_FALSE(is_free(first_));
}

TEST_P(CommandTest, TheSameTabGetsItsLockAgainAndAnotherTabDoesNot) {
    Person kim = person("Kim");
    const std::string lock_id = kim.post("/customers/1/edit").form().get("lock_id");
    EXPECT_EQ(kim.post("/customers/1/edit").form().get("lock_id"), lock_id);
    EXPECT_EQ(kim.in_tab("tab-2").post("/customers/1/edit").status, 409);
}

TEST_P(CommandTest, ANewBusinessTransactionEndsTheOneBeforeInItsTab) {
    Person kim = person("Kim");
    Person beside = kim.in_tab("tab-2");
    beside.post("/customers/3/edit");
    kim.post("/customers/1/edit");
    kim.post("/customers/2/edit");
    EXPECT_TRUE(is_free(first_));
    EXPECT_FALSE(is_free(key_of<Customer>("2")));
    EXPECT_FALSE(is_free(key_of<Customer>("3")));
}

TEST_P(CommandTest, WhatIsNotThereLeavesNoLock) {
    EXPECT_EQ(person("Kim").post("/customers/99/edit").status, 404);
    EXPECT_TRUE(is_free(key_of<Customer>("99")));
}

TEST_P(CommandTest, AFormWithAMistakeComesBackWithItsLock) {
    Person kim = person("Kim");
    const Page form = kim.post("/customers/1/edit");
    const Page again =
        kim.post("/customers/1/save", with(with(form.form(), "name", " "), "note", "typed by Kim"));
    EXPECT_EQ(again.status, 422);
    EXPECT_TRUE(again.shows("A customer needs a name."));
    EXPECT_EQ(again.form().get("note"), "typed by Kim");
    EXPECT_EQ(kim.send("/customers/1/save", again, "name", "Good").status, 303);
    EXPECT_EQ(name_in_database(), "Good");
}

TEST_P(CommandTest, ASaveAfterTheExpiryKeepsWhatWasTyped) {
    open({.ttl = 1s});
    Person kim = person("Kim");
    const Page form = kim.post("/customers/1/edit");
    ASSERT_TRUE(eventually([&] { return is_free(first_); }));

    const Page late = kim.send("/customers/1/save", form, "note", "twenty minutes of typing");
    EXPECT_EQ(late.status, 409);
    EXPECT_TRUE(late.shows("your lock had expired"));
    EXPECT_TRUE(late.shows("Nobody has changed it since you opened it."));
    EXPECT_EQ(late.form().get("note"), "twenty minutes of typing");
    EXPECT_FALSE(late.form().has("lock_id"));
    EXPECT_EQ(version_in_database(), "1");
}

TEST_P(CommandTest, ASaveAfterATakeOverTellsWhatChangedAndByWhom) {
    Person kim = person("Kim");
    Person lee = person("Lee");
    const Page form = kim.post("/customers/1/edit");
    const auto held = desk().locks.holders(first_).front();
    ASSERT_TRUE(desk().locks.break_lock(first_, held.fence, "admin", "lunch"));
    const Page lees = lee.post("/customers/1/edit");
    ASSERT_EQ(lee.send("/customers/1/save", lees, "phone", "555-LEE").status, 303);

    const Page late = kim.send("/customers/1/save", form, "note", "Kim's words");
    EXPECT_EQ(late.status, 409);
    EXPECT_TRUE(late.shows("<strong>Lee</strong> changed it in between"));
    EXPECT_TRUE(late.shows("+82 2 555 0101"));
    EXPECT_TRUE(late.shows("555-LEE"));
    EXPECT_EQ(late.form().get("note"), "Kim's words");

    // Kim takes the lock again, sees it all, and decides.
    const Page again = kim.post("/customers/1/reopen", late.form());
    EXPECT_EQ(again.status, 200);
    EXPECT_TRUE(again.shows("555-LEE"));
    EXPECT_EQ(again.form().get("note"), "Kim's words");
    // What Kim did not touch is as Lee has saved it.
    EXPECT_EQ(again.form().get("phone"), "555-LEE");
    EXPECT_EQ(kim.post("/customers/1/save", again.form()).status, 303);
    EXPECT_EQ(sql("select note from customers where id = '1'"), "Kim's words");
    EXPECT_EQ(sql("select phone from customers where id = '1'"), "555-LEE");
}

TEST_P(CommandTest, WhereBothChangedAFieldThePersonDecides) {
    Person kim = person("Kim");
    Person lee = person("Lee");
    const Page form = kim.post("/customers/1/edit");
    desk().locks.release_all("Kim", leasehold::OwnerScope::below);
    auto lees = lee.post("/customers/1/edit").form();
    lees = with(with(lees, "note", "Lee's words"), "address.1.city", "Busan");
    ASSERT_EQ(lee.post("/customers/1/save", lees).status, 303);

    const Page late = kim.post("/customers/1/save", with(with(form.form(), "note", "Kim's words"),
                                                         "address.1.label", "Home"));
    const Page again = kim.post("/customers/1/reopen", late.form());
    EXPECT_EQ(again.form().get("note"), "Kim's words");
    EXPECT_TRUE(again.shows("Lee&#39;s words"));
    // An address is not made of two halves.
    EXPECT_EQ(again.form().get("address.1.label"), "Home");
    EXPECT_EQ(again.form().get("address.1.city"), "Seoul");
    EXPECT_TRUE(again.shows("Busan"));
}

TEST_P(CommandTest, ADraftWaitsWhileSomebodyElseHasTheLock) {
    Person kim = person("Kim");
    Person lee = person("Lee");
    const Page form = kim.post("/customers/1/edit");
    desk().locks.release_all("Kim", leasehold::OwnerScope::below);
    lee.post("/customers/1/edit");
    const Page late = kim.send("/customers/1/save", form, "note", "kept");
    EXPECT_TRUE(late.shows("It is being edited by <strong>Lee</strong>"));
    const Page refused = kim.post("/customers/1/reopen", late.form());
    EXPECT_EQ(refused.status, 409);
    EXPECT_TRUE(refused.shows("<strong>Lee</strong>"));
    EXPECT_EQ(refused.form().get("note"), "kept");
}

TEST_P(CommandTest, AStaleVersionIsCaughtAlthoughTheLockWasHeld) {
    Person kim = person("Kim");
    const Page form = kim.post("/customers/1/edit");
    // An import that knows nothing of locks.
    sql("update customers set phone = '555-IMPORT', version = version + 1, changed_by = 'import' "
        "where id = '1'");
    const Page stale = kim.send("/customers/1/save", form, "note", "mine");
    EXPECT_EQ(stale.status, 409);
    EXPECT_TRUE(stale.shows("somebody has changed it since you opened it"));
    EXPECT_TRUE(stale.shows("555-IMPORT"));
    EXPECT_EQ(sql("select note from customers where id = '1'").find("mine"), std::string::npos);
    EXPECT_FALSE(is_free(first_));
    // The lock is still Kim's, and Kim has seen it now.
    EXPECT_EQ(kim.send("/customers/1/save", stale, "note", "mine").status, 303);
    EXPECT_TRUE(is_free(first_));
}

TEST_P(CommandTest, AForgedForeignOrMissingLockIdSavesNothing) {
    Person kim = person("Kim");
    Person lee = person("Lee");
    const Page kims = kim.post("/customers/1/edit");
    const Page lees = lee.post("/customers/2/edit");
    const std::string forged = leasehold::LockId::random().to_string();
    const auto attack = with(kims.form(), "name", "Stolen");

    EXPECT_EQ(lee.post("/customers/1/save", with(attack, "form_token", "")).status, 409);
    EXPECT_EQ(lee.post("/customers/1/save",
                       with(with(attack, "form_token", ""), "lock_id", lees.form().get("lock_id")))
                  .status,
              409);
    EXPECT_EQ(kim.post("/customers/1/save", with(attack, "lock_id", forged)).status, 409);
    EXPECT_EQ(kim.post("/customers/1/save", with(attack, "lock_id", "nonsense")).status, 409);
    EXPECT_EQ(kim.post("/customers/1/save", without(attack, "lock_id")).status, 409);
    EXPECT_EQ(name_in_database(), "Ahn & Daughters");
    EXPECT_FALSE(is_free(first_));
    EXPECT_EQ(kim.send("/customers/1/save", kims, "name", "Honest").status, 303);
}

TEST_P(CommandTest, AStrangerCannotCancelSomebodysWork) {
    Person kim = person("Kim");
    const Page form = kim.post("/customers/1/edit");
    person("Lee").post("/customers/1/cancel", with(form.form(), "form_token", ""));
    EXPECT_FALSE(is_free(first_));
}

TEST_P(CommandTest, KnocksWithoutAScript) {
    Person kim = person("Kim");
    Person lee = person("Lee");
    const std::string lock_id = kim.post("/customers/1/edit").form().get("lock_id");
    const Page knocked = lee.post("/knock/Customer/1");
    EXPECT_EQ(knocked.location, "/customers/1?knocked");
    EXPECT_TRUE(kim.ask("GET", "Customer/1", "", lock_id).body.contains("Lee/"));
}

}  // namespace
}  // namespace customers::testing
