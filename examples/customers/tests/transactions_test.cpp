#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

#include "commands/command.hpp"
#include "domain/lock_rules.hpp"
#include "stage.hpp"

namespace customers::testing {
namespace {

class TransactionTest : public Stage {
protected:
    // Runs a command in the decorator, as the front controller does.
    web::Response run(const kit::SignedIn& session, std::function<web::Response(Visit&)> act) {
        class Acting final : public Command {
        public:
            explicit Acting(std::function<web::Response(Visit&)> work) : work_{std::move(work)} {}
            web::Response process(Visit& visit) override { return work_(visit); }

        private:
            std::function<web::Response(Visit&)> work_;
        };
        const web::Request request;
        BusinessTransaction work{desk(), application().pool(), session.visitor, "tab"};
        Visit visit{.request = request,
                    .session = session,
                    .sessions = application().sessions(),
                    .desk = desk(),
                    .work = work};
        return TransactionalCommand{std::make_unique<Acting>(std::move(act))}.process(visit);
    }

    // Opens the first customer in a step of its own, and changes it.
    Locking<Customer>::Opened opened(const kit::SignedIn& session) {
        Locking<Customer>::Opened result;
        run(session, [&](Visit& visit) {
            result = visit.work.customers().open(first_, leasehold::Access::write).value();
            return web::Response{};
        });
        result.record->name = "Changed";
        return result;
    }

    std::string name_in_database() { return sql("select name from customers where id = '1'"); }

    const leasehold::LockKey first_ = key_of<Customer>("1");
};
ON_EVERY_DATABASE(TransactionTest);

TEST_P(TransactionTest, AnExceptionUndoesTheSaveAndLeavesTheLock) {
    const auto session = application().sessions().sign_in("Kim");
    const auto form = opened(*session);
    EXPECT_THROW(
        run(*session,
            [&](Visit& visit) -> web::Response {
                EXPECT_TRUE(visit.work.customers().save("1", *form.record, form.lease->lock_id));
                throw std::runtime_error{"after the save"};
            }),
        std::runtime_error);
    EXPECT_EQ(name_in_database(), "Ahn & Daughters");
    EXPECT_TRUE(desk().locks.check(first_, form.lease->lock_id));
}

TEST_P(TransactionTest, AnAnswerThatRefusesUndoesItToo) {
    const auto session = application().sessions().sign_in("Kim");
    const auto form = opened(*session);
    run(*session, [&](Visit& visit) {
        EXPECT_TRUE(visit.work.customers().save("1", *form.record, form.lease->lock_id));
        return web::Response{.status = 500};
    });
    EXPECT_EQ(name_in_database(), "Ahn & Daughters");
    EXPECT_TRUE(desk().locks.check(first_, form.lease->lock_id));
}

TEST_P(TransactionTest, LocksThatAFailedCommandTookAreGivenBack) {
    const auto session = application().sessions().sign_in("Kim");
    EXPECT_THROW(run(*session,
                     [&](Visit& visit) -> web::Response {
                         EXPECT_TRUE(visit.work.customers().open(first_, leasehold::Access::write));
                         throw std::runtime_error{"after the lock"};
                     }),
                 std::runtime_error);
    EXPECT_TRUE(is_free(first_));
}

TEST_P(TransactionTest, AFailedCommandLeavesTheLockThatTheTabAlreadyHad) {
    const auto session = application().sessions().sign_in("Kim");
    const auto form = opened(*session);
    EXPECT_THROW(run(*session,
                     [&](Visit& visit) -> web::Response {
                         const auto again =
                             visit.work.customers().open(first_, leasehold::Access::write).value();
                         EXPECT_EQ(again.lease->lock_id, form.lease->lock_id);
                         throw std::runtime_error{"while the page is loaded again"};
                     }),
                 std::runtime_error);
    EXPECT_TRUE(desk().locks.check(first_, form.lease->lock_id));
}

TEST_P(TransactionTest, LockingAfterLoadingIsAMistakeThatShows) {
    const auto session = application().sessions().sign_in("Kim");
    EXPECT_THROW(
        run(*session,
            [&](Visit& visit) {
                EXPECT_FALSE(visit.work.customer_lines().empty());
                static_cast<void>(visit.work.customers().open(first_, leasehold::Access::write));
                return web::Response{};
            }),
        std::logic_error);
}

TEST_P(TransactionTest, AnObjectIsLoadedOnce) {
    const auto session = application().sessions().sign_in("Kim");
    run(*session, [&](Visit& visit) {
        const auto once = visit.work.customers().open(first_, leasehold::Access::read);
        const auto twice = visit.work.customers().open(first_, leasehold::Access::read);
        EXPECT_EQ(once->record, twice->record);
        return web::Response{};
    });
}

// Between the save and the release there is no moment: a process that dies just before the commit
// leaves the old data and the lock.
TEST_P(TransactionTest, ADeathBeforeTheCommitLeavesDataAndLockAsTheyWere) {
    const auto session = application().sessions().sign_in("Kim");
    const auto form = opened(*session);
    const pid_t child = fork();
    if (child == 0) {
        const auto connection = database::connect(url());
        connection->begin(database::Purpose::writing);
        if (!connection->guard(first_, form.lease->lock_id)) _exit(1);
        connection->run("update customers set name = 'Half' where id = ?", {"1"});
        if (!connection->release(first_, form.lease->lock_id)) _exit(2);
        raise(SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    // A server may notice a moment later; until then the row is busy.
    ASSERT_TRUE(
        eventually([&] { return desk().locks.check(first_, form.lease->lock_id).has_value(); }));
    EXPECT_EQ(name_in_database(), "Ahn & Daughters");
    const Person lee = person("Lee");
    EXPECT_EQ(Person{lee}.post("/customers/1/edit").status, 409);
}

TEST_P(TransactionTest, ADatabaseThatFailsIsAPageThatKeepsWhatWasTyped) {
    Person kim = person("Kim");
    const Page form = kim.post("/customers/1/edit");
    sql("alter table customers rename to customers_away");
    const Page failed = kim.send("/customers/1/save", form, "note", "precious");
    EXPECT_EQ(failed.status, 503);
    EXPECT_TRUE(failed.shows("precious"));
    sql("alter table customers_away rename to customers");
    EXPECT_EQ(kim.post("/customers/1/save", failed.form()).status, 303);
    EXPECT_EQ(sql("select note from customers where id = '1'"), "precious");
}

}  // namespace
}  // namespace customers::testing
