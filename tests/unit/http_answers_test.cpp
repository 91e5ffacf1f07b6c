#include "stores/http/answers.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace leasehold::http {
namespace {

using Effect = StoreFault::Effect;
using Cause = StoreFault::Cause;

StoreFault fault_of(unsigned status, const std::string& body) {
    try {
        (void)understood("here:7470", {.status = status, .body = body}, Effect::unknown);
    } catch (const StoreFault& fault) {
        return fault;
    }
    throw std::logic_error{"no fault"};
}

TEST(HttpAnswers, WhatTheServerRefusesWasNotDoneAndWillBeRefusedAgain) {
    const StoreFault fault =
        fault_of(400, R"({"code":"bad_request","detail":"at most 600000 ms are allowed"})");
    EXPECT_EQ(fault.effect(), Effect::none);
    EXPECT_EQ(fault.cause(), Cause::configuration);
    EXPECT_STREQ(fault.what(),
                 "the Leasehold server at here:7470 says 400: at most 600000 ms are allowed");
    EXPECT_EQ(fault_of(404, "{}").cause(), Cause::configuration);
    EXPECT_EQ(fault_of(401, "{}").cause(), Cause::not_allowed);
    EXPECT_EQ(fault_of(403, "{}").cause(), Cause::not_allowed);
}

TEST(HttpAnswers, WhatMayPassIsUnavailable) {
    for (const unsigned status : {408U, 429U, 500U, 502U, 503U, 504U}) {
        EXPECT_EQ(fault_of(status, "{}").cause(), Cause::unavailable) << status;
        EXPECT_EQ(fault_of(status, "{}").effect(), status < 500 ? Effect::none : Effect::unknown);
    }
    EXPECT_EQ(fault_of(503, R"({"code":"overloaded"})").effect(), Effect::none);
    EXPECT_EQ(fault_of(503, R"({"code":"fault","effect":"none"})").effect(), Effect::none);
}

TEST(HttpAnswers, AnInterimAnswerSaysNothingAboutTheEffect) {
    for (const unsigned status : {100U, 102U, 103U}) {
        EXPECT_EQ(fault_of(status, "").effect(), Effect::unknown) << status;
    }
}

TEST(HttpAnswers, AProxyThatAnswersInItsOwnWordsIsUnderstoodByItsStatus) {
    const std::string page = "<html><h1>Sorry</h1></html>";
    EXPECT_STREQ(fault_of(504, page).what(), "the Leasehold server at here:7470 says 504");
    EXPECT_EQ(fault_of(504, page).cause(), Cause::unavailable);
    EXPECT_EQ(fault_of(504, page).effect(), Effect::unknown);
    EXPECT_EQ(fault_of(403, page).cause(), Cause::not_allowed);
    EXPECT_EQ(fault_of(301, page).cause(), Cause::configuration);
    EXPECT_EQ(fault_of(200, page).cause(), Cause::internal);
}

bool fits(const Request& request, const Outcome& outcome) {
    try {
        require_fit(request, outcome);
        return true;
    } catch (const BadRequest&) {
        return false;
    }
}

TEST(HttpAnswers, ALeaseOfAnotherKeyIsNoAnswer) {
    const LockKey one{"Order", "1"};
    const LockKey two{"Order", "2"};
    const LockId id = LockId::random();
    const auto lease = [](const LockKey& key, LockId lock_id) {
        return Lease{.key = key, .lock_id = lock_id};
    };
    EXPECT_TRUE(fits(TryLock{.key = one, .lock_id = id}, lease(one, id)));
    // The owner's own lease, which another request took.
    EXPECT_TRUE(fits(TryLock{.key = one, .lock_id = id}, lease(one, LockId::random())));
    EXPECT_FALSE(fits(TryLock{.key = one, .lock_id = id}, lease(two, id)));
    EXPECT_TRUE(fits(Renew{.key = one, .lock_id = id}, lease(one, id)));
    EXPECT_FALSE(fits(Renew{.key = one, .lock_id = id}, lease(two, id)));
    EXPECT_FALSE(fits(Renew{.key = one, .lock_id = id}, lease(one, LockId::random())));
    EXPECT_TRUE(fits(Check{.key = {}, .lock_id = id}, lease(two, id)));
    EXPECT_FALSE(fits(Check{.key = {}, .lock_id = id}, lease(two, LockId::random())));

    const TryLockAll both{.keys = {one, two}, .lock_ids = {id, LockId::random()}};
    EXPECT_TRUE(fits(both, std::vector{lease(two, id), lease(one, id)}));
    EXPECT_FALSE(fits(both, std::vector{lease(one, id)}));
    EXPECT_FALSE(fits(both, std::vector{lease(one, id), lease(one, id)}));

    EXPECT_TRUE(fits(Holders{one}, HolderPage{.items = {Holder{.key = one}}}));
    EXPECT_FALSE(fits(Holders{one}, HolderPage{.items = {Holder{.key = two}}}));
    EXPECT_FALSE(
        fits(TryLock{.key = one, .lock_id = id}, Refusal{.holders = {Holder{.key = two}}}));
    EXPECT_TRUE(fits(TryLock{.key = one, .lock_id = id}, Refusal{.kind = Refusal::Kind::gone}));
}

TEST(HttpAnswers, NoUrlNamesAKeyOfDots) {
    EXPECT_EQ(path_of({"Order", "..."}), "/v1/locks/Order/...");
    for (const LockKey& key : {LockKey{"Order", ".."}, LockKey{".", "1"}}) {
        EXPECT_THROW((void)path_of(key), BadRequest);
    }
}

}  // namespace
}  // namespace leasehold::http
