// Users of MySQL and MariaDB that have only the rights the documentation asks for.
#include <mysql.h>

#include <stdexcept>

#include "faults/databases.hpp"

namespace leasehold::faults {
namespace {

// A server with a binary log and two users: `store` has the rights that the store's README and
// docs/protect.md name for the user of the store, `clerk` has the rights of a user who writes to a
// protected table.
class Rights : public ::testing::TestWithParam<On<Server>> {
protected:
    void SetUp() override {
        admin_ = server_->connect("locks");
        run("create user store identified by 'secret'");
        run("grant select, insert, update, delete, create, alter on locks.* to store");
        run("create table locks.orders (id integer not null primary key, text varchar(20))");
        run("insert into locks.orders values (1, 'old'), (2, 'old')");
    }

    void run(const std::string& sql) { admin_->run(sql); }
    void grant_protecting() {
        run("grant trigger, create routine, alter routine, references on locks.* to "
            "store");
        if (is_mysql()) run("grant select on performance_schema.* to store");
    }
    [[nodiscard]] bool is_mysql() const { return std::string_view{GetParam().store} == "mysql"; }
    [[nodiscard]] std::string url_of(const std::string& user) const {
        return std::string{GetParam().store} + "://" + user +
               ":secret@127.0.0.1:" + std::to_string(server_->port()) + "/locks";
    }
    [[nodiscard]] std::string fault_of_protecting() const {
        try {
            (void)open_protection(url_of("store"))
                ->protect({.name = "orders", .key = "Order/{id}"});
        } catch (const StoreFault& fault) {
            EXPECT_EQ(fault.cause(), Cause::configuration);
            return fault.what();
        }
        return "";
    }

    std::unique_ptr<Server> server_ =
        GetParam().make({.settings = {"--log-bin=binlog", "--binlog-format=ROW"}});

private:
    std::unique_ptr<Session> admin_;
};
INSTANTIATE_TEST_SUITE_P(, Rights, ::testing::Values(on_mysql(), on_mariadb()), by_store());

// A connection as a user other than the tests' own.
class Connection {
public:
    Connection(std::uint16_t port, const char* user)
        : connection_{mysql_init(nullptr), mysql_close} {
        if (mysql_real_connect(connection_.get(), "127.0.0.1", user, "secret", "locks", port,
                               nullptr, 0) == nullptr) {
            throw std::runtime_error{mysql_error(connection_.get())};
        }
    }
    // The message of the failure, or nothing.
    std::string failure_of(const std::string& sql) {
        if (mysql_query(connection_.get(), sql.c_str()) != 0) return mysql_error(connection_.get());
        mysql_free_result(mysql_store_result(connection_.get()));
        return "";
    }

private:
    std::unique_ptr<MYSQL, decltype(&mysql_close)> connection_;
};

TEST_P(Rights, OfTheDocumentationAreEnoughToProtectATableAndToWriteIt) {
    LockManager locks{open_store(url_of("store"))};
    const Lease lease = locks.try_lock({"Order", "1"}, {.owner = "alice", .ttl = 1h}).value();
    grant_protecting();
    run("set global log_bin_trust_function_creators = 1");
    ASSERT_EQ(fault_of_protecting(), "");
    ASSERT_EQ(fault_of_protecting(), "") << "a second time";

    run("create user clerk identified by 'secret'");
    run("grant select, insert, update, delete on locks.orders to clerk");
    run("grant lock tables on locks.* to clerk");
    Connection clerk{server_->port(), "clerk"};
    const std::string write = "update orders set text = 'new' where id = ";
    EXPECT_EQ(clerk.failure_of(write + "2"), "");
    EXPECT_TRUE(clerk.failure_of(write + "1").starts_with("leasehold: Order/1 is held by alice "));
    EXPECT_EQ(clerk.failure_of("lock tables orders write"), "");
    EXPECT_EQ(clerk.failure_of(write + "2"), "");
    EXPECT_EQ(clerk.failure_of("unlock tables"), "");
    EXPECT_TRUE(clerk.failure_of("select * from locks").contains("denied"));
    const std::string guard =
        "select leasehold_guard('Order', '1', '" + lease.lock_id.to_string() + "')";
    EXPECT_TRUE(clerk.failure_of(guard).contains("denied"));

    run("grant execute on function locks.leasehold_guard to clerk");
    EXPECT_EQ(clerk.failure_of("start transaction"), "");
    EXPECT_EQ(clerk.failure_of(guard), "");
    EXPECT_EQ(clerk.failure_of(write + "1"), "");
    EXPECT_EQ(clerk.failure_of("commit"), "");
    EXPECT_TRUE(clerk.failure_of("select leasehold_transaction()").contains("denied"));
    EXPECT_TRUE(clerk.failure_of("select * from lock_presented").contains("denied"));

    EXPECT_TRUE(open_protection(url_of("store"))->problems().empty());
    EXPECT_TRUE(open_protection(url_of("store"))->unprotect("orders"));
    EXPECT_EQ(clerk.failure_of(write + "1"), "");
}

TEST_P(Rights, ThatAreMissingToProtectATableAreNamed) {
    run("create table locks.locks (type varchar(50), id varchar(50), lockid varchar(50), "
        "expiration_time datetime, primary key (type, id))");
    run("grant lock tables on locks.* to store");
    (void)open_store(url_of("store") + "?adopt=locks");
    run("revoke lock tables on locks.* from store");
    EXPECT_TRUE(fault_of_protecting().contains("denied to user 'store'")) << fault_of_protecting();
    grant_protecting();
    const std::string fault = fault_of_protecting();
    EXPECT_TRUE(fault.contains("set log_bin_trust_function_creators = 1, or do it as a user"))
        << fault;
}

}  // namespace
}  // namespace leasehold::faults
