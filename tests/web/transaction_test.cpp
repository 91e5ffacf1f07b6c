#include <leasehold/web/transaction.hpp>

#include <gtest/gtest.h>

#include <leasehold/web/locking_repository.hpp>

#include <string>
#include <utility>
#include <vector>

namespace leasehold::testing {
namespace {

// What the connections were asked for, with the number of the connection.
using Calls = std::vector<std::string>;

class Connection {
public:
    Connection(int number, Calls& calls, const std::string& broken)
        : number_{number}, calls_{calls}, broken_{broken} {
        call("open");
    }
    void begin(web::Purpose purpose) {
        call(purpose == web::Purpose::writing ? "begin to write" : "begin to read");
    }
    void commit() { call("commit"); }
    void roll_back() { call("roll back"); }
    Result<Lease> guard(const LockKey& key, LockId lock_id) {
        call("guard");
        return Lease{.key = key, .lock_id = lock_id};
    }
    Result<Lease> release(const LockKey& key, LockId lock_id) {
        call("release");
        return Lease{.key = key, .lock_id = lock_id};
    }
    void query() { call("query"); }

private:
    void call(const std::string& what) {
        calls_.push_back(what + ' ' + std::to_string(number_));
        if (calls_.back() == broken_) throw std::runtime_error{what};
    }

    const int number_;
    Calls& calls_;
    const std::string& broken_;
};
static_assert(web::GuardingTransaction<web::Transaction<Connection>>);

class TransactionTest : public ::testing::Test {
protected:
    Calls calls;
    std::string broken;  // the call that fails
    int opened = 0;
    web::ConnectionPool<Connection> pool{
        [this] { return std::make_unique<Connection>(++opened, calls, broken); }};
    const LockKey order{"Order", "1"};
};

TEST_F(TransactionTest, BeginsWithItsFirstStatementAndUsesAnIdleConnection) {
    {
        web::Transaction<Connection> transaction{pool};
        transaction.commit();
        EXPECT_FALSE(transaction.has_begun());
        transaction.reading().query();
        EXPECT_TRUE(transaction.has_begun());
        transaction.commit();
        EXPECT_FALSE(transaction.has_begun());
        EXPECT_TRUE(transaction.guard(order, LockId::random()));
        transaction.writing().query();
        EXPECT_TRUE(transaction.release(order, LockId::random()));
        transaction.commit();
    }
    EXPECT_EQ(calls, (Calls{"open 1", "begin to read 1", "query 1", "commit 1", "begin to write 1",
                            "guard 1", "query 1", "release 1", "commit 1"}));
}

TEST_F(TransactionTest, IsRolledBackUnlessCommitted) {
    {
        web::Transaction<Connection>{pool}.reading().query();
    }
    web::Transaction<Connection>{pool}.writing().query();
    EXPECT_EQ(calls, (Calls{"open 1", "begin to read 1", "query 1", "roll back 1",
                            "begin to write 1", "query 1", "roll back 1"}));
}

TEST_F(TransactionTest, TwoAtOnceHaveAConnectionEach) {
    web::Transaction<Connection> first{pool};
    first.reading().query();
    web::Transaction<Connection>{pool}.reading().query();
    EXPECT_EQ(opened, 2);
}

TEST_F(TransactionTest, OneThatReadsDoesNotWriteLater) {
    web::Transaction<Connection> transaction{pool};
    transaction.writing().query();
    transaction.reading().query();
    transaction.roll_back();
    transaction.reading().query();
    EXPECT_THROW((void)transaction.writing(), std::logic_error);
    EXPECT_THROW((void)transaction.guard(order, LockId::random()), std::logic_error);
}

TEST_F(TransactionTest, AnIdleConnectionThatTheDatabaseClosedIsReplaced) {
    web::Transaction<Connection> transaction{pool};
    transaction.reading().query();
    transaction.commit();
    broken = "begin to read 1";
    transaction.reading().query();
    EXPECT_EQ(calls.back(), "query 2");
    broken = "begin to read 3";
    web::Transaction<Connection> another{pool};
    EXPECT_THROW((void)another.reading(), std::runtime_error);
    EXPECT_FALSE(another.has_begun());
}

TEST_F(TransactionTest, AConnectionThatFailedIsNotUsedAgain) {
    web::Transaction<Connection> transaction{pool};
    for (const std::string end : {"commit 1", "roll back 2"}) {
        broken = end;
        transaction.writing().query();
        if (end == "commit 1") {
            EXPECT_THROW(transaction.commit(), std::runtime_error);
        } else {
            transaction.roll_back();
        }
        EXPECT_FALSE(transaction.has_begun());
    }
    transaction.reading().query();
    EXPECT_EQ(calls.back(), "query 3");
}

}  // namespace
}  // namespace leasehold::testing
