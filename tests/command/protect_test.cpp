#include <gtest/gtest.h>
#include <sqlite3.h>

#include "command/host.hpp"

// `leasehold protect`, `unprotect` and `protected`, and what `doctor` says about them. What the
// triggers do is tested by the conformance suite, on every database.
namespace leasehold::command {
namespace {

class Protect : public ::testing::Test {
protected:
    Protect() {
        EXPECT_EQ(leasehold({"ls", "--store", store()}).exit_code, 0);
        EXPECT_EQ(execute("create table orders (id integer primary key, text text)"), "");
        EXPECT_EQ(execute("insert into orders values (1, 'old')"), "");
    }

    [[nodiscard]] std::string store() const {
        return "sqlite:" + (folder_.path() / "locks.db").string();
    }
    [[nodiscard]] auto run(std::vector<std::string> arguments) const {
        arguments.insert(arguments.end(), {"--store", store()});
        return leasehold(arguments);
    }

    // The error, or nothing.
    std::string execute(const char* sql) const {
        sqlite3* db = nullptr;
        sqlite3_open((folder_.path() / "locks.db").string().c_str(), &db);
        char* error = nullptr;
        sqlite3_exec(db, sql, nullptr, nullptr, &error);
        const std::string said = error == nullptr ? "" : error;
        sqlite3_free(error);
        sqlite3_close(db);
        return said;
    }

private:
    testing::TemporaryFolder folder_;
};

TEST_F(Protect, RefusesAWriteUntilItIsUndone) {
    EXPECT_EQ(run({"protected"}).output, "no table is protected\n");
    const auto protect = run({"protect", "orders", "--key", "Order/{id}"});
    EXPECT_EQ(protect.exit_code, 0);
    EXPECT_EQ(
        protect.output,
        "orders is protected: a write to a row needs the lease of Order/{id}, if somebody has "
        "leased it\n");
    EXPECT_EQ(run({"protected"}).output,
              "TABLE   KEY         UNLEASED ROWS\norders  Order/{id}  writable\n");
    EXPECT_EQ(run({"try", "Order/1", "--owner", "alice"}).exit_code, 0);
    const char* const write = "update orders set text = 'new'";
    EXPECT_TRUE(contains(execute(write), "leasehold: Order/1 is held by alice until "));
    EXPECT_EQ(run({"unprotect", "orders"}).output, "orders is not protected any more\n");
    const auto again = run({"unprotect", "orders"});
    EXPECT_EQ(again.exit_code, 0);
    EXPECT_EQ(again.output, "orders was not protected\n");
    EXPECT_EQ(execute(write), "");
}

TEST_F(Protect, PrintsJson) {
    EXPECT_EQ(run({"protect", "orders", "--key", "Order/{id}", "--require", "--json"}).output,
              R"({"table":"orders","key":"Order/{id}","unleased":"refused","warnings":[]})"
              "\n");
    EXPECT_EQ(run({"protected", "--json"}).output,
              R"({"tables":[{"table":"orders","key":"Order/{id}","unleased":"refused"}]})"
              "\n");
    EXPECT_TRUE(contains(execute("delete from orders"), "a write to Order/1 needs a lease"));
    EXPECT_EQ(run({"unprotect", "orders", "--json"}).output,
              R"({"table":"orders","was_protected":true})"
              "\n");
}

TEST_F(Protect, ExplainsAWrongTableKeyOrStore) {
    const auto table = run({"protect", "order", "--key", "Order/{id}"});
    EXPECT_EQ(table.exit_code, 2);
    EXPECT_TRUE(contains(table.output, "there is no table 'order'")) << table.output;
    const auto key = run({"protect", "orders", "--key", "Order/{no}"});
    EXPECT_EQ(key.exit_code, 2);
    EXPECT_TRUE(contains(key.output, "has no column 'no'; it has id, text")) << key.output;
    for (const char* other : {"memory:", "http://127.0.0.1:1", "etcd://127.0.0.1:1"}) {
        const auto refused =
            leasehold({"protect", "orders", "--key", "Order/{id}", "--store", other});
        EXPECT_EQ(refused.exit_code, 2);
        EXPECT_TRUE(contains(refused.output, "no tables of yours to protect")) << refused.output;
    }
}

TEST_F(Protect, TheDoctorRepeatsTheWarnings) {
    EXPECT_EQ(execute("create table order_lines (id integer primary key, order_id integer)"), "");
    EXPECT_EQ(run({"protect", "order_lines", "--key", "Order/{order_id}"}).exit_code, 0);
    const auto seen = run({"doctor"});
    EXPECT_EQ(seen.exit_code, 0) << seen.output;
    EXPECT_TRUE(contains(seen.output, "warning  protection   order_lines: INSERT OR REPLACE and "))
        << seen.output;
    EXPECT_TRUE(contains(seen.output, "ok       protection   1 table is protected"));
}

TEST_F(Protect, TheDoctorFindsMissingProtection) {
    EXPECT_FALSE(contains(run({"doctor"}).output, "protection"));
    EXPECT_EQ(run({"protect", "orders", "--key", "Order/{id}"}).exit_code, 0);
    EXPECT_TRUE(contains(run({"doctor"}).output, "ok       protection   1 table is protected"));
    EXPECT_EQ(execute("drop trigger \"leasehold_protect_update orders\""), "");
    const auto ill = run({"doctor"});
    EXPECT_EQ(ill.exit_code, 1);
    EXPECT_TRUE(
        contains(ill.output,
                 "problem  protection   orders: the trigger leasehold_protect_update orders "
                 "is missing"))
        << ill.output;
    EXPECT_TRUE(contains(ill.output, "run leasehold protect for this table again"));
}

}  // namespace
}  // namespace leasehold::command
