#pragma once

#include <memory>
#include <string>

#include "conformance/conformance.hpp"

// Locks that the database enforces: a row whose key is leased is written only by a transaction that
// has presented the live lease.
namespace leasehold::conformance {

// An application with a table of three orders, and a database shell.
class Protection : public SqlConformanceTest {
protected:
    using Unleased = ProtectedTable::Unleased;

    void SetUp() override {
        (void)locks();
        app().run("create table orders (id integer not null primary key, text varchar(40))");
        app().run("insert into orders values (1, 'old'), (2, 'old'), (3, 'old')");
    }

    // A connection that never waits, so that one thread can play several sessions.
    [[nodiscard]] std::unique_ptr<CallerTransaction> session() {
        auto connection = harness().connect();
        connection->wait_for_nobody();
        return connection;
    }
    // A database shell.
    [[nodiscard]] CallerTransaction& app() {
        if (!app_) app_ = session();
        return *app_;
    }

    void protect(const std::string& table = "orders", const std::string& key = "Order/{id}",
                 Unleased unleased = Unleased::writable) {
        (void)harness().protection()->protect({.name = table, .key = key, .unleased = unleased});
    }

    [[nodiscard]] Lease lease(const std::string& id, const std::string& owner = "alice") {
        return must(locks().try_lock({"Order", id}, {.owner = owner, .ttl = 1h}));
    }

    // The message of the failure, or nothing.
    [[nodiscard]] static std::string failure_of(CallerTransaction& session,
                                                const std::string& sql) {
        try {
            session.run(sql);
            return {};
        } catch (const std::runtime_error& error) {
            const std::string text = error.what();
            return text.starts_with(sql) ? text.substr(sql.size()) : text;
        }
    }

    [[nodiscard]] static ::testing::AssertionResult written(CallerTransaction& session,
                                                            const std::string& sql) {
        const std::string failure = failure_of(session, sql);
        if (failure.empty()) return ::testing::AssertionSuccess() << sql << ": was written";
        return ::testing::AssertionFailure() << sql << failure;
    }
    // Refused by the protection, with these words.
    [[nodiscard]] static ::testing::AssertionResult refused(CallerTransaction& session,
                                                            const std::string& sql,
                                                            const std::string& words) {
        const std::string failure = failure_of(session, sql);
        if (failure.empty()) return ::testing::AssertionFailure() << sql << ": was written";
        if (!failure.contains("leasehold: ") || !failure.contains(words)) {
            return ::testing::AssertionFailure() << sql << failure;
        }
        return ::testing::AssertionSuccess();
    }

    [[nodiscard]] std::string text_of(const std::string& id, const std::string& table = "orders") {
        const auto rows = harness().connect()->run("select text from " + harness().quoted(table) +
                                                   " where id = " + id);
        return rows.empty() ? "" : rows.front().front();
    }

    const LockKey key_{"Order", "1"};
    const std::string write_1_ = "update orders set text = 'new' where id = 1";
    const std::string held_by_alice_ = "Order/1 is held by alice until ";

private:
    std::unique_ptr<CallerTransaction> app_;
};

}  // namespace leasehold::conformance
