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

TEST(HttpAnswers, AProxyThatAnswersInItsOwnWordsIsUnderstoodByItsStatus) {
    const std::string page = "<html><h1>Sorry</h1></html>";
    EXPECT_STREQ(fault_of(504, page).what(), "the Leasehold server at here:7470 says 504");
    EXPECT_EQ(fault_of(504, page).cause(), Cause::unavailable);
    EXPECT_EQ(fault_of(504, page).effect(), Effect::unknown);
    EXPECT_EQ(fault_of(403, page).cause(), Cause::not_allowed);
    EXPECT_EQ(fault_of(301, page).cause(), Cause::configuration);
    EXPECT_EQ(fault_of(200, page).cause(), Cause::internal);
}

}  // namespace
}  // namespace leasehold::http
