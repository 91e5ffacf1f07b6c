#include "domain/lock_rules.hpp"
#include "stage.hpp"

// With the protection on, as in `./run demo`, a database shell cannot change what somebody is
// editing.
namespace customers::testing {
namespace {

class ProtectedDatabase : public Stage {
protected:
    void SetUp() override { open({.protection = ApplicationOptions::Protection::on}); }

    [[nodiscard]] std::string refusal_of(const std::string& statement) {
        try {
            sql(statement);
        } catch (const std::exception& error) {
            return error.what();
        }
        return "it was written";
    }
};
ON_EVERY_DATABASE(ProtectedDatabase);

TEST_P(ProtectedDatabase, RefusesTheEditOfAShellWhileTheFormIsOpen) {
    const std::string by_shell = "update customers set name = 'By a shell' where id = '1'";
    const std::string by_form = "Kim & Daughters";
    Person kim = person("Kim");
    const Page form = kim.post("/customers/1/edit");
    for (const std::string& statement :
         {by_shell, std::string{"update addresses set city = 'Busan' where customer_id = '1'"},
          std::string{"delete from addresses"}}) {
        const std::string said = refusal_of(statement);
        EXPECT_NE(said.find("leasehold: Customer/1 is held by Kim/"), std::string::npos) << said;
    }
    sql("update customers set name = 'By a shell' where id = '2'");
    EXPECT_EQ(kim.send("/customers/1/save", form, "name", by_form).status, 303);
    EXPECT_EQ(sql("select name from customers where id = '1'"), by_form);
    sql(by_shell);
    EXPECT_EQ(sql("select name from customers where id = '1'"), "By a shell");
}

TEST_P(ProtectedDatabase, TellsThePersonWhoEdits) {
    const std::string line = "the database itself refuses changes by others";
    EXPECT_TRUE(person("Kim").post("/customers/1/edit").shows(line));
    EXPECT_TRUE(person("Kim").post("/price-list/edit").shows(line));
    open();
    EXPECT_FALSE(person("Lee").post("/customers/2/edit").shows(line));
}

TEST_P(ProtectedDatabase, LetsTheApplicationSaveEveryKindOfObject) {
    Person kim = person("Kim");
    const Page prices = kim.post("/price-list/edit");
    const std::string said = refusal_of("update prices set cents = 1");
    EXPECT_NE(said.find("leasehold: PriceList/standard is held by Kim/"), std::string::npos)
        << said;
    EXPECT_EQ(kim.send("/price-list/save", prices, "price.1", "7.77").status, 303);
    const Page counter = kim.post("/counter/open");
    EXPECT_EQ(kim.post("/counter/take", counter.form()).status, 303);
}

class OrdinaryUser : public Stage {};
INSTANTIATE_TEST_SUITE_P(On, OrdinaryUser, ::testing::Values("mysql", "mariadb"), by_name());

// Without the rights to make triggers and functions, the application works without protection and
// says what is missing.
TEST_P(OrdinaryUser, HasTheApplicationWithoutProtection) {
    const std::string name = url().substr(url().rfind('/') + 1);
    sql("create user " + name + " identified by 'secret'");
    sql("grant select, insert, update, delete, create, alter, references on " + name + ".* to " +
        name);
    std::string database = url();
    database.replace(database.find("app:"), 3, name);
    Application application{
        {.database = database, .protection = ApplicationOptions::Protection::on}};
    EXPECT_TRUE(application.unprotected_because().contains("denied to user '" + name + "'"))
        << application.unprotected_because();
    Person kim{application, "Kim"};
    const Page form = kim.post("/customers/1/edit");
    EXPECT_FALSE(form.shows("the database itself refuses"));
    EXPECT_EQ(kim.send("/customers/1/save", form, "name", "Kim & Daughters").status, 303);
}

}  // namespace
}  // namespace customers::testing
