#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>

#include "server/server_fixture.hpp"
#include "server/token_fixture.hpp"
#include "server/v1/native.hpp"

namespace leasehold::testing {
namespace {

namespace json = boost::json;

struct Described {
    std::set<std::string> query;
    bool body = false;

    bool operator==(const Described&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Described& route) {
    out << (route.body ? "with a body" : "without a body") << ", query:";
    for (const std::string& name : route.query) out << ' ' << name;
    return out;
}

// By "get /v1/locks".
using Routes = std::map<std::string, Described>;

Routes routes_in_table() {
    Routes routes;
    for (const server::Route& route : server::v1::Native::table()) {
        std::string name{route.method};
        std::ranges::transform(name, name.begin(),
                               [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        Described& row = routes[name.append(" ").append(route.path.text())];
        for (const std::string_view parameter : route.query.names()) row.query.emplace(parameter);
        row.body = row.body || route.body == server::TakesBody::yes;
    }
    return routes;
}

void add_query(Described& route, const json::value& document, const json::value& parameters) {
    for (json::value parameter : parameters.as_array()) {
        if (const auto* reference = parameter.as_object().if_contains("$ref")) {
            const std::string_view pointer = reference->as_string();
            parameter = document.at_pointer(pointer.substr(1));
        }
        if (parameter.at("in").as_string() != "query") continue;
        route.query.emplace(std::string_view{parameter.at("name").as_string()});
    }
}

Routes routes_in(const json::value& document) {
    Routes routes;
    for (const auto& path : document.at("paths").as_object()) {
        for (const auto& operation : path.value().as_object()) {
            if (operation.key() == "parameters") continue;
            Described& route = routes[std::string{operation.key()} + " " + std::string{path.key()}];
            const json::object& described = operation.value().as_object();
            route.body = described.contains("requestBody");
            if (const auto* parameters = described.if_contains("parameters")) {
                add_query(route, document, *parameters);
            }
        }
    }
    return routes;
}

using ARoute = ServerTest;

TEST_F(ARoute, IsDescribedAndNothingElseIs) {
    const Routes described = routes_in(server_.connect().ask("GET", "/openapi.json").json());
    const Routes served = routes_in_table();
    for (const auto& [name, route] : served) {
        const auto found = described.find(name);
        ASSERT_NE(found, described.end()) << "openapi.json does not describe " << name;
        EXPECT_EQ(found->second, route) << name;
    }
    for (const auto& [name, route] : described) {
        EXPECT_TRUE(served.contains(name)) << "the server has no route " << name;
    }
}

TEST_F(ARoute, RefusesAnotherMethodWithTheMethodsItHas) {
    Client client = server_.connect();
    for (const std::string_view method : {"PUT", "DELETE", "LOCK", "BREW"}) {
        const Answer bare = client.ask(method, "/v1/batch");
        EXPECT_EQ(bare.status, 405) << method;
        EXPECT_EQ(bare.fields.at("allow"), "POST");
        const Answer with_body = client.ask(method, "/v1/batch", "{}");
        EXPECT_EQ(with_body.status, 405) << method;
        EXPECT_EQ(with_body.fields.at("allow"), "POST");
    }
    const Answer put = client.ask("PUT", "/v1/locks/Order/1", R"({"owner":"alice"})");
    EXPECT_EQ(put.status, 405);
    EXPECT_EQ(put.code(), "method_not_allowed");
    EXPECT_EQ(put.fields.at("allow"), "GET, HEAD, POST, PATCH, DELETE");
    const Answer removed = client.ask("DELETE", "/healthz", "{}");
    EXPECT_EQ(removed.status, 405);
    EXPECT_EQ(removed.fields.at("allow"), "GET, HEAD");
}

TEST_F(ARoute, RefusesABodyItDoesNotTake) {
    Client client = server_.connect();
    const Answer answer = client.ask("GET", "/v1/locks/Order/1", "{}");
    EXPECT_EQ(answer.status, 400);
    EXPECT_NE(answer.body.find("takes no body"), std::string::npos);
}

TEST_F(ARoute, IsFoundByATargetInAbsoluteForm) {
    Client client = server_.connect();
    EXPECT_EQ(client.ask("GET", "http://localhost/healthz").status, 200);
    EXPECT_EQ(client.ask("GET", "HTTP://localhost:7470/v1/locks?limit=5").status, 200);
    EXPECT_EQ(client.ask("POST", "http://127.0.0.1/v1/locks/Order/1", "{}").status, 201);
    EXPECT_EQ(client.ask("GET", "https://localhost").status, 200);  // the console
    EXPECT_EQ(client.ask("GET", "http://localhost?a=b").status, 200);
}

// RFC 9112, 3.2.2: the host of the target replaces the Host field.
TEST_F(ARoute, IsNotServedUnderAForeignHostInAbsoluteForm) {
    Client client = server_.connect();
    const Answer answer = client.ask("GET", "http://attacker.example/v1/locks");
    EXPECT_EQ(answer.status, 421);
    EXPECT_EQ(answer.code(), "misdirected");
}

TEST_F(ARoute, IsNotFoundByAMalformedAbsoluteForm) {
    for (const std::string_view target :
         {"http://", "http:///healthz", "http://user@localhost/healthz", "ftp://localhost/healthz",
          "localhost:80"}) {
        EXPECT_EQ(server_.connect().ask("GET", target).status, 400) << target;
    }
}

}  // namespace
}  // namespace leasehold::testing
