#include "domain/lock_rules.hpp"
#include "stage.hpp"

namespace customers::testing {
namespace {

// Price list: many readers or one writer. Counter: one, even to read.
class LockTypesTest : public Stage {
protected:
    const leasehold::LockKey prices_ = key_of<PriceList>(standard_prices);
    const leasehold::LockKey numbers_ = key_of<Counter>(invoice_numbers);
};
ON_EVERY_DATABASE(LockTypesTest);

TEST_P(LockTypesTest, ManyReadThePricesAtOnceAndNobodyChangesThem) {
    Person kim = person("Kim");
    Person lee = person("Lee");
    Person park = person("Park");
    EXPECT_FALSE(kim.get("/price-list").shows("Fountain pen"));
    const Page kims = kim.post("/price-list/read");
    EXPECT_TRUE(kims.shows("Fountain pen"));
    const Page lees = lee.post("/price-list/read");
    EXPECT_EQ(lees.status, 200);
    const Page refused = park.post("/price-list/edit");
    EXPECT_EQ(refused.status, 409);
    EXPECT_TRUE(refused.shows("Kim"));
    EXPECT_TRUE(refused.shows("Lee"));
    kim.post("/price-list/leave", kims.form());
    EXPECT_EQ(park.post("/price-list/edit").status, 409);
    lee.post("/price-list/leave", lees.form());
    EXPECT_EQ(park.post("/price-list/edit").status, 200);
}

TEST_P(LockTypesTest, NobodyReadsPricesThatAreBeingChanged) {
    Person kim = person("Kim");
    Person lee = person("Lee");
    const Page form = kim.post("/price-list/edit");
    EXPECT_EQ(lee.post("/price-list/read").status, 409);
    EXPECT_EQ(kim.send("/price-list/save", form, "price.1", "9.90").status, 303);
    EXPECT_TRUE(lee.post("/price-list/read").shows("9.90"));
}

TEST_P(LockTypesTest, AReaderWhoIsAloneGoesOverToEditing) {
    Person kim = person("Kim");
    const Page read = kim.post("/price-list/read");
    const Page form = kim.post("/price-list/edit");
    EXPECT_EQ(form.status, 200);
    EXPECT_EQ(kim.send("/price-list/save", form, "price.2", "1").status, 303);
    EXPECT_EQ(sql("select cents from prices where position = 2"), "100");
}

TEST_P(LockTypesTest, AReadersLockIsNotGoodForSaving) {
    Person kim = person("Kim");
    const Page read = kim.post("/price-list/read");
    auto fields = read.form();
    fields.add("version", "1");
    fields.add("item.1", "Free lunch");
    fields.add("price.1", "0.00");
    const Page refused = kim.post("/price-list/save", fields);
    EXPECT_EQ(refused.status, 409);
    EXPECT_TRUE(refused.shows("Free lunch"));
    EXPECT_EQ(sql("select count(*) from prices"), "4");
}

TEST_P(LockTypesTest, PricesThatWereNotSavedAreStillInTheForm) {
    Person kim = person("Kim");
    Person lee = person("Lee");
    const Page form = kim.post("/price-list/edit");
    desk().locks.release_all("Kim", leasehold::OwnerScope::below);
    ASSERT_EQ(lee.send("/price-list/save", lee.post("/price-list/edit"), "price.1", "7.77").status,
              303);
    const Page late = kim.send("/price-list/save", form, "price.3", "12.34");
    EXPECT_EQ(late.status, 409);
    EXPECT_EQ(late.form().get("price.3"), "12.34");
    EXPECT_TRUE(late.shows("7.77"));
    const Page again = kim.post("/price-list/reopen", late.form());
    EXPECT_EQ(again.form().get("price.3"), "12.34");
    EXPECT_EQ(kim.post("/price-list/save", again.form()).status, 303);
    EXPECT_EQ(sql("select cents from prices where position = 3"), "1234");
}

TEST_P(LockTypesTest, APriceThatIsNoneIsNotSaved) {
    Person kim = person("Kim");
    const Page form = kim.post("/price-list/edit");
    for (const std::string price : {"cheap", "-1", "1.234", "", "99999999999999999999"}) {
        EXPECT_EQ(kim.send("/price-list/save", form, "price.1", price).status, 422) << price;
    }
    EXPECT_EQ(sql("select version from price_lists"), "1");
}

TEST_P(LockTypesTest, EvenReadersTakeTheCounterAlone) {
    Person kim = person("Kim");
    Person lee = person("Lee");
    const Page open = kim.post("/counter/open");
    EXPECT_TRUE(open.shows("1001"));
    EXPECT_EQ(lee.post("/counter/open").status, 409);
    kim.post("/counter/put-back", open.form());
    const Page lees = lee.post("/counter/open");
    EXPECT_TRUE(lees.shows("1001"));
    const Page taken = lee.post("/counter/take", lees.form());
    EXPECT_EQ(taken.location, "/counter?used=1001");
    EXPECT_TRUE(kim.post("/counter/open").shows("1002"));
}

TEST_P(LockTypesTest, ANumberThatIsTakenTwiceIsTakenOnce) {
    Person kim = person("Kim");
    const auto sent = kim.post("/counter/open").form();
    EXPECT_EQ(kim.post("/counter/take", sent).location, "/counter?used=1001");
    EXPECT_EQ(kim.post("/counter/take", sent).location, "/counter?used=1001");
    EXPECT_EQ(sql("select next_number from counters"), "1002");
}

TEST_P(LockTypesTest, AReaderWhoLoadsThePricesAgainDoesNotEditThem) {
    Person kim = person("Kim");
    kim.post("/price-list/read");
    EXPECT_EQ(kim.get("/price-list/read?tab=tab-1").status, 200);
    EXPECT_EQ(kim.get("/price-list/edit?tab=tab-1").location, "/price-list");
    EXPECT_EQ(kim.get("/counter/open?tab=tab-1").location, "/counter");
    EXPECT_EQ(person("Lee").post("/price-list/read").status, 200);
}

TEST_P(LockTypesTest, ANumberIsNotTakenWithoutTheLock) {
    Person kim = person("Kim");
    const Page open = kim.post("/counter/open");
    desk().locks.release_all("Kim", leasehold::OwnerScope::below);
    EXPECT_EQ(kim.post("/counter/take", open.form()).status, 409);
    EXPECT_EQ(sql("select next_number from counters"), "1001");
}

}  // namespace
}  // namespace customers::testing
