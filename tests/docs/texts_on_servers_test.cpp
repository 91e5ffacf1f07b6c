// Faults of docs/ko/from-the-texts.md that only the texts' own databases show.
#include <gtest/gtest.h>

#include <string>

#include <leasehold/leasehold.hpp>

#include "command/host.hpp"
#include "support/private_server.hpp"
#include "support/process.hpp"

namespace leasehold::docs {
namespace {

using namespace std::chrono_literals;
using command::contains;

TEST(TheTextsOnServers, ADuplicateKeyEndsTheTransactionOfTheCaller) {
    const testing::PrivatePostgres server;
    const auto said = testing::run(
        {.arguments = {"psql", "-X", server.url(), "-c", "create table locks (id text primary key)",
                       "-c", "insert into locks values ('1')", "-c", "begin", "-c",
                       "insert into locks values ('1')", "-c", "select 'work of the caller'"}},
        60s);
    EXPECT_TRUE(contains(said.output, "duplicate key value")) << said.output;
    EXPECT_TRUE(contains(said.output, "current transaction is aborted")) << said.output;
}

class TheTextsOnMariadb : public ::testing::Test {
protected:
    std::string query(const std::string& sql) const {
        return testing::run(
                   {.arguments = {"mariadb", "-h127.0.0.1", "-P" + std::to_string(server_.port()),
                                  "-uapp", "-psecret", "-N", "locks", "-e", sql}},
                   60s)
            .output;
    }
    const testing::PrivateMariadb server_;
};

TEST_F(TheTextsOnMariadb, ACollationMakesOneKeyOfTwo) {
    const std::string said = query(
        "create table pattern (type varchar(255), id varchar(255), primary key (type, id));"
        "insert into pattern values ('Order', '1'); insert into pattern values ('ORDER', '1')");
    EXPECT_TRUE(contains(said, "Duplicate entry")) << said;

    LockManager locks{open_store(server_.url())};
    EXPECT_TRUE(locks.try_lock({"Order", "1"}, {.owner = "alice"}));
    EXPECT_TRUE(locks.try_lock({"ORDER", "1"}, {.owner = "bob"}));
}

TEST_F(TheTextsOnMariadb, TheNameOfTheTableIsReserved) {
    EXPECT_TRUE(contains(query("create table lock (lockableid bigint primary key, ownerid bigint)"),
                         "error in your SQL syntax"));
}

}  // namespace
}  // namespace leasehold::docs
