#include "server/access/audit.hpp"
#include "server/access/rules.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include <leasehold/errors.hpp>

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "server/exposition.hpp"
#include "server/monitoring/metrics.hpp"
#include "server/protocol/audited.hpp"
#include "server/store_fixture.hpp"
#include "server/token_fixture.hpp"
#include "support/process.hpp"
#include "unit/gated_store.hpp"

// Who ended the leases of others, and who was refused: the audit file.
namespace leasehold::testing {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using server::Role;

std::string content_of(const std::string& path) {
    std::ifstream file{path};
    return {std::istreambuf_iterator<char>{file}, {}};
}

class AuditTest : public ::testing::Test {
protected:
    explicit AuditTest(std::unique_ptr<Store> store = memory::open()) : store_{std::move(store)} {}
    ~AuditTest() override { finish(); }

    // The lines with this action, once everything has been written. The server has stopped then.
    [[nodiscard]] std::vector<json::object> lines(std::string_view action) {
        finish();
        std::vector<json::object> found;
        std::istringstream all{content_of(path_)};
        for (std::string line; std::getline(all, line);) {
            json::object object = json::parse(line).as_object();
            if (object.at("action").as_string() == action) found.push_back(std::move(object));
        }
        return found;
    }

    void finish() {
        server_.reset();
        audit_.reset();
    }

    [[nodiscard]] static std::string text(const json::object& line, std::string_view field) {
        const json::value* const value = line.if_contains(field);
        return value != nullptr && value->is_string() ? std::string{value->as_string()} : "";
    }

    std::unique_ptr<Store> store_;
    TemporaryFolder folder_;
    const std::string path_ = folder_.path() / "audit";
    server::Metrics metrics_{"1"};
    std::unique_ptr<server::Audit> audit_ = std::make_unique<server::Audit>(path_, metrics_);
    std::unique_ptr<RunningServer> server_ = std::make_unique<RunningServer>(
        std::move(store_),
        server::ServerOptions{
            .tokens = tokens({token("shop", {Role::use, Role::see}, "shop"),
                              token("admin", {Role::use, Role::see, Role::break_})}),
            .failed_tokens = 0,
            .observer = &metrics_,
            .audit = audit_.get(),
            .metrics = &metrics_});
    Client client_ = server_->connect();
};

// What the audit records of ended leases, on every store.
class AuditOfLeases : public StoreOfTest, public AuditTest {
protected:
    AuditOfLeases() : AuditTest{store()} {}
};
LEASEHOLD_ON_ANY_STORE(AuditOfLeases);

TEST_P(AuditOfLeases, NamesWhoBrokeWhichLeaseFromWhereAndWhy) {
    const Answer taken =
        client_.ask("POST", "/v1/locks/Order/1", R"({"owner":"shop/alice"})", shows("shop"));
    ASSERT_EQ(taken.status, 201U);
    const std::string fence = std::to_string(taken.json().at("fence").as_int64());
    const std::string body = R"({"fence":)" + fence + R"(,"reason":"left","by":"root"})";
    Answer broken = client_.ask("POST", "/v1/locks/Order/1/break", body, shows("admin"));
    ASSERT_EQ(broken.status, 200U);
    Answer again = client_.ask("POST", "/v1/locks/Order/1/break", body, shows("admin"));
    ASSERT_EQ(again.status, 410U);
    EXPECT_NE(again.fields["x-request-id"], broken.fields["x-request-id"]);

    const auto found = lines("break");
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(text(found[0], "outcome"), "done");
    EXPECT_EQ(text(found[0], "token"), "admin");
    EXPECT_EQ(text(found[0], "address"), "127.0.0.1");
    EXPECT_EQ(text(found[0], "request_id"), broken.fields["x-request-id"]);
    EXPECT_FALSE(text(found[0], "request_id").empty());
    EXPECT_EQ(text(found[0], "type"), "Order");
    EXPECT_EQ(text(found[0], "id"), "1");
    EXPECT_EQ(text(found[0], "owner"), "shop/alice");
    EXPECT_EQ(text(found[0], "reason"), "left");
    EXPECT_TRUE(text(found[0], "by").starts_with("admin")) << text(found[0], "by");
    EXPECT_EQ(std::to_string(found[0].at("fence").as_int64()), fence);
    EXPECT_TRUE(text(found[0], "time").ends_with("Z"));
    EXPECT_EQ(text(found[1], "outcome"), "refused");
    const std::string all = content_of(path_);
    const std::string lock_id{taken.json().at("lock_id").as_string()};
    for (const std::string& secret : {lock_id, std::string{"secret-of"}}) {
        EXPECT_EQ(all.find(secret), std::string::npos) << all;
    }
}

TEST_P(AuditOfLeases, NamesWhatAReleaseOfAllEnded) {
    for (const std::string id : {"1", "2", "3"}) {
        ASSERT_EQ(
            client_.ask("POST", "/v1/locks/Order/" + id, R"({"owner":"shop/alice"})", shows("shop"))
                .status,
            201U);
    }
    EXPECT_EQ(client_.ask("DELETE", "/v1/owners/shop/locks?scope=below", {}, shows("shop")).status,
              200U);
    EXPECT_EQ(client_
                  .ask("POST", "/v1/batch",
                       R"({"requests":[{"op":"release_all","owner":"shop"},
                                       {"op":"check","type":"Order","id":"1",
                                        "lock_id":"00000000-0000-8000-8000-000000000000"}]})",
                       shows("shop"))
                  .status,
              200U);
    const auto found = lines("release_all");
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(text(found[0], "token"), "shop");
    EXPECT_EQ(text(found[0], "owner"), "shop");
    EXPECT_EQ(text(found[0], "scope"), "below");
    EXPECT_EQ(found[0].at("ended").to_number<int>(), 3);
    EXPECT_EQ(found[0].at("leases").as_array().size(), 3U);
    EXPECT_EQ(found[1].at("ended").to_number<int>(), 0);
}

TEST_P(AuditOfLeases, NamesWhoPurged) {
    EXPECT_EQ(
        client_.ask("POST", "/v1/batch", R"({"requests":[{"op":"purge"}]})", shows("admin")).status,
        200U);
    const auto found = lines("purge");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(text(found[0], "token"), "admin");
    EXPECT_EQ(text(found[0], "outcome"), "done");
    EXPECT_EQ(found[0].at("forgotten").to_number<int>(), 0);
}

TEST_F(AuditTest, RecordsRefusedAccessAndNamesTheRequestInItsAnswer) {
    Answer stranger = client_.ask("GET", "/v1/locks/Order/7");
    Answer forbidden = client_.ask("POST", "/v1/locks/Order/7/break", R"({"fence":1,"reason":"r"})",
                                   shows("shop"));
    Answer allowed = client_.ask("GET", "/v1/locks", {}, shows("shop"));
    EXPECT_FALSE(allowed.fields.contains("x-request-id"));
    const auto found = lines("access");
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].at("status").to_number<int>(), 401);
    EXPECT_FALSE(found[0].contains("token"));
    EXPECT_EQ(text(found[0], "path"), "/v1/locks/Order/7");
    EXPECT_EQ(text(found[0], "route"), "/v1/locks/{type}/{id}");
    EXPECT_EQ(text(found[0], "request_id"), stranger.fields["x-request-id"]);
    EXPECT_EQ(found[1].at("status").to_number<int>(), 403);
    EXPECT_EQ(text(found[1], "token"), "shop");
    EXPECT_EQ(text(found[1], "request_id"), forbidden.fields["x-request-id"]);
}

TEST_F(AuditTest, CountsTheRequestsOfABatchThatARateOrAQuotaRefused) {
    server::Token shop = token("shop", {Role::use}, "shop", server::Rate{0.001, 3});
    shop.quotas[server::Quota::leases] = 2;
    server_ = std::make_unique<RunningServer>(
        memory::open(),
        server::ServerOptions{.tokens = tokens({std::move(shop)}), .audit = audit_.get()});
    std::string requests;
    for (int i = 0; i < 5; ++i) {
        const std::string number = std::to_string(i);
        requests += (i > 0 ? "," : "") + (R"({"op":"try","type":"A","id":")" + number) +
                    R"(","owner":"shop/)" + number + R"("})";
    }
    Answer some = server_->connect().ask("POST", "/v1/batch", R"({"requests":[)" + requests + "]}",
                                         shows("shop"));
    ASSERT_EQ(some.status, 200U) << some.body;
    const auto found = lines("access");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(text(found[0], "outcome"), "refused");
    EXPECT_EQ(found[0].at("status").to_number<int>(), 429);
    EXPECT_EQ(found[0].at("requests").to_number<int>(), 3);
    EXPECT_EQ(text(found[0], "token"), "shop");
    EXPECT_EQ(text(found[0], "route"), "/v1/batch");
    EXPECT_EQ(text(found[0], "request_id"), some.fields["x-request-id"]);
}

// A body that is refused while it arrives is refused as any other request.
TEST_F(AuditTest, RecordsABodyThatItsTokenHasNoRoomFor) {
    server_ = std::make_unique<RunningServer>(
        memory::open(),
        server::ServerOptions{.threads = 1,
                              .body_bytes = 60'000,
                              .bodies_bytes = 100'000,
                              .tokens = tokens({token("shop", {Role::use, Role::see}, "shop")}),
                              .audit = audit_.get()});
    const std::string batch = R"({"requests":[]})" + std::string(50'000, ' ');
    std::string unfinished = message("POST", "/v1/batch", batch, shows("shop"));
    unfinished.pop_back();
    Client slow = server_->connect();
    slow.send(unfinished);
    Answer refused;
    ASSERT_TRUE(eventually([&] {
        refused = server_->connect().ask("POST", "/v1/batch", batch, shows("shop"));
        return refused.status != 200;
    }));
    ASSERT_EQ(refused.status, 429U) << refused.body;
    slow.close();
    const auto found = lines("access");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].at("status").to_number<int>(), 429);
    EXPECT_EQ(text(found[0], "token"), "shop");
    EXPECT_EQ(text(found[0], "route"), "/v1/batch");
    EXPECT_EQ(text(found[0], "method"), "POST");
    EXPECT_EQ(text(found[0], "request_id"), refused.fields["x-request-id"]);
    EXPECT_FALSE(text(found[0], "request_id").empty());
}

TEST_F(AuditTest, CountsEveryRefusedAccessInFewLines) {
    constexpr std::size_t requests = 2000;
    std::string all;
    for (std::size_t i = 0; i < requests; ++i) {
        all += message("GET", "/v1/token", {},
                       "Authorization: Bearer guess-" + std::to_string(i) + "\r\n");
    }
    client_.send(all);
    for (std::size_t i = 0; i < requests; ++i) ASSERT_EQ(client_.receive().status, 401U);
    const auto found = lines("access");
    std::size_t counted = 0;
    for (const json::object& line : found) {
        const json::value* const left_out = line.if_contains("left_out");
        counted += left_out != nullptr ? left_out->to_number<std::size_t>() : 1;
    }
    EXPECT_EQ(counted, requests);
    EXPECT_LT(found.size(), 40U);
    EXPECT_EQ(content_of(path_).find("guess-"), std::string::npos);
}

// A client that may break leases could otherwise hide one break behind a thousand refused ones.
TEST_F(AuditTest, NeverLeavesOutWhatEndedALease) {
    finish();
    std::filesystem::remove(path_);
    server::Audit::Limits limits;
    limits.acts = {.per_second = 0.001, .at_once = 2};
    audit_ = std::make_unique<server::Audit>(path_, metrics_, limits);
    RunningServer server{memory::open(),
                         {.tokens = tokens({token("admin", {Role::use, Role::see, Role::break_})}),
                          .observer = &metrics_,
                          .audit = audit_.get()}};
    Client client = server.connect();
    const auto break_lock = [&](const std::string& id, std::int64_t fence) {
        return client
            .ask("POST", "/v1/locks/Order/" + id + "/break",
                 R"({"fence":)" + std::to_string(fence) + R"(,"reason":"r"})", shows("admin"))
            .status;
    };
    for (int i = 0; i < 5; ++i) EXPECT_EQ(break_lock("0", 1), 410U);
    for (const std::string id : {"1", "2", "3", "4"}) {
        const Answer taken =
            client.ask("POST", "/v1/locks/Order/" + id, R"({"owner":"a"})", shows("admin"));
        ASSERT_EQ(taken.status, 201U);
        EXPECT_EQ(break_lock(id, taken.json().at("fence").as_int64()), 200U);
    }
    for (const std::string id : {"1", "2", "3"}) {
        EXPECT_EQ(client.ask("DELETE", "/v1/owners/a/locks", {}, shows("admin")).status, 200U);
        EXPECT_EQ(
            client.ask("POST", "/v1/locks/Order/" + id, R"({"owner":"a"})", shows("admin")).status,
            201U);
        EXPECT_EQ(client.ask("DELETE", "/v1/owners/a/locks", {}, shows("admin")).status, 200U);
    }
    server.stop();

    std::size_t done = 0;
    std::size_t refused = 0;
    for (const json::object& line : lines("break")) {
        const json::value* const left_out = line.if_contains("left_out");
        const std::size_t events = left_out != nullptr ? left_out->to_number<std::size_t>() : 1;
        (text(line, "outcome") == "done" ? done : refused) += events;
        if (text(line, "outcome") == "done") {
            EXPECT_EQ(left_out, nullptr) << line;
        }
    }
    EXPECT_EQ(done, 4U);
    EXPECT_EQ(refused, 5U);
    std::size_t with_leases = 0;
    for (const json::object& line : lines("release_all")) {
        const json::value* const ended = line.if_contains("ended");
        if (ended != nullptr && ended->to_number<int>() > 0) ++with_leases;
    }
    EXPECT_EQ(with_leases, 3U);
}

// A client that has reset its connection has no address any more when the store answers.
TEST_F(AuditTest, NamesTheAddressOfAClientThatHasLeft) {
    auto store = std::make_unique<GatedStore>(memory::open());
    GatedStore& gate = *store;
    RunningServer server{std::move(store),
                         {.tokens = tokens({token("shop", {Role::use}, "shop")}),
                          .observer = &metrics_,
                          .audit = audit_.get()}};
    gate.close();
    Client client = server.connect();
    client.send(message("GET", "/healthz") +
                message("DELETE", "/v1/owners/shop/locks", {}, shows("shop")));
    ASSERT_TRUE(gate.wait_until_held());
    ASSERT_TRUE(eventually([&] { return client.hears(); }));
    client.close();  // with an answer that was not read: a reset
    gate.open();
    server.stop();
    const auto found = lines("release_all");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(text(found[0], "address"), "127.0.0.1");
}

TEST_F(AuditTest, ManyAddressesCannotFillItsMemory) {
    finish();
    std::filesystem::remove(path_);
    server::Audit::Limits limits;
    limits.refusals = {.per_second = 0.001, .at_once = 1};
    limits.clients = 10;
    limits.between_counts = 1h;
    audit_ = std::make_unique<server::Audit>(path_, metrics_, limits);
    constexpr std::size_t addresses = 500;
    for (std::size_t i = 0; i < addresses; ++i) {
        for (int twice = 0; twice < 2; ++twice) {
            audit_->record({.action = "access",
                            .outcome = "refused",
                            .address = "192.0.2." + std::to_string(i),
                            .status = 401});
        }
    }
    std::size_t counted = 0;
    const auto found = lines("access");
    for (const json::object& line : found) {
        const json::value* const left_out = line.if_contains("left_out");
        counted += left_out != nullptr ? left_out->to_number<std::size_t>() : 1;
    }
    EXPECT_EQ(counted, 2 * addresses);
    EXPECT_LT(found.size(), 30U);
}

// Clients that have used up all counts and rates leave those of administrators alone.
TEST_F(AuditTest, ManyClientsHideNoActOfAnAdministrator) {
    finish();
    std::filesystem::remove(path_);
    server::Audit::Limits limits;
    limits.refusals = limits.acts = {.per_second = 0.001, .at_once = 3};
    limits.clients = 10;
    limits.between_counts = 1h;
    audit_ = std::make_unique<server::Audit>(path_, metrics_, limits);
    for (std::size_t i = 0; i < 500; ++i) {
        const std::string client = "192.0.2." + std::to_string(i % 100);
        audit_->record(
            {.action = "access", .outcome = "refused", .address = client, .status = 401});
        audit_->record({.action = "release_all",
                        .outcome = "done",
                        .token_id = client,
                        .address = "192.0.2.1"});
    }
    for (int i = 0; i < 5; ++i) {
        audit_->record({.action = "release_all",
                        .outcome = "done",
                        .token_id = "admin",
                        .address = "192.0.2.1",
                        .by_administrator = true});
    }
    std::size_t lines_of_admin = 0;
    std::size_t left_out = 0;
    for (const json::object& line : lines("release_all")) {
        if (text(line, "token_id") != "admin") continue;
        ++lines_of_admin;
        if (line.contains("left_out")) left_out += line.at("left_out").to_number<std::size_t>();
    }
    EXPECT_EQ(lines_of_admin, 4U);
    EXPECT_EQ(left_out, 2U);
}

TEST_F(AuditTest, TellsItsCountsWhileTheServerRuns) {
    finish();
    server::Audit::Limits limits;
    limits.refusals = {.per_second = 0.001, .at_once = 1};
    limits.between_counts = 10ms;
    server::Audit audit{path_, metrics_, limits};
    for (int i = 0; i < 3; ++i) {
        audit.record(
            {.action = "access", .outcome = "refused", .address = "192.0.2.1", .status = 429});
    }
    EXPECT_TRUE(eventually([&] {
        return content_of(path_).find("\"left_out\":") != std::string::npos;
    })) << content_of(path_);
}

TEST_F(AuditTest, LosesLinesRatherThanMemoryAndSaysHowMany) {
    finish();
    server::Audit::Limits limits;
    limits.pending_bytes = 10;
    audit_ = std::make_unique<server::Audit>(path_, metrics_, limits);
    RunningServer server{memory::open(),
                         {.tokens = tokens({token("watch", {Role::see})}),
                          .observer = &metrics_,
                          .audit = audit_.get(),
                          .metrics = &metrics_}};
    EXPECT_EQ(server.connect().ask("GET", "/v1/locks").status, 401U);
    EXPECT_EQ(server.connect().ask("GET", "/v1/locks", {}, shows("watch")).status, 200U);
    const Answer metrics = server.connect().ask("GET", "/metrics", {}, shows("watch"));
    EXPECT_NE(metrics.body.find("leasehold_audit_lines_total{outcome=\"lost\"} 1"),
              std::string::npos)
        << metrics.body;
    server.stop();
}

TEST_F(AuditTest, KeepsRoomForAdministratorsThatNoOtherEventTakes) {
    finish();
    server::Audit::Limits limits;
    limits.pending_bytes = 4000;
    audit_ = std::make_unique<server::Audit>(path_, metrics_, limits);
    enum class By : std::uint8_t { client, administrator };
    // Whether a line of that many bytes is lost when nothing else is pending.
    const auto loses = [&](By by, bool changed, std::size_t bytes) {
        const std::uint64_t written = audit_->lines_written();
        const std::uint64_t lost = audit_->lines_lost();
        audit_->record({.action = "release_all",
                        .outcome = "done",
                        .address = "192.0.2.1",
                        .changed_leases = changed,
                        .by_administrator = by == By::administrator,
                        .facts = {{"text", std::string(bytes, 'x')}}});
        if (audit_->lines_lost() > lost) return true;
        EXPECT_TRUE(eventually([&] { return audit_->lines_written() > written; }));
        return false;
    };
    EXPECT_FALSE(loses(By::client, false, 1500));
    EXPECT_TRUE(loses(By::client, false, 2000));
    EXPECT_FALSE(loses(By::client, true, 2500));
    EXPECT_TRUE(loses(By::client, true, 3000));
    EXPECT_FALSE(loses(By::administrator, false, 3200));
    EXPECT_TRUE(loses(By::administrator, false, 3500));
    EXPECT_FALSE(loses(By::administrator, true, 3700));
}

TEST(WhatIsAudited, CountsAsAChangeIfItsEffectIsUnknown) {
    using Effect = StoreFault::Effect;
    const auto fault = [](Effect effect) {
        return Outcome{StoreFault{effect, StoreFault::Cause::unavailable, "f"}};
    };
    EXPECT_TRUE(server::changed_leases(fault(Effect::unknown)));
    EXPECT_FALSE(server::changed_leases(fault(Effect::none)));
}

TEST(WhatIsAudited, IsAnAdministratorsIfItCanEndTheLeasesOfOtherTokens) {
    const server::Token user = token("shop", {Role::use});
    const server::Token administrator = token("admin", {Role::use, Role::break_});
    const auto is_by_administrator = [](Request request, const server::Token& token) {
        server::sign(request, token);
        return server::is_by_administrator(request, &token);
    };
    const ReleaseAll all{.owner = "shop"};
    EXPECT_FALSE(is_by_administrator(all, user));
    EXPECT_TRUE(is_by_administrator(all, administrator));
    EXPECT_TRUE(is_by_administrator(Break{.key = {"Order", "1"}}, administrator));
    EXPECT_TRUE(is_by_administrator(Purge{}, administrator));
    EXPECT_FALSE(server::is_by_administrator(all, nullptr));
}

TEST_F(AuditTest, IsAPrivateRegularFileThatIsOnlyAppendedTo) {
    finish();
    struct stat about{};
    ASSERT_EQ(::stat(path_.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777U, 0600U);
    std::ofstream{path_} << "before\n";
    {
        server::Audit{path_, metrics_}.record({.action = "start", .outcome = "done"});
    }
    EXPECT_TRUE(content_of(path_).starts_with("before\n{")) << content_of(path_);

    const std::string link = folder_.path() / "link";
    std::filesystem::create_symlink(path_, link);
    const std::string pipe = folder_.path() / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    for (const std::string& bad : {link, pipe, folder_.path().string(), std::string{"/dev/null"},
                                   std::string{"/no/where"}}) {
        EXPECT_THROW((server::Audit{bad, metrics_}), BadRequest) << bad;
    }
}

// As on a full disk: the first line is cut short, and of the second nothing can be written.
TEST_F(AuditTest, BeginsANewLineBehindOneThatWasCutShort) {
    finish();
    ::signal(SIGXFSZ, SIG_IGN);
    audit_ = std::make_unique<server::Audit>(path_, metrics_);
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    rlimit full = before;
    full.rlim_cur = std::filesystem::file_size(path_) + 20;
    ::setrlimit(RLIMIT_FSIZE, &full);
    for (std::uint64_t lost = 1; lost <= 2; ++lost) {
        audit_->record({.action = "tokens", .outcome = "done"});
        EXPECT_TRUE(eventually([&] { return audit_->lines_lost() == lost; }));
    }
    ::setrlimit(RLIMIT_FSIZE, &before);
    audit_->record({.action = "stop", .outcome = "done"});
    finish();
    std::vector<std::string> last;
    std::ifstream file{path_};
    for (std::string line; std::getline(file, line);) last.push_back(line);
    ASSERT_GE(last.size(), 3U);
    const auto parsed = [&](std::size_t behind) {
        return json::parse(last[last.size() - behind]).as_object();
    };
    EXPECT_EQ(text(parsed(2), "action"), "stop");
    EXPECT_EQ(parsed(1).at("lost"), 2);
}

TEST_F(AuditTest, GoesOnInANewFileAfterTheOldOneWasRenamed) {
    finish();
    server::Audit audit{path_, metrics_};
    audit.record({.action = "start", .outcome = "done"});
    EXPECT_TRUE(eventually([&] { return audit.lines_written() == 1; }));
    std::filesystem::rename(path_, path_ + ".1");
    audit.reopen();
    audit.record({.action = "stop", .outcome = "done"});
    EXPECT_TRUE(eventually([&] { return audit.lines_written() == 2; }));
    EXPECT_NE(content_of(path_ + ".1").find("\"start\""), std::string::npos);
    EXPECT_NE(content_of(path_).find("\"stop\""), std::string::npos);
    std::filesystem::remove(path_);
    std::filesystem::create_directory(path_);
    EXPECT_THROW(audit.reopen(), BadRequest);
    audit.record({.action = "stop", .outcome = "done"});
    EXPECT_TRUE(eventually([&] { return audit.lines_written() == 3; }));
}

}  // namespace
}  // namespace leasehold::testing
