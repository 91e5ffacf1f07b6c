#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "server/installed_documentation.hpp"
#include "server/monitoring/metrics.hpp"
#include "server/token_fixture.hpp"

// Every route and every request of a batch, role by role.
namespace leasehold::testing {
namespace {

using server::Role;
using server::Roles;

const std::string token_of_no_lease = "Lock-Token: " + LockId::random().to_string() + "\r\n";

struct Asked {
    std::string method;
    std::string path;   // as the description has it
    std::string needs;  // a role; "" for none, "token" for any
    std::string target;
    std::string body{};
    std::string fields{};
};

const std::vector<Asked> routes{
    {"POST", "/v1/locks/{type}/{id}", "use", "/v1/locks/Order/1", "{}"},
    {"GET", "/v1/locks/{type}/{id}", "see", "/v1/locks/Order/1"},
    {"HEAD", "/v1/locks/{type}/{id}", "see", "/v1/locks/Order/1"},
    {"GET", "/v1/locks/{type}/{id}", "use or see", "/v1/locks/Order/1", "", token_of_no_lease},
    {"PATCH", "/v1/locks/{type}/{id}", "use", "/v1/locks/Order/1", R"({"ttl_ms":1000})",
     token_of_no_lease},
    {"DELETE", "/v1/locks/{type}/{id}", "use", "/v1/locks/Order/1", "", token_of_no_lease},
    {"POST", "/v1/locks/{type}/{id}/break", "break", "/v1/locks/Order/1/break", R"({"fence":1})"},
    {"POST", "/v1/locks/{type}/{id}/knock", "use", "/v1/locks/Order/1/knock",
     R"({"owner":"bob","message":"m"})"},
    {"GET", "/v1/locks", "see", "/v1/locks"},
    {"DELETE", "/v1/owners/{owner}/locks", "use", "/v1/owners/alice/locks"},
    {"GET", "/v1/history", "see", "/v1/history"},
    {"GET", "/v1/statistics", "see", "/v1/statistics"},
    {"GET", "/v1/refused", "see", "/v1/refused"},
    {"GET", "/v1/events", "see", "/v1/events"},
    {"GET", "/metrics", "see", "/metrics"},
    {"GET", "/v1/token", "token", "/v1/token"},
    {"GET", "/v1/server", "break", "/v1/server"},
    {"POST", "/v1/batch", "token", "/v1/batch", R"({"requests":[]})"},
    {"GET", "/healthz", "", "/healthz"},
    {"GET", "/readyz", "", "/readyz"},
    {"GET", "/openapi.json", "", "/openapi.json"},
    {"GET", "/", "", "/"},
    {"GET", "/console/{file}", "", "/console/console.js"},
    {"GET", "/client/{file}", "", "/client/leasehold.js"},
    {"GET", "/docs/{file...}", "", "/docs/"},
};

struct RoleRequest {
    std::string op;
    std::string needs;
    std::string rest;
};

const std::string a_lock_id = R"("lock_id":")" + LockId::random().to_string() + "\"";

const std::vector<RoleRequest> requests{
    {"try", "use", R"("type":"A","id":"1")"},
    {"try_all", "use", R"("keys":[{"type":"A","id":"2"}])"},
    {"check", "use or see", a_lock_id},
    {"extend", "use", a_lock_id + R"(,"extend_ms":1000)"},
    {"renew", "use", a_lock_id},
    {"release", "use", a_lock_id},
    {"release_all", "use", R"("owner":"alice")"},
    {"holders", "see", R"("type":"A","id":"1")"},
    {"list", "see", R"("limit":1)"},
    {"history", "see", R"("limit":1)"},
    {"break", "break", R"("type":"A","id":"1","fence":1)"},
    {"purge", "break", R"("limit":1)"},
};

const std::map<std::string, Role> roles{
    {"use", Role::use}, {"see", Role::see}, {"break", Role::break_}};

class RoleByRole : public ::testing::Test {
protected:
    server::Metrics metrics_{"1.2.3"};
    const InstalledDocumentation documentation_;
    RunningServer server_{memory::open(),
                          {.tokens = tokens({token("use", {Role::use}), token("see", {Role::see}),
                                             token("break", {Role::break_}),
                                             token("all", {Role::use, Role::see, Role::break_})}),
                           .documentation = documentation_.folder(),
                           .metrics = &metrics_}};
    Client client_ = server_.connect();

    Answer ask(const Asked& asked, const std::string& authorization) {
        Client client = server_.connect();
        client.send(message(asked.method, asked.target, asked.body, asked.fields + authorization));
        return asked.method == "HEAD" ? client.receive_head() : client.receive();
    }
};

bool is_served(unsigned status) {
    return status != 401 && status != 403 && status != 404 && status != 405;
}

TEST_F(RoleByRole, EveryRouteNeedsItsOwn) {
    for (const Asked& asked : routes) {
        const std::string what = asked.method + " " + asked.target + " " + asked.fields;
        const Answer stranger = ask(asked, "");
        EXPECT_EQ(stranger.status == 401, !asked.needs.empty()) << what;
        EXPECT_EQ(stranger.fields.contains("www-authenticate"), !asked.needs.empty()) << what;
        EXPECT_TRUE(is_served(ask(asked, shows("all")).status)) << what;
        for (const auto& [name, role] : roles) {
            const bool enough =
                asked.needs.empty() || asked.needs == "token" || asked.needs.contains(name);
            const Answer answer = ask(asked, shows(name));
            EXPECT_EQ(answer.status != 403, enough) << what << " " << name;
            EXPECT_EQ(is_served(answer.status), enough) << what << " " << name;
            if (enough || asked.method == "HEAD") continue;
            EXPECT_EQ(answer.code(), "forbidden");
            const std::string missing = asked.needs.substr(0, asked.needs.find(' '));
            EXPECT_EQ(answer.json().at("role").as_string(), std::string_view{missing});
            EXPECT_EQ(
                answer.json().at("detail").as_string(),
                std::string_view{"the token '" + name + "' lacks the role '" + missing + "'"});
        }
    }
}

TEST_F(RoleByRole, ATokenCanReadItsOwnRights) {
    // Its quotas have a test of their own.
    const auto told = [](const Answer& answer) {
        boost::json::object body = answer.json().as_object();
        EXPECT_EQ(body.erase("quotas"), 1U);
        return boost::json::serialize(body);
    };
    EXPECT_EQ(told(client_.ask("GET", "/v1/token", {}, shows("see"))),
              R"({"name":"see","roles":["see"],"owner":null})");
    EXPECT_EQ(told(client_.ask("GET", "/v1/token", {}, shows("all"))),
              R"({"name":"all","roles":["use","see","break"],"owner":null})");
    RunningServer open{memory::open()};
    EXPECT_EQ(told(open.connect().ask("GET", "/v1/token")),
              R"({"name":null,"roles":["use","see","break"],"owner":null})");
}

TEST_F(RoleByRole, NoRouteOfTheDescriptionIsForgotten) {
    std::set<std::string> known;
    for (const Asked& asked : routes) known.insert(asked.method + " " + asked.path);
    const auto description = client_.ask("GET", "/openapi.json").json();
    for (const auto& path : description.at("paths").as_object()) {
        for (const auto& operation : path.value().as_object()) {
            if (operation.key() == "parameters") continue;
            std::string method{operation.key()};
            std::ranges::transform(method, method.begin(), [](unsigned char c) {
                return static_cast<char>(std::toupper(c));
            });
            EXPECT_TRUE(known.contains(method + " " + std::string{path.key()}))
                << "which role does it need? " << method << " " << path.key();
        }
    }
}

TEST_F(RoleByRole, EveryRequestOfABatchNeedsItsOwnAndTheWholeIsRefused) {
    for (const RoleRequest& request : requests) {
        const std::string one = R"({"op":")" + request.op + "\"," + request.rest + "}";
        for (const auto& [name, role] : roles) {
            const Asked alone{"POST", "", "", "/v1/batch", R"({"requests":[)" + one + "]}"};
            const Answer answer = ask(alone, shows(name));
            EXPECT_EQ(answer.status, request.needs.contains(name) ? 200U : 403U) << one << name;
        }
    }
    const std::string mixed = R"({"requests":[{"op":"try","type":"Order","id":"7"},
        {"op":"list"},{"op":"try","type":"Order","id":"8"},{"op":"purge"}]})";
    const Answer refused = client_.ask("POST", "/v1/batch", mixed, shows("use"));
    EXPECT_EQ(refused.status, 403U);
    EXPECT_EQ(refused.json().at("index"), 1);
    EXPECT_EQ(refused.json().at("refused"), (boost::json::array{1, 3}));
    EXPECT_EQ(refused.json().at("role"), "see");
    EXPECT_TRUE(
        refused.json().at("detail").as_string().starts_with("requests[1]: the token 'use'"));
    EXPECT_TRUE(server_.locks().list({.type = "Order"}).empty());
    EXPECT_EQ(client_.ask("POST", "/v1/batch", mixed, shows("all")).status, 200U);
    EXPECT_EQ(server_.locks().list({.type = "Order"}).size(), 2U);
}

TEST_F(RoleByRole, NoRequestOfTheDescriptionIsForgotten) {
    std::set<std::string> known;
    for (const RoleRequest& request : requests) known.insert(request.op);
    const OpenApi api{client_.ask("GET", "/openapi.json").json()};
    const auto& schemas = api.document().at("components").at("schemas").as_object();
    std::set<std::string> described;
    for (const auto& kind : schemas.at("BatchRequest").at("oneOf").as_array()) {
        described.emplace(api.resolved(kind).at("properties").at("op").at("const").as_string());
    }
    EXPECT_EQ(known, described);
}

TEST_F(RoleByRole, AMethodThatIsNotServedNeedsNothing) {
    for (const char* const method : {"PUT", "TRACE", "OPTIONS"}) {
        EXPECT_EQ(client_.ask(method, "/v1/locks/Order/1").status, 405U) << method;
    }
    EXPECT_EQ(client_.ask("GET", "/v1/nothing").status, 404U);
}

}  // namespace
}  // namespace leasehold::testing
