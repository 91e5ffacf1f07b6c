#include <gtest/gtest.h>

#include <leasehold/errors.hpp>

#include "core/fresh_lock_id.hpp"
#include "core/sizes.hpp"
#include "wire/messages.hpp"

namespace leasehold::wire {
namespace {

using namespace std::chrono_literals;

std::string problem_of(std::string_view text) {
    try {
        (void)request_from(parse(text));
    } catch (const BadRequest& bad) {
        return bad.what();
    }
    return "none";
}

// As it is read by the one who gets it.
Request sent(const Request& request) {
    return request_from(parse(print(to_json(request))));
}
Outcome sent(const Outcome& outcome) {
    return outcome_from(parse(print(to_json(outcome))));
}

std::string text_of(const Request& request) {
    return print(to_json(request));
}
std::string text_of(const Outcome& outcome) {
    return print(to_json(outcome));
}

TEST(Wire, CarriesEveryRequest) {
    const LockKey key{"Order", "1 / ü \"quoted\""};
    const LockId id = LockId::random();
    const Time moment{1'794'820'000'123'456us};
    const Holder place{.key = key, .fence = 7, .granted_at = moment, .expires_at = moment};
    const std::vector<Request> requests{
        TryLock{.key = key, .lock_id = id, .owner = "alice/tab", .ttl = 1500us, .note = "a\nnote"},
        TryLock{.key = key,
                .lock_id = id,
                .mode = Mode::shared,
                .ttl = until_released,
                .since = 42,
                .max_hold = 1h,
                .token_id = "shop/eu"},
        TryLockAll{.keys = {{"A", "1"}, {"B", "2"}},
                   .lock_ids = {LockId::random(), LockId::random()},
                   .owner = "bob",
                   .mode = Mode::shared,
                   .ttl = 1min,
                   .token_id = "shop"},
        Check{key, id},
        Check{{}, id},
        Extend{.key = key, .lock_id = id, .by = 90s, .max_hold = 1h},
        Renew{.lock_id = id, .ttl = 90s},
        Release{key, id},
        Release{key, id, Time{1'794'820'000'123'456us}},
        Release{.key = key, .lock_id = id, .by = "shop"},
        ReleaseAll{.owner = "alice", .scope = OwnerScope::below, .key = key},
        ReleaseAll{.owner = "alice", .by = "shop", .token_id = "shop"},
        ReleaseAll{
            .owner = "alice",
            .only_keys = KeySet{{*KeyPattern::parse("Order/*"), *KeyPattern::parse("lfs:*")}}},
        ReleaseAll{.owner = "alice", .only_keys = KeySet{std::vector<KeyPattern>{}}},
        Break{.key = key, .fence = 12, .by = "admin", .reason = "gone home"},
        Holders{key},
        List{.type = "Order",
             .owner = "alice",
             .scope = OwnerScope::below,
             .after = place,
             .limit = 5},
        History{.key = key, .before = 9, .limit = 5},
        History{},
        Purge{17},
    };
    for (const Request& request : requests) {
        const Request read = sent(request);
        EXPECT_EQ(read.index(), request.index());
        EXPECT_EQ(text_of(read), text_of(request));
    }
}

TEST(Wire, CarriesEveryAnswer) {
    const LockKey key{"Order", "1"};
    const Time moment{1'794'820'000'123'456us};
    const Lease lease{.key = key,
                      .lock_id = LockId::random(),
                      .owner = "alice",
                      .fence = 3,
                      .granted_at = moment,
                      .expires_at = moment + 90s + 1us,
                      .note = "n",
                      .store_now = moment};
    Lease endless = lease;
    endless.expires_at = never;
    const Holder holder{.key = key,
                        .owner = "bob",
                        .mode = Mode::shared,
                        .fence = 4,
                        .granted_at = moment,
                        .expires_at = never};
    Refusal held;
    held.kind = Refusal::Kind::held;
    held.holders = {holder, holder};
    held.store_now = moment;
    Refusal broken;
    broken.reason = Gone::broken;
    broken.by = "admin";
    broken.why = "gone home";
    broken.store_now = moment;
    const PastLease past{
        .lease = holder, .how = Gone::taken, .ended_at = moment, .by = "carol", .sequence = 5};
    const std::vector<Outcome> outcomes{
        lease,
        endless,
        std::vector{lease, endless},
        std::vector<Lease>{},
        HolderPage{.items = {holder}, .store_now = moment},
        HistoryPage{.items = {past}, .store_now = moment},
        HolderPage{.store_now = moment},
        Purged{.forgotten = 3, .complete = true},
        held,
        broken,
        StoreFault{StoreFault::Effect::unknown, StoreFault::Cause::clock_leap, "what happened"},
    };
    for (const Outcome& outcome : outcomes) {
        const Outcome read = sent(outcome);
        EXPECT_EQ(read.index(), outcome.index());
        EXPECT_EQ(text_of(read), text_of(outcome));
    }
}

TEST(Wire, PrintsNumbersAsPeopleWriteThem) {
    EXPECT_EQ(print(to_json(Duration{59'900'000})), "59900");
    EXPECT_EQ(print(to_json(Duration{59'900'500})), "59900.5");
    EXPECT_EQ(print(to_json(Duration{1})), "0.001");
    EXPECT_EQ(print(to_json(Duration{-1'500})), "-1.5");
    EXPECT_EQ(print(to_json(Duration{86'400'000'000'001})), "86400000000.001");
    EXPECT_EQ(print(to_json(until_released)), "null");
    const auto read_back = [](Duration duration) {
        const json::value message = parse(R"({"ms":)" + print(to_json(duration)) + "}");
        return Fields{message, "it"}.optional_duration("ms");
    };
    for (std::int64_t count = 1; count < 100'000'000'000'000; count = count * 7 + 3) {
        EXPECT_EQ(read_back(Duration{count}), Duration{count});
        EXPECT_EQ(read_back(Duration{-count}), Duration{-count});
    }
}

TEST(Wire, PrintsWhatItReads) {
    for (const std::string_view text :
         {R"({})", R"([])", R"({"a":[1,-2,true,false,null,{"b":""}],"c":18446744073709551615})",
          R"(["\"quoted\" \\ \n \u0001 \u001f ü 😀"])", R"([0.5,1234567890123.25])"}) {
        EXPECT_EQ(print(parse(text)), text);
    }
    EXPECT_EQ(print(parse(R"("\t\r\/\u00fc")")), "\"\\u0009\\u000d/ü\"");
    for (int c = 0; c < 128; ++c) {
        const std::string text(3, static_cast<char>(c));
        EXPECT_EQ(bytes_in_json(text) + 2, print(json::value(text)).size()) << c;
    }
    EXPECT_EQ(print(parse("[1e3,1.0]")), "[1000,1]");
}

TEST(Wire, DrawsALockIdWhereNoneIsGiven) {
    const auto request = request_from(parse(R"({"op":"try","type":"Order","id":"1"})"));
    const auto& wanted = std::get<TryLock>(request);
    EXPECT_NE(wanted.lock_id, LockId{});
    EXPECT_TRUE(FreshLockId::is_fresh(wanted.lock_id));
    EXPECT_EQ(wanted.ttl, Limits{}.default_ttl);
}

TEST(Wire, SortsTheKeysOfOneRequestTogetherWithTheirLockIds) {
    const LockId a = LockId::random(), b = LockId::random();
    const auto request = request_from(
        parse(R"({"op":"try_all","keys":[{"type":"B","id":"1","lock_id":")" + b.to_string() +
              R"("},{"type":"A","id":"1","lock_id":")" + a.to_string() + R"("}]})"));
    const auto& wanted = std::get<TryLockAll>(request);
    EXPECT_EQ(wanted.keys, (std::vector<LockKey>{{"A", "1"}, {"B", "1"}}));
    ASSERT_EQ(wanted.lock_ids.size(), 2U);
    EXPECT_EQ(wanted.lock_ids[0], a);
    EXPECT_EQ(wanted.lock_ids[1], b);
}

TEST(Wire, NamesTheFieldItsValueAndTheRightForm) {
    EXPECT_EQ(problem_of("[]"), "a request must be a JSON object");
    EXPECT_EQ(problem_of("{}"), "a request: \"op\" is missing");
    EXPECT_EQ(problem_of(R"({"op":"fly"})"),
              R"(a request: "op" must be one of "try", "try_all", "check", "extend", "renew", )"
              R"("release", "release_all", "break", "holders", "list", "history", "purge")");
    EXPECT_EQ(problem_of(R"({"op":"try","type":"Order"})"), "a request: \"id\" is missing");
    EXPECT_EQ(problem_of(R"({"op":"try","type":"Order","id":7})"),
              "a request: \"id\" must be a string, not 7");
    EXPECT_EQ(problem_of(R"({"op":"try","type":"Order","id":["1"]})"),
              "a request: \"id\" must be a string, not an array");
    EXPECT_EQ(problem_of(R"({"op":"try","type":"Order","id":""})"), "the key's id is empty");
    EXPECT_EQ(problem_of(R"({"op":"holders","type":"Order","id":"1","ttl":5})"),
              "a request: \"ttl\" is not known here; known are op, type, id");
    EXPECT_EQ(problem_of(R"({"op":"try","type":"Order","id":"1","ttl_ms":"5"})"),
              "a request: \"ttl_ms\" must be a number of milliseconds, not a string");
    EXPECT_EQ(problem_of(R"({"op":"try","type":"Order","id":"1","ttl_ms":1e300})"),
              "a request: \"ttl_ms\" is out of range: it must be below 10^15 milliseconds");
    EXPECT_EQ(problem_of(R"({"op":"try","type":"Order","id":"1","mode":"both"})"),
              "a request: \"mode\" must be one of \"exclusive\", \"shared\", not \"both\"");
    EXPECT_EQ(problem_of(R"({"op":"check","lock_id":"secret"})"),
              "a lock id is a UUID: 32 hexadecimal digits, 8-4-4-4-12");
    EXPECT_EQ(problem_of(R"({"op":"purge","limit":-1})"),
              "a request: \"limit\" must be at least 1, not -1");
    EXPECT_EQ(problem_of(R"({"op":"break","type":"A","id":"1","fence":1.5})"),
              "a request: \"fence\" must be an integer of 64 bits, not 1.5");
    EXPECT_EQ(problem_of(R"({"op":"break","type":"A","id":"1","fence":18446744073709551615})"),
              "a request: \"fence\" must be an integer of 64 bits, not 18446744073709551615");
    EXPECT_EQ(problem_of(R"({"op":"check","type":"A","lock_id":"x"})"),
              "a request: \"id\" is missing: \"type\" and \"id\" name a key only together");
    EXPECT_EQ(problem_of(R"({"op":"try_all","keys":[{"type":"A","id":"1"},{"type":"B","id":"2"},)"
                         R"({"type":"A","id":"1"}]})"),
              "a request: \"keys\" names A/1 twice");
    EXPECT_EQ(problem_of(R"({"op":"history","id":"1"})"),
              "a request: \"type\" is missing: \"type\" and \"id\" name a key only together");
}

TEST(Wire, RefusesNullWhereItHasNoMeaning) {
    const std::string a_try = R"({"op":"try","type":"Order","id":"1",)";
    for (const std::string_view field : {"owner", "note", "mode", "lock_id"}) {
        EXPECT_EQ(problem_of(a_try + '"' + std::string{field} + "\":null}"),
                  "a request: \"" + std::string{field} +
                      "\" must be a string, not null; leave the field out to get its default");
    }
    EXPECT_EQ(problem_of(a_try + R"("since":null})"),
              "a request: \"since\" must be an integer of 64 bits, not null; leave the field out "
              "to get its default");
    EXPECT_EQ(problem_of(a_try + R"("max_hold_ms":null})"),
              "a request: \"max_hold_ms\" must be a number of milliseconds, not null; leave the "
              "field out to get its default");
    EXPECT_NE(problem_of(R"({"op":"list","after":null})"), "none");
    EXPECT_NE(problem_of(R"({"op":"check","type":null,"id":null,"lock_id":"x"})"), "none");
}

TEST(Wire, ReadsNullAsWithoutAnEndWhereAnEndIsExpected) {
    const auto wanted = request_from(parse(R"({"op":"try","type":"A","id":"1","ttl_ms":null})"));
    EXPECT_EQ(std::get<TryLock>(wanted).ttl, until_released);
    const Release endless{LockKey{"A", "1"}, LockId::random(), never};
    EXPECT_EQ(std::get<Release>(sent(endless)).if_expires_at, never);
}

TEST(Wire, ReadsAWholeNumberAsAnIntegerHoweverItIsWritten) {
    for (const std::string_view five : {"5", "5.0", "5e0", "0.5e1"}) {
        const auto request = request_from(
            parse(R"({"op":"try","type":"A","id":"1","since":)" + std::string{five} + "}"));
        EXPECT_EQ(std::get<TryLock>(request).since, 5) << five;
    }
}

std::optional<Time> time_in(std::string_view text) {
    const json::value message{{"at", text}};
    try {
        return Fields{message, "it"}.optional_time("at");
    } catch (const BadRequest&) {
        return std::nullopt;
    }
}

TEST(Wire, ReadsEveryDateTimeOfWholeMicroseconds) {
    const Time moment{1'794'820'000'120'000us};
    EXPECT_EQ(to_string(moment), "2026-11-16T09:06:40.120000Z");
    for (const std::string_view text :
         {"2026-11-16T09:06:40.120000Z", "2026-11-16T09:06:40.12Z", "2026-11-16T09:06:40.120Z",
          "2026-11-16t09:06:40.120z", "2026-11-16T09:06:40.12000000000Z",
          "2026-11-16T18:06:40.12+09:00", "2026-11-15T23:36:40.120-09:30",
          "2026-11-16T09:06:40.12+00:00", "2026-11-16T09:06:40.12-00:00"}) {
        EXPECT_EQ(time_in(text), moment) << text;
    }
    EXPECT_EQ(time_in("2026-11-16T09:06:40Z"), moment - 120ms);
    EXPECT_EQ(time_in("2024-02-29T00:00:00Z"), Time{std::chrono::sys_days{2024y / 2 / 29}});
    for (const std::string_view text : {"",
                                        "2026-11-16",
                                        "2026-11-16T09:06:40",
                                        "2026-11-16 09:06:40Z",
                                        "2026-11-16T09:06:40.Z",
                                        "2026-11-16T09:06:40.1200001Z",
                                        "2026-11-16T09:06Z",
                                        "2026-13-16T09:06:40Z",
                                        "2026-02-29T09:06:40Z",
                                        "2026-11-16T24:00:00Z",
                                        "2026-11-16T09:60:00Z",
                                        "2026-11-16T23:59:60Z",
                                        "2026-11-16T09:06:40+0900",
                                        "2026-11-16T09:06:40+24:00",
                                        "2026-11-16T09:06:40+09:60",
                                        "2026-11-16T09:06:40Zx",
                                        "2026-11-16T09:06:40+09:00Z",
                                        "26-11-16T09:06:40Z",
                                        "+026-11-16T09:06:40Z",
                                        "2026-11-16T09:06:40,5Z"}) {
        EXPECT_EQ(time_in(text), std::nullopt) << text;
    }
}

TEST(Wire, AcceptsStrictJsonOnly) {
    EXPECT_EQ(problem_of(R"({"op":"try","op":"check"})"), "the field \"op\" is given twice");
    EXPECT_EQ(problem_of(R"({"a":{"b":1,"b":2}})"), "the field \"b\" is given twice");
    for (const std::string_view bad :
         {"", " ", "{", "{}}", "{} x", "{\"op\":}", "{'op':1}", "{\"op\":1,}", "{/**/}", "nul",
          "{\"op\":\"\xff\"}", "{\"op\":\"a\nb\"}", "[[[[[[[[[[1]]]]]]]]]]", "01", "\"\\ud800\"",
          "1e400"}) {
        EXPECT_TRUE(problem_of(bad).starts_with("not valid JSON"))
            << bad << ": " << problem_of(bad);
    }
}

TEST(Wire, PrintsTheSameWithoutAnObjectInBetween) {
    const Time moment{1'794'820'000'123'456us};
    const Lease lease{.key = {"Order", "\"1\""},
                      .lock_id = LockId::random(),
                      .owner = "alice\n",
                      .fence = 7,
                      .granted_at = moment,
                      .expires_at = moment + 1500us,
                      .note = "n",
                      .store_now = moment};
    Lease endless = lease;
    endless.lock_id = {};
    endless.expires_at = never;
    for (const Outcome& outcome :
         {Outcome{lease}, Outcome{endless}, Outcome{Purged{.forgotten = 3}}}) {
        std::string printed;
        print(printed, outcome);
        EXPECT_EQ(printed, print(to_json(outcome)));
    }
}

TEST(Wire, PrintsTheTimeThatIsLeftAsAnObjectWouldHaveIt) {
    const auto printed = [](Duration duration) {
        std::string out;
        ObjectPrinter printer{out};
        printer("ms", duration);
        printer.close();
        return out;
    };
    const auto as_object = [](Duration duration) {
        return print(json::object{{"ms", to_json(duration)}});
    };
    EXPECT_EQ(printed(Duration{-1}), R"({"ms":-0.001})");
    EXPECT_EQ(printed(Duration{10'010}), R"({"ms":10.01})");
    for (std::int64_t count = 1; count < 100'000'000'000'000; count = count * 3 + 7) {
        for (const std::int64_t one : {count, -count, count * 10, count * 100, count * 1000}) {
            EXPECT_EQ(printed(Duration{one}), as_object(Duration{one}));
        }
    }
    for (const Duration duration : {Duration::zero(), until_released}) {
        EXPECT_EQ(printed(duration), as_object(duration));
    }
}

TEST(Wire, ShowsNoSecretOfALeaseThatHasNone) {
    EXPECT_FALSE(to_json(Lease{.key = {"A", "1"}}).contains("lock_id"));
}

}  // namespace
}  // namespace leasehold::wire
