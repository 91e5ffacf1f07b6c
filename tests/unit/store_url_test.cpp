#include "store_url.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

StoreUrl parse(std::string_view text) {
    return StoreUrl::parse(text, {});
}

// The message with which a URL is refused.
std::string problem(const std::function<void()>& use) {
    try {
        use();
    } catch (const BadRequest& bad) {
        return bad.what();
    }
    return "";
}

std::string problem_of(std::string_view text) {
    return problem([&] { (void)parse(text); });
}

TEST(StoreUrl, WithoutParametersLeavesTheOptionsAsTheyWere) {
    const StoreOptions given{.require = StoreOptions::Require::strict_durability,
                             .history = StoreOptions::KeepHistory::off,
                             .retention = 1min,
                             .max_clock_leap = 2s,
                             .io_timeout = 3s};
    const StoreUrl url = StoreUrl::parse("memory:", given);
    EXPECT_EQ(url.scheme, "memory");
    EXPECT_EQ(url.options.require, given.require);
    EXPECT_EQ(url.options.history, given.history);
    EXPECT_EQ(url.options.retention, given.retention);
    EXPECT_EQ(url.options.max_clock_leap, given.max_clock_leap);
    EXPECT_EQ(url.options.io_timeout, given.io_timeout);
}

TEST(StoreUrl, EachParameterSetsItsOption) {
    EXPECT_EQ(parse("memory:?durability=strict").options.require,
              StoreOptions::Require::strict_durability);
    EXPECT_EQ(parse("memory:?history=off").options.history, StoreOptions::KeepHistory::off);
    EXPECT_EQ(parse("memory:?retention_s=90").options.retention, 90s);
    EXPECT_EQ(parse("memory:?max_clock_leap_ms=1500").options.max_clock_leap, 1500ms);
    EXPECT_EQ(parse("memory:?io_timeout_ms=250").options.io_timeout, 250ms);
}

TEST(StoreUrl, ParametersOverrideTheOptionsGiven) {
    const StoreOptions given{.require = StoreOptions::Require::strict_durability,
                             .history = StoreOptions::KeepHistory::off};
    const StoreUrl url = StoreUrl::parse("memory:?durability=any&history=on", given);
    EXPECT_EQ(url.options.require, StoreOptions::Require::any_durability);
    EXPECT_EQ(url.options.history, StoreOptions::KeepHistory::on);
}

TEST(StoreUrl, SeveralParametersAreReadTogether) {
    const StoreUrl url = parse("sqlite:a.db?history=off&retention_s=5&io_timeout_ms=7");
    EXPECT_EQ(url.path(), "a.db");
    EXPECT_EQ(url.options.history, StoreOptions::KeepHistory::off);
    EXPECT_EQ(url.options.retention, 5s);
    EXPECT_EQ(url.options.io_timeout, 7ms);
}

TEST(StoreUrl, NeedsAKind) {
    for (const char* bad :
         {"", "memory", ":", ":memory", "a/b.db", "postgres//app:x@db/shop", "db?password=a://b"}) {
        EXPECT_TRUE(problem_of(bad).starts_with("a store's URL begins with its kind: memory:"))
            << bad;
    }
}

TEST(StoreUrl, RefusesValuesThatAreNone) {
    EXPECT_EQ(problem_of("memory:?durability=weak"),
              "the store's URL says durability=weak; it takes strict or any");
    EXPECT_EQ(problem_of("memory:?history=yes"),
              "the store's URL says history=yes; it takes on or off");
    for (const char* bad : {"", "x", "-1", "0", "1.5", "1s", " 1", "1 ", "99999999999999999999"}) {
        EXPECT_EQ(problem_of(std::string{"memory:?retention_s="} + bad),
                  std::string{"the store's URL says retention_s="} + bad +
                      "; it takes a whole number from 1 to 3153600000");
        EXPECT_NE(problem_of(std::string{"memory:?max_clock_leap_ms="} + bad), "");
        EXPECT_NE(problem_of(std::string{"memory:?io_timeout_ms="} + bad), "");
    }
    EXPECT_EQ(problem_of("memory:?history"), "the store's URL has a parameter without '='");
}

TEST(StoreUrl, RefusesNumbersThatWouldOverflow) {
    EXPECT_NE(problem_of("memory:?retention_s=9223372036854775807"), "");
    EXPECT_NE(problem_of("memory:?io_timeout_ms=9223372036854775807"), "");
    EXPECT_EQ(problem_of("memory:?retention_s=3153600000"), "");  // a hundred years
}

TEST(StoreUrl, RefusesParametersNobodyKnows) {
    const std::string known =
        "the store's URL has an unknown parameter 'colour'; known are durability, history, "
        "retention_s, max_clock_leap_ms, io_timeout_ms";
    EXPECT_EQ(problem_of("memory:?colour=red"), known);
    EXPECT_EQ(problem_of("sqlite:a.db?colour=red"), known);
    EXPECT_EQ(problem_of("mariadb://host/db?colour=red"),
              known + ", socket, tls, ca_file, adopt, time_zone");
    EXPECT_EQ(problem_of("etcd://host?colour=red"), known + ", tls, ca_file, cert_file, key_file");
    EXPECT_EQ(problem_of("http://host?colour=red"),
              known + ", token_file, ca_file, cert_file, key_file");
}

TEST(StoreUrl, LeavesADriversOwnParametersToTheDriver) {
    const StoreUrl url =
        parse("postgres://app:pw@db:5433/shop?sslmode=require&history=off&application_name=a%20b");
    EXPECT_EQ(url.options.history, StoreOptions::KeepHistory::off);
    EXPECT_EQ(url.without_our_options(),
              "postgres://app:pw@db:5433/shop?sslmode=require&application_name=a%20b");
    EXPECT_EQ(parse("postgres:///shop").without_our_options(), "postgres:///shop");
}

TEST(StoreUrl, AMariadbUrlHasItsParts) {
    const StoreUrl url = parse("mariadb://app:p%40ss%3Aw@db.example:3307/shop?socket=/run/a%20b");
    EXPECT_EQ(url.user(), "app");
    EXPECT_EQ(url.password(), "p@ss:w");
    EXPECT_EQ(url.host(), "db.example");
    EXPECT_EQ(url.port(1), 3307);
    EXPECT_EQ(url.database(), "shop");
    EXPECT_EQ(url.parameter("socket"), "/run/a b");
    EXPECT_EQ(url.parameter("none"), "");
}

TEST(StoreUrl, TheDatabasesOfThePatternTakeItsTableAndItsZone) {
    for (const std::string scheme : {"postgres", "mysql", "mariadb"}) {
        const StoreUrl url = parse(scheme + "://app@db/shop?adopt=locks&time_zone=-03:30");
        EXPECT_EQ(url.options.adopt, StoreOptions::Adopt::pattern_table);
        EXPECT_EQ(url.options.time_zone, -std::chrono::minutes{210});
        EXPECT_EQ(url.without_our_options(), scheme + "://app@db/shop");
        EXPECT_EQ(parse(scheme + "://db/shop").options.time_zone, std::nullopt);
        for (const std::string wrong :
             {"9", "+9:00", "+09-00", "+15:00", "+09:60", "09:00", "UTC", "+-9:00", "+09:0x"}) {
            EXPECT_NE(problem_of(scheme + "://db/shop?time_zone=" + wrong), "") << wrong;
        }
        EXPECT_NE(problem_of(scheme + "://db/shop?adopt=tables"), "");
    }
    EXPECT_NE(problem_of("sqlite:a.db?adopt=locks"), "");
}

TEST(StoreUrl, BothNamesOfMariadbTakeTheSameParameters) {
    EXPECT_EQ(parse("mysql://app@db/shop?socket=/run/s").parameter("socket"), "/run/s");
}

TEST(StoreUrl, AMariadbUrlMayDemandTls) {
    EXPECT_FALSE(parse("mariadb://db/shop").verifies_tls());
    EXPECT_FALSE(parse("mariadb://db/shop?tls=off").verifies_tls());
    EXPECT_TRUE(parse("mariadb://db/shop?tls=verify-full&ca_file=/a").verifies_tls());
    EXPECT_EQ(problem([] { (void)parse("mariadb://db/shop?tls=on").verifies_tls(); }),
              "the store's URL says tls=on; it takes verify-full or off");
    EXPECT_NE(problem([] {
                  (void)parse("mariadb:///shop?tls=verify-full&socket=/run/s").verifies_tls();
              }),
              "");
}

TEST(StoreUrl, PartsThatAreNotGivenHaveTheirDefaults) {
    const StoreUrl url = parse("mariadb:///shop");
    EXPECT_EQ(url.user(), "");
    EXPECT_EQ(url.password(), "");
    EXPECT_EQ(url.host(), "127.0.0.1");
    EXPECT_EQ(url.port(3306), 3306);
    EXPECT_EQ(parse("mariadb://db").database(), "");
}

TEST(StoreUrl, AHostMayBeAnIpv6Address) {
    const StoreUrl url = parse("mariadb://app@[::1]:3307/shop");
    EXPECT_EQ(url.host(), "::1");
    EXPECT_EQ(url.port(3306), 3307);
    EXPECT_EQ(parse("mariadb://app@[::1]/shop").port(3306), 3306);
}

TEST(StoreUrl, AnEtcdUrlMayNameSeveralPlaces) {
    using Places = std::vector<std::pair<std::string, std::uint16_t>>;
    const StoreUrl url =
        parse("etcd://app:p%40ss@one:1,two,[::1]:3/locks/app?tls=on&ca_file=/a%20b");
    EXPECT_EQ(url.places(2379), (Places{{"one", 1}, {"two", 2379}, {"::1", 3}}));
    EXPECT_EQ(url.user(), "app");
    EXPECT_EQ(url.password(), "p@ss");
    EXPECT_EQ(url.database(), "locks/app");
    EXPECT_TRUE(url.flag("tls"));
    EXPECT_EQ(url.parameter("ca_file"), "/a b");
    EXPECT_EQ(parse("etcd://").places(2379), (Places{{"127.0.0.1", 2379}}));
    EXPECT_FALSE(parse("etcd://one").flag("tls"));
    EXPECT_EQ(problem([] { (void)parse("etcd://one?tls=yes").flag("tls"); }),
              "the store's URL says tls=yes; it takes on or off");
    EXPECT_EQ(problem([] { (void)parse("etcd://one,two:x").places(1); }),
              "the store's URL has a port that is not a number from 1 to 65535");
}

TEST(StoreUrl, RefusesAPortThatIsNoNumber) {
    for (const char* bad : {"0", "65536", "x", "33o6", "-1"}) {
        const StoreUrl url = parse(std::string{"mariadb://db:"} + bad + "/shop");
        EXPECT_EQ(problem([&] { (void)url.port(3306); }),
                  "the store's URL has a port that is not a number from 1 to 65535");
    }
}

TEST(StoreUrl, APathMayBeEncoded) {
    EXPECT_EQ(parse("sqlite:a/b.db").path(), "a/b.db");
    EXPECT_EQ(parse("sqlite:/a/b.db").path(), "/a/b.db");
    EXPECT_EQ(parse("sqlite:///a/b.db").path(), "/a/b.db");
    EXPECT_EQ(parse("sqlite:what%3F%25.db").path(), "what?%.db");
    EXPECT_EQ(problem([] { (void)parse("sqlite:").path(); }),
              "the store's URL names no file: sqlite:path/to/file.db");
    for (const char* bad : {"sqlite:%", "sqlite:%4", "sqlite:%zz", "sqlite:a%4"}) {
        EXPECT_EQ(problem([&] { (void)parse(bad).path(); }),
                  "the store's URL has a '%' without two hexadecimal digits");
    }
}

TEST(StoreUrl, NoMessageRepeatsAPassword) {
    for (const char* bad :
         {"mariadb://app:hunter2@db/shop?colour=red", "mariadb:app:hunter2@db/shop",
          "mariadb://app:hunter2@db:x/shop", "mariadb://app:hunter2%@db/shop",
          "mariadb://app:x?hunter2=x@db/shop", "mariadb://app:x?history=hunter2@db/shop",
          "mariadb://app:12/hunter2@db/shop", "mariadb://app:x@hunter2@db/shop",
          "mariadb://app:x@db/shop?hunter2=x", "mariadb://db/shop?password=x&hunter2=y",
          "mariadb://app:x@db/shop?io_timeout_ms=hunter2"}) {
        const std::string text = problem([&] {
            const StoreUrl url = parse(bad);
            (void)url.password();
            (void)url.port(3306);
        });
        EXPECT_NE(text, "") << bad;
        EXPECT_EQ(text.find("hunter2"), std::string::npos) << text;
    }
}

TEST(StoreUrl, RefusesAnAtThatADriverCouldTakeForTheEndOfThePassword) {
    const std::string said = problem_of("postgres://app:p@ss@db/shop");
    EXPECT_TRUE(said.contains("write '@' as %40")) << said;
    EXPECT_NE(problem_of("postgres://app:p/ss@db/shop"), "");
    EXPECT_NE(problem_of("postgres://app:p?ss@db/shop"), "");
    EXPECT_NE(problem_of("postgres://db/shop?user=me@here"), "");
    EXPECT_EQ(problem_of("postgres://app:p%40s%2Fs%3F@db/shop?user=me%40here"), "");
    EXPECT_EQ(problem_of("sqlite:/home/me@work/a.db"), "");
}

TEST(StoreUrl, NeedsAHostBeforeADriverReadsIt) {
    // libpq would take the whole text for the name of a database, and the server would log it.
    EXPECT_NE(problem([] { (void)parse("postgres:/app:hunter2@db/x").without_our_options(); }), "");
    EXPECT_NE(problem([] { (void)parse("sqlite://app:hunter2@db/x").path(); }), "");
}

TEST(StoreUrl, RefusesControlCharacters) {
    EXPECT_NE(problem_of("http://host/a\r\nX: y"), "");
    EXPECT_NE(problem_of("mariadb://host/a\x7f"), "");
    for (const char* bad : {"http://host/a%0D%0AX:%20y", "http://host/%00", "http://host/%7F"}) {
        EXPECT_NE(problem([&] { (void)parse(bad).database(); }), "") << bad;
    }
    EXPECT_NE(problem([] { (void)parse("http://ho%0Dst/").host(); }), "");
    EXPECT_NE(problem([] { (void)parse("etcd://one,ho%0Dst/").places(1); }), "");
    EXPECT_EQ(parse("mariadb://app:%0D%0A@db").password(), "\r\n");
}

TEST(StoreUrl, IsShownWithoutItsSecrets) {
    EXPECT_EQ(without_secrets("postgres://app:hunter2@db:1/shop?sslmode=require"),
              "postgres://app:***@db:1/shop?sslmode=require");
    EXPECT_EQ(without_secrets("postgres://app@db:1/shop"), "postgres://app@db:1/shop");
    EXPECT_EQ(without_secrets("postgres://db/shop?sslmode=require&password=hun&ter=2"),
              "postgres://db/shop?sslmode=require&password=***");
    EXPECT_EQ(without_secrets("postgres://app:hun/te@r?2@db"), "postgres://app:***@db");
    EXPECT_EQ(without_secrets("app:hunter2@db"), "app:***@db");
    EXPECT_EQ(without_secrets("sqlite:/home/me@work/a:b@c.db"), "sqlite:/home/me@work/a:b@c.db");
    EXPECT_EQ(without_secrets("http://127.0.0.1:7470"), "http://127.0.0.1:7470");
    EXPECT_EQ(without_secrets("memory:"), "memory:");
}

}  // namespace
}  // namespace leasehold::testing
