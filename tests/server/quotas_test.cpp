#include "server/access/quotas.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <string>
#include <vector>

#include "server/event_client.hpp"
#include "server/exposition.hpp"
#include "server/monitoring/metrics.hpp"
#include "server/store_fixture.hpp"
#include "server/token_fixture.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using server::Quota;
using server::QuotaLimits;
using server::Quotas;
using server::Role;

const server::Token shop = token("shop", {Role::use}, "shop");
const server::Token other = token("other", {Role::use}, "other");

Request try_for(const std::string& id, const std::string& owner = "shop",
                const std::string& note = {}) {
    return TryLock{.key = {"Order", id}, .owner = owner, .note = note};
}

Lease granted(const std::string& id, Duration ttl, const std::string& owner = "shop") {
    const Time now{1000s};
    return {.key = {"Order", id},
            .owner = owner,
            .fence = 1,
            .granted_at = now,
            .expires_at = now + ttl,
            .store_now = now};
}

// One owner may use everything, so that these tests are about the token. Of few grants a day,
// none comes back while a test runs.
server::ServerOptions limited(Quota quota, std::uint64_t limit) {
    return {.quotas = QuotaLimits{}.with(Quota::grants_per_day, 100).with(quota, limit),
            .owner_share = 100};
}

std::uint64_t used(Quotas& quotas, Quota quota, const server::Token& token = shop) {
    return quotas.use_of(token)[quota].used;
}

void take(Quotas& quotas, const std::string& id, Duration ttl = 1h) {
    auto reservation = quotas.reserve(shop, try_for(id));
    ASSERT_TRUE(reservation.has_value());
    reservation->settle(granted(id, ttl));
}

TEST(Quotas, CountATryBeforeItIsAnswered) {
    const auto options = limited(Quota::leases, 2);
    Quotas quotas{options};
    take(quotas, "1");
    auto under_way = quotas.reserve(shop, try_for("2"));
    ASSERT_TRUE(under_way.has_value());
    const auto third = quotas.reserve(shop, try_for("3"));
    ASSERT_FALSE(third.has_value());
    EXPECT_EQ(third.error().status, 429U);
    EXPECT_EQ(third.error().code, "quota_exceeded");
    EXPECT_EQ(third.error().facts.at("quota"), "leases");
    EXPECT_EQ(third.error().facts.at("limit"), 2U);
    EXPECT_TRUE(quotas.reserve(other, try_for("3", "other")).has_value());
    // A refused or failed request gives its share of the quota back.
    under_way->settle(Refusal{.kind = Refusal::Kind::held});
    EXPECT_EQ(used(quotas, Quota::leases), 1U);
    EXPECT_EQ(used(quotas, Quota::grants_per_day), 1U);
    {
        const auto forgotten = quotas.reserve(shop, try_for("2"));
    }
    EXPECT_EQ(used(quotas, Quota::leases), 1U);
    EXPECT_EQ(quotas.levels()[Quota::leases].refusals, 1U);
    EXPECT_DOUBLE_EQ(quotas.levels()[Quota::leases].fullest, 0.5);
}

TEST(Quotas, CountALeaseUntilItEnds) {
    const auto options = limited(Quota::leases, 3);
    Quotas quotas{options};
    for (const char* id : {"1", "2", "3"}) take(quotas, id);
    EXPECT_FALSE(quotas.reserve(shop, try_for("4")).has_value());
    const Outcome released = granted("1", 1h);
    quotas.answered({RequestKind::release, {}, released});
    quotas.answered({RequestKind::release, {}, released});
    EXPECT_EQ(used(quotas, Quota::leases), 2U);
    const Outcome broken = granted("2", 1h);
    quotas.answered({RequestKind::break_lock, {}, broken});
    const Outcome all = std::vector{granted("3", 1h)};
    quotas.answered({RequestKind::release_all, "shop", all});
    EXPECT_EQ(used(quotas, Quota::leases), 0U);
    EXPECT_EQ(used(quotas, Quota::grants_per_day), 3U);
}

// A lease that becomes exclusive keeps its lock id and gets another fence.
TEST(Quotas, CountALeaseOnceWhateverItsFence) {
    const auto options = limited(Quota::leases, 2);
    Quotas quotas{options};
    Lease lease = granted("1", 1h);
    lease.lock_id = LockId::random();
    const Lease oldest = lease;
    for (; lease.fence <= 10; ++lease.fence) {
        auto advance = quotas.reserve(shop, try_for("1"));
        ASSERT_TRUE(advance.has_value()) << lease.fence;
        advance->settle(lease);
        EXPECT_EQ(used(quotas, Quota::leases), 1U);
    }
    // Answers may arrive in any order.
    quotas.prolonged(shop, oldest);
    EXPECT_EQ(used(quotas, Quota::leases), 1U);
    --lease.fence;
    const Outcome released = lease;
    quotas.answered({RequestKind::release, {}, released});
    EXPECT_EQ(used(quotas, Quota::leases), 0U);
    // The lock id says nothing about another lease of the same key.
    Lease other_lease = granted("1", 1h);
    other_lease.fence = 20;
    other_lease.lock_id = LockId::random();
    quotas.prolonged(shop, other_lease);
    EXPECT_EQ(used(quotas, Quota::leases), 1U);
}

TEST(Quotas, ForgetALeaseWithItsExpiryWhateverItsFence) {
    const auto options = limited(Quota::leases, 2);
    Quotas quotas{options};
    Lease lease = granted("1", 1min);
    lease.lock_id = LockId::random();
    const auto now = std::chrono::steady_clock::now();
    quotas.prolonged(shop, lease, now);
    lease.fence = 2;
    lease.expires_at += 4min;
    quotas.prolonged(shop, lease, now);
    EXPECT_EQ(quotas.use_of(shop, now + 2min)[Quota::leases].used, 1U);
    EXPECT_EQ(quotas.use_of(shop, now + 6min)[Quota::leases].used, 0U);
}

// Of a grant and its release, the answer to the release may arrive first.
TEST(Quotas, DoNotCountALeaseThatHasEndedBeforeItsGrantIsAnswered) {
    const auto options = limited(Quota::leases, 3);
    Quotas quotas{options};
    auto under_way = quotas.reserve(shop, try_for("1"));
    const Outcome released = granted("1", 1h);
    quotas.answered({RequestKind::release, {}, released});
    under_way->settle(granted("1", 1h));
    quotas.prolonged(shop, granted("1", 1h));
    EXPECT_EQ(used(quotas, Quota::leases), 0U);
    EXPECT_EQ(used(quotas, Quota::grants_per_day), 1U);
    take(quotas, "2");
    EXPECT_EQ(used(quotas, Quota::leases), 1U);
}

TEST(Quotas, CountALeaseUntilItExpires) {
    const auto options = limited(Quota::leases, 2);
    Quotas quotas{options};
    take(quotas, "1", 1min);
    take(quotas, "2", 1min);
    const auto now = Quotas::Moment::clock::now();
    quotas.prolonged(shop, granted("2", 1h), now);
    EXPECT_FALSE(quotas.reserve(shop, try_for("3"), now + 59s).has_value());
    EXPECT_TRUE(quotas.reserve(shop, try_for("3"), now + 61s).has_value());
    EXPECT_EQ(quotas.use_of(shop, now + 61s)[Quota::leases].used, 1U);
    EXPECT_EQ(quotas.use_of(shop, now + 2h)[Quota::leases].used, 0U);
}

TEST(Quotas, CountALeaseThatWasRenewedBeforeItsGrantIsAnswered) {
    const auto options = limited(Quota::leases, 2);
    Quotas quotas{options};
    auto reservation = quotas.reserve(shop, try_for("1"));
    ASSERT_TRUE(reservation.has_value());
    const auto now = Quotas::Moment::clock::now();
    quotas.prolonged(shop, granted("1", 1h), now);
    reservation->settle(granted("1", 1s));
    EXPECT_EQ(quotas.use_of(shop, now + 1min)[Quota::leases].used, 1U);
}

TEST(Quotas, CountALeaseFromBeforeTheStartWhenItIsRenewed) {
    const auto options = limited(Quota::leases, 1);
    Quotas quotas{options};
    quotas.prolonged(shop, granted("1", 1h));
    quotas.prolonged(shop, granted("1", 1h));
    EXPECT_EQ(used(quotas, Quota::leases), 1U);
    EXPECT_FALSE(quotas.reserve(shop, try_for("2")).has_value());
}

TEST(Quotas, DoNotCountALeaseThatItsOwnerHadAlready) {
    const auto options = limited(Quota::leases, 10);
    Quotas quotas{options};
    take(quotas, "1");
    auto again = quotas.reserve(shop, try_for("1"));
    Lease same = granted("1", 1h);
    same.store_now += 5s;
    again->settle(same);
    EXPECT_EQ(used(quotas, Quota::leases), 1U);
    EXPECT_EQ(used(quotas, Quota::grants_per_day), 1U);
}

TEST(Quotas, CountGrantsAndTheirBytesThroughTheDay) {
    server::ServerOptions options{.owner_share = 100};
    options.quotas[Quota::grants_per_day] = 24;
    options.quotas[Quota::bytes_per_day] = 24 * 1000;
    Quotas quotas{options};
    const auto now = Quotas::Moment::clock::now();
    const auto grant = [&](Quotas::Moment at, const std::string& note) {
        auto reservation = quotas.reserve(shop, try_for("1", "shop", note), at);
        if (!reservation) return std::string{reservation.error().facts.at("quota").as_string()};
        reservation->settle(granted("1", 1min));
        const Outcome released = granted("1", 1min);
        quotas.answered({RequestKind::release, {}, released});
        return std::string{};
    };
    for (int i = 0; i < 24; ++i) EXPECT_EQ(grant(now, ""), "");
    EXPECT_EQ(grant(now, ""), "grants_per_day");
    EXPECT_EQ(grant(now + 61min, ""), "");
    EXPECT_EQ(grant(now + 61min, ""), "grants_per_day");
    const auto tomorrow = now + 48h;
    int notes = 0;
    while (grant(tomorrow, std::string(1000, 'n')).empty()) ++notes;
    EXPECT_EQ(notes, 18);  // of 1,270 bytes each
    EXPECT_EQ(grant(tomorrow, std::string(1000, 'n')), "bytes_per_day");
    // After an unknown effect the lease may have been granted.
    auto unknown = quotas.reserve(shop, try_for("2"), tomorrow + 24h);
    unknown->settle(
        StoreFault{StoreFault::Effect::unknown, StoreFault::Cause::unavailable, "cut off"});
    const auto use = quotas.use_of(shop, tomorrow + 24h);
    EXPECT_EQ(use[Quota::grants_per_day].used, 1U);
    EXPECT_EQ(use[Quota::leases].used, 0U);
}

TEST(Quotas, LetOneOwnerUseAShare) {
    server::ServerOptions options{.owner_share = 50};
    options.quotas[Quota::leases] = 4;
    Quotas quotas{options};
    const auto one = quotas.reserve(shop, try_for("1", "shop/alice/tab-1"));
    const auto two = quotas.reserve(shop, try_for("2", "shop/alice/tab-2"));
    const auto three = quotas.reserve(shop, try_for("3", "shop/alice/tab-3"));
    ASSERT_TRUE(one.has_value() && two.has_value());
    ASSERT_FALSE(three.has_value());
    EXPECT_TRUE(three.error()
                    .detail.in(Language::english)
                    .starts_with("the owner 'shop/alice' has used up its quota"))
        << three.error().detail.in(Language::english);
    EXPECT_TRUE(quotas.reserve(shop, try_for("3", "shop/bob")).has_value());
    // A token for all owners counts the first name.
    const server::Token all = token("all", {Role::use}, "*");
    const auto first = quotas.reserve(all, try_for("1", "carol/1"));
    const auto second = quotas.reserve(all, try_for("2", "carol/2"));
    EXPECT_FALSE(quotas.reserve(all, try_for("3", "carol")).has_value());
    EXPECT_TRUE(quotas.reserve(all, try_for("3", "dave")).has_value());
}

TEST(Quotas, CountAHundredThousandOwnersAndLimitOthersByTheirTokenOnly) {
    constexpr std::size_t counted = 100'000;
    server::ServerOptions options{.waiters = 10 * counted, .owner_share = 50};
    options.quotas[Quota::waiters] = 0;
    options.quotas[Quota::leases] = 8;
    Quotas quotas{options};
    std::vector<Quotas::Place> places;
    for (std::size_t i = 0; i < counted; ++i) {
        auto place = quotas.enter(shop, Quota::waiters, "shop/" + std::to_string(i));
        ASSERT_TRUE(place.has_value());
        places.push_back(*std::move(place));
    }
    const auto most_leases = [&](const std::string& owner) {
        std::vector<Quotas::Reservation> taken;
        for (;;) {
            auto advance = quotas.reserve(shop, try_for(std::to_string(taken.size()), owner));
            if (!advance) return taken.size();
            taken.push_back(*std::move(advance));
        }
    };
    EXPECT_EQ(most_leases("shop/0"), 4U);
    EXPECT_EQ(most_leases("shop/one-more"), 8U);
}

// Every bearer of a JWT is a token of its own, and there may be millions of them.
TEST(Quotas, ForgetTokensThatUseNothing) {
    const server::ServerOptions options;
    Quotas quotas{options};
    const auto staying = quotas.enter(shop, Quota::waiters, "shop/alice");
    auto reservation = quotas.reserve(other, try_for("1", "other"));
    constexpr int bearers = 50'000;
    for (int i = 0; i < bearers; ++i) {
        server::Token bearer = shop;
        bearer.id = "jwt:" + std::to_string(i);
        (void)quotas.enter(bearer, Quota::waiters, "shop/alice");
    }
    EXPECT_LE(quotas.tokens(), 20'000U);
    reservation->settle(granted("1", 1h, "other"));
    EXPECT_EQ(used(quotas, Quota::waiters), 1U);
    EXPECT_EQ(used(quotas, Quota::leases, other), 1U);
}

TEST(Quotas, OfATokenReplaceTheServersQuotas) {
    const auto options = limited(Quota::leases, 1);
    Quotas quotas{options};
    server::Token large = token("large", {Role::use});
    large.quotas[Quota::leases] = 2;
    const auto one = quotas.reserve(large, try_for("1"));
    EXPECT_TRUE(quotas.reserve(large, try_for("2")).has_value());
    const auto two = quotas.reserve(large, try_for("2"));
    EXPECT_FALSE(quotas.reserve(large, try_for("3")).has_value());
    large.quotas[Quota::leases] = 0;
    EXPECT_TRUE(quotas.reserve(large, try_for("3")).has_value());
}

class TokenQuotas : public OnAnyStore {
protected:
    static server::ServerOptions with(Quota quota, std::uint64_t limit) {
        server::ServerOptions options = limited(quota, limit);
        options.tokens =
            tokens({token("shop", {Role::use, Role::see}), token("other", {Role::use, Role::see})});
        return options;
    }
    static Answer take(Client& client, const std::string& id, const std::string& who = "shop") {
        return client.ask("POST", "/v1/locks/A/" + id, "{}", shows(who));
    }
};
LEASEHOLD_ON_ANY_STORE(TokenQuotas);

TEST_P(TokenQuotas, RefuseALeaseTooManyAndSayWhatToDo) {
    RunningServer server{store(), with(Quota::leases, 2)};
    Client client = server.connect();
    const std::string first = lock_token_of(take(client, "1"));
    EXPECT_EQ(take(client, "2").status, 201U);
    const Answer refused = take(client, "3");
    EXPECT_EQ(refused.status, 429U);
    EXPECT_EQ(refused.code(), "quota_exceeded");
    EXPECT_EQ(refused.json().at("quota"), "leases");
    EXPECT_EQ(refused.json().at("limit"), 2);
    EXPECT_TRUE(refused.fields.contains("retry-after"));
    EXPECT_EQ(refused.json().at("detail"),
              "the token 'shop' has used up its quota 'leases', 2 live leases at once; release "
              "some, or wait until some expire. The server's administrator sets the quota.");
    EXPECT_EQ(take(client, "3", "other").status, 201U);
    // Renewals and releases are always possible, and a release makes room.
    EXPECT_EQ(
        client.ask("PATCH", "/v1/locks/A/1", R"({"ttl_ms":60000})", first + shows("shop")).status,
        200U);
    EXPECT_EQ(client.ask("DELETE", "/v1/locks/A/1", {}, first + shows("shop")).status, 200U);
    EXPECT_EQ(take(client, "4").status, 201U);
}

TEST_P(TokenQuotas, RefuseTheTriesOfABatchThatAreTooMany) {
    RunningServer server{store(), with(Quota::leases, 2)};
    Client client = server.connect();
    const auto batch = [&](int first, int last) {
        std::string requests;
        for (int i = first; i <= last; ++i) {
            requests += (i > first ? "," : "") +
                        (R"({"op":"try","type":"A","id":")" + std::to_string(i)) + "\"}";
        }
        return client.ask("POST", "/v1/batch", "{\"requests\":[" + requests + "]}", shows("shop"));
    };
    const auto answers = batch(1, 4).json().at("answers").as_array();
    EXPECT_TRUE(answers.at(0).as_object().contains("lease"));
    EXPECT_TRUE(answers.at(1).as_object().contains("lease"));
    for (const std::size_t i : {2U, 3U}) {
        EXPECT_EQ(answers.at(i).at("fault").at("effect"), "none");
    }
    EXPECT_EQ(batch(5, 6).code(), "quota_exceeded");
    EXPECT_EQ(server.locks().list().size(), 2U);
}

TEST_P(TokenQuotas, DoNotCountALeaseThatItsOwnBatchEnds) {
    RunningServer server{store(), with(Quota::leases, 2)};
    Client client = server.connect();
    const std::string id = LockId::random().to_string();
    const std::string key = R"("type":"A","id":"1","lock_id":")" + id + "\"}";
    const std::string batch = R"({"requests":[{"op":"try",)" + key +
                              R"(,{"op":"renew","ttl_ms":60000,)" + key + R"(,{"op":"release",)" +
                              key + "]}";
    for (int i = 0; i < 4; ++i) {
        const Answer answer = client.ask("POST", "/v1/batch", batch, shows("shop"));
        ASSERT_EQ(answer.status, 200U) << answer.body;
        if (i == 0) {
            EXPECT_TRUE(answer.json().at("answers").at(2).as_object().contains("lease"))
                << answer.body;
        }
    }
    const auto mine = client.ask("GET", "/v1/token", {}, shows("shop")).json();
    EXPECT_EQ(mine.at("quotas").at(0).at("used"), 0);
    EXPECT_EQ(take(client, "2").status, 201U);
    EXPECT_EQ(take(client, "3").status, 201U);
}

TEST_P(TokenQuotas, GiveBackWhatWasHeldByAnother) {
    RunningServer server{store(), with(Quota::leases, 1)};
    Client client = server.connect();
    EXPECT_EQ(take(client, "1", "other").status, 201U);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(take(client, "1").status, 409U);
    EXPECT_EQ(take(client, "2").status, 201U);
}

TEST_P(TokenQuotas, BoundTheWaitsOfAToken) {
    RunningServer server{store(), with(Quota::waiters, 1)};
    Client client = server.connect();
    EXPECT_EQ(take(client, "1", "other").status, 201U);
    const auto wait = [](const std::string& who) {
        return message("POST", "/v1/locks/A/1", R"({"wait_ms":60000})", shows(who));
    };
    Client first = server.connect();
    first.send(wait("shop"));
    ASSERT_TRUE(server.waits_for(1));
    Client second = server.connect();
    second.send(wait("shop"));
    const Answer refused = second.receive();
    EXPECT_EQ(refused.status, 429U);
    EXPECT_EQ(refused.json().at("quota"), "waiters");
    second.send(wait("other"));
    ASSERT_TRUE(server.waits_for(2));
    first.close();
    ASSERT_TRUE(server.waits_for(1));
    EXPECT_TRUE(eventually([&] {
        Client third = server.connect();
        third.send(wait("shop"));
        return server.waits_for(2);
    }));
}

TEST_P(TokenQuotas, BoundTheEventStreamsOfAToken) {
    RunningServer server{store(), with(Quota::event_streams, 1)};
    const auto listen = [](const std::string& who) {
        return message("GET", "/v1/events", {}, shows(who));
    };
    Client first = server.connect();
    first.send(listen("shop"));
    ASSERT_TRUE(server.listened_to_by(1));
    const Answer refused = server.connect().ask("GET", "/v1/events", {}, shows("shop"));
    EXPECT_EQ(refused.status, 429U);
    EXPECT_EQ(refused.json().at("quota"), "event_streams");
    Client third = server.connect();
    third.send(listen("other"));
    ASSERT_TRUE(server.listened_to_by(2));
    first.close();
    ASSERT_TRUE(server.listened_to_by(1));
    Client again = server.connect();
    again.send(listen("shop"));
    EXPECT_TRUE(server.listened_to_by(2));
}

TEST_P(TokenQuotas, ADelayedReleaseBeyondTheQuotaHappensAtOnce) {
    RunningServer server{store(), with(Quota::delayed_releases, 1)};
    Client client = server.connect();
    const auto leave = [&](const std::string& id, const std::string& who) {
        const std::string lock_token = lock_token_of(take(client, id, who));
        return client.ask("DELETE", "/v1/locks/A/" + id + "?after_ms=60000", {},
                          lock_token + shows(who));
    };
    EXPECT_EQ(leave("1", "shop").status, 202U);
    const Answer at_once = leave("2", "shop");
    EXPECT_EQ(at_once.status, 200U);
    EXPECT_TRUE(at_once.json().as_object().contains("lease"));
    EXPECT_EQ(leave("3", "other").status, 202U);
    EXPECT_EQ(server.locks().list().size(), 2U);
    EXPECT_TRUE(server.locks().holders({"A", "2"}).empty());
}

TEST_P(TokenQuotas, CountALeaseOnceHoweverOftenItIsConverted) {
    RunningServer server{store(), with(Quota::leases, 2)};
    Client client = server.connect();
    for (const char* mode : {"shared", "exclusive", "shared", "exclusive"}) {
        const Answer taken =
            client.ask("POST", "/v1/locks/A/1",
                       R"({"owner":"alice","mode":")" + std::string{mode} + "\"}", shows("shop"));
        ASSERT_EQ(taken.status, 201U) << taken.body;
        const auto mine = client.ask("GET", "/v1/token", {}, shows("shop")).json();
        EXPECT_EQ(mine.at("quotas").at(0).at("used"), 1) << mode;
    }
    EXPECT_EQ(take(client, "2").status, 201U);
}

TEST_P(TokenQuotas, OneOwnerParksAShareOfTheDelayedReleases) {
    server::ServerOptions options = with(Quota::delayed_releases, 4);
    options.owner_share = 50;
    RunningServer server{store(), options};
    Client client = server.connect();
    const auto leave = [&](const std::string& id, const std::string& owner) {
        const Answer taken =
            client.ask("POST", "/v1/locks/A/" + id, R"({"owner":")" + owner + "\"}", shows("shop"));
        return client
            .ask("DELETE", "/v1/locks/A/" + id + "?after_ms=60000", {},
                 lock_token_of(taken) + shows("shop"))
            .status;
    };
    EXPECT_EQ(leave("1", "alice/tab-1"), 202U);
    EXPECT_EQ(leave("2", "alice/tab-2"), 202U);
    EXPECT_EQ(leave("3", "alice/tab-3"), 200U);  // at once
    EXPECT_EQ(leave("4", "bob"), 202U);
    // A holder that comes back gives its place back.
    const Answer back =
        client.ask("POST", "/v1/locks/A/1", R"({"owner":"alice/tab-1"})", shows("shop"));
    ASSERT_EQ(back.status, 201U) << back.body;
    EXPECT_EQ(leave("5", "alice/tab-5"), 202U);
    EXPECT_EQ(server.locks().list().size(), 4U);
}

TEST_P(TokenQuotas, LeaveAPlaceForOtherTokens) {
    server::ServerOptions options = with(Quota::delayed_releases, 0);
    options.delayed_releases = 4;
    RunningServer server{store(), options};
    Client client = server.connect();
    const auto leave = [&](const std::string& id, const std::string& who) {
        const std::string lock_token = lock_token_of(take(client, id, who));
        return client
            .ask("DELETE", "/v1/locks/A/" + id + "?after_ms=60000", {}, lock_token + shows(who))
            .status;
    };
    EXPECT_EQ(leave("1", "shop"), 202U);
    EXPECT_EQ(leave("2", "shop"), 202U);
    EXPECT_EQ(leave("3", "shop"), 200U);  // two places are free, and it has two
    EXPECT_EQ(leave("4", "other"), 202U);
}

TEST_P(TokenQuotas, AreShownToTheirTokenAndInMetrics) {
    server::Metrics metrics{"test"};
    server::ServerOptions options = with(Quota::leases, 4);
    options.observer = &metrics;
    options.metrics = &metrics;
    RunningServer server{store(), options};
    Client client = server.connect();
    EXPECT_EQ(take(client, "1").status, 201U);
    for (const char* id : {"2", "3", "4"}) EXPECT_EQ(take(client, id, "other").status, 201U);
    const auto mine = client.ask("GET", "/v1/token", {}, shows("shop")).json();
    const auto& leases = mine.at("quotas").at(0);
    EXPECT_EQ(leases.at("quota"), "leases");
    EXPECT_EQ(leases.at("used"), 1);
    EXPECT_EQ(leases.at("limit"), 4);
    EXPECT_EQ(mine.at("quotas").as_array().size(), server::quota_traits.size());

    const std::string text = client.ask("GET", "/metrics", {}, shows("shop")).body;
    for (const char* line :
         {"leasehold_quota_used{quota=\"leases\"} 4", "leasehold_quota_limit{quota=\"leases\"} 4",
          "leasehold_quota_fullest_ratio{quota=\"leases\"} 0.75",
          "leasehold_quota_refusals_total{quota=\"leases\"} 0"}) {
        EXPECT_NE(text.find(line), std::string::npos) << line;
    }
    EXPECT_EQ(text.find("shop"), std::string::npos);
}

}  // namespace
}  // namespace leasehold::testing
