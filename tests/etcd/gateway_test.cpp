#include "stores/etcd/gateway.hpp"

#include <gtest/gtest.h>

#include <boost/json/object.hpp>

#include <string>

#include "etcd/canned_server.hpp"
#include "support/process.hpp"

namespace leasehold::etcd {
namespace {

using namespace std::chrono_literals;
using Effect = StoreFault::Effect;
using Cause = StoreFault::Cause;
using leasehold::testing::CannedServer;

struct Said {
    Effect effect;
    Cause cause;
    std::string text;
};

Said fault_of(std::vector<Endpoint> endpoints, Effect effect, const std::string& user = {}) {
    const Cluster target{.endpoints = std::move(endpoints), .user = user, .password = "secret"};
    Members members{target.endpoints.size()};
    Gateway gateway{target, 20s, members};
    try {
        (void)gateway.post("/v3/kv/txn", "{}", effect);
    } catch (const StoreFault& fault) {
        return {fault.effect(), fault.cause(), fault.what()};
    }
    throw std::logic_error{"no fault"};
}

Said fault_of(int status, const std::string& body, Effect effect) {
    const CannedServer server{status, body};
    return fault_of({{.port = server.port()}}, effect);
}

std::string error_body(int code, const std::string& text) {
    return R"({"error":")" + text + R"(","message":")" + text + R"(","code":)" +
           std::to_string(code) + "}";
}

TEST(Gateway, WhatEtcdCannotSayIsUnknown) {
    for (const char* text :
         {"etcdserver: request timed out", "etcdserver: leader changed",
          "etcdserver: request timed out, possibly due to previous leader failure"}) {
        const Said said = fault_of(503, error_body(14, text), Effect::unknown);
        EXPECT_EQ(said.effect, Effect::unknown);
        EXPECT_EQ(said.cause, Cause::unavailable);
        EXPECT_TRUE(said.text.contains(text)) << said.text;
    }
    EXPECT_EQ(fault_of(500, error_body(2, "context canceled"), Effect::unknown).effect,
              Effect::unknown);
}

// The one that goes over the quota is carried out, and answered with this error.
TEST(Gateway, WhatFillsTheQuotaMayHaveBeenDone) {
    const Said full =
        fault_of(429, error_body(8, "etcdserver: mvcc: database space exceeded"), Effect::unknown);
    EXPECT_EQ(full.effect, Effect::unknown);
    EXPECT_EQ(full.cause, Cause::unavailable);
}

TEST(Gateway, WhatEtcdRefusesWasNotDone) {
    const Said large =
        fault_of(400, error_body(3, "etcdserver: request is too large"), Effect::unknown);
    EXPECT_EQ(large.effect, Effect::none);
    EXPECT_EQ(large.cause, Cause::internal);
    const Said busy =
        fault_of(429, error_body(8, "etcdserver: too many requests"), Effect::unknown);
    EXPECT_EQ(busy.effect, Effect::none);
    EXPECT_EQ(busy.cause, Cause::unavailable);
    const Said stranger =
        fault_of(400, error_body(3, "etcdserver: user name is empty"), Effect::unknown);
    EXPECT_EQ(stranger.cause, Cause::configuration);
    EXPECT_EQ(fault_of(403, error_body(7, "etcdserver: permission denied"), Effect::unknown).cause,
              Cause::configuration);
}

TEST(Gateway, SaysWhereThereIsNoGateway) {
    const Said said = fault_of(404, "Not Found\n", Effect::unknown);
    EXPECT_EQ(said.effect, Effect::none);
    EXPECT_EQ(said.cause, Cause::configuration);
    EXPECT_TRUE(said.text.contains("JSON gateway")) << said.text;
    EXPECT_EQ(fault_of(200, "<html>", Effect::unknown).effect, Effect::unknown);
    EXPECT_EQ(fault_of(200, "<html>", Effect::unknown).cause, Cause::internal);
}

TEST(Gateway, AsksOtherMembersForWhatHasNoEffectOnly) {
    const CannedServer one{503, error_body(14, "etcdserver: no leader")};
    const CannedServer two{503, error_body(14, "etcdserver: no leader")};
    const std::vector<Endpoint> both{{.port = one.port()}, {.port = two.port()}};
    EXPECT_EQ(fault_of(both, Effect::unknown).effect, Effect::unknown);
    EXPECT_EQ(one.requests() + two.requests(), 1);
    EXPECT_EQ(fault_of(both, Effect::none).effect, Effect::none);
    EXPECT_EQ(one.requests() + two.requests(), 3);
}

TEST(Gateway, PassesOverAMemberThatIsNotThere) {
    const CannedServer there{200, R"({"answer":"yes"})"};
    const Cluster target{
        .endpoints = {{.port = leasehold::testing::free_port()}, {.port = there.port()}}};
    Members members{2};
    Gateway gateway{target, 20s, members};
    const auto answer = gateway.post("/v3/kv/txn", "{}", Effect::unknown);
    EXPECT_EQ(answer.get_object().at("answer").as_string(), "yes");
    EXPECT_EQ(members.preferred(), 1U);
}

TEST(Gateway, ATokenThatIsRefusedTwiceIsAFault) {
    const CannedServer server{401, error_body(16, "etcdserver: invalid auth token")};
    EXPECT_EQ(fault_of({{.port = server.port()}}, Effect::unknown).cause, Cause::configuration);
}

}  // namespace
}  // namespace leasehold::etcd
