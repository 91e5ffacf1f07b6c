#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <cstdlib>
#include <iostream>
#include <set>
#include <string>

#include "server/body_generator.hpp"
#include "server/server_fixture.hpp"
#include "server/v1/description.hpp"

namespace leasehold::testing {
namespace {

namespace json = boost::json;

unsigned chosen_seed() {
    if (const char* chosen = std::getenv("LEASEHOLD_SEED")) {
        return static_cast<unsigned>(std::strtoul(chosen, nullptr, 10));
    }
    return std::random_device{}();
}

// Rules that the document states in words, because JSON Schema has none for them.
void follow_rules_in_words(json::value& value) {
    if (value.is_array()) {
        for (json::value& item : value.get_array()) follow_rules_in_words(item);
    }
    if (!value.is_object()) return;
    json::object& object = value.get_object();
    // A server without tokens requires a name.
    if (object.contains("fence") && !object.contains("granted_at")) {
        const bool breaks = !object.contains("op") || object.at("op") == "break";
        const json::value* by = object.if_contains("by");
        if (breaks && (by == nullptr || by->as_string().empty())) object["by"] = "admin";
    }
    // No two keys are the same.
    if (json::value* keys = object.if_contains("keys")) {
        std::set<std::string> seen;
        json::array different;
        for (const json::value& key : keys->as_array()) {
            const std::string name =
                json::serialize(key.at("type")) + json::serialize(key.at("id"));
            if (seen.insert(name).second) different.push_back(key);
        }
        *keys = std::move(different);
    }
    if (json::value* patterns = object.if_contains("only_keys")) {
        for (json::value& pattern : patterns->as_array()) pattern = "Order/*";
    }
    for (auto& field : object) {
        if (field.key() == "requests") follow_rules_in_words(field.value());
    }
}

class BodiesOfTheDescription : public ::testing::Test {
protected:
    static Limits with_endless_leases() {
        Limits limits;
        limits.allow_endless = true;
        return limits;
    }

    RunningServer server_{memory::open(), {}, with_endless_leases()};
    Client client_ = server_.connect();
    const OpenApi api_{client_.ask("GET", "/openapi.json").json()};
    const unsigned seed_ = chosen_seed();
    BodyGenerator generator_{api_, seed_};
};

TEST_F(BodiesOfTheDescription, AreNeverABadRequest) {
    std::cout << "[   SEED   ] " << seed_ << '\n';
    const std::string how_to = "LEASEHOLD_SEED=" + std::to_string(seed_) + " repeats this run";
    SCOPED_TRACE(how_to);
    struct Asked {
        std::string method, path, target, fields;
    };
    const std::string lock_token = "Lock-Token: " + LockId::random().to_string() + "\r\n";
    const std::vector<Asked> asked{
        {"post", "/v1/locks/{type}/{id}", "/v1/locks/Free/", ""},
        {"patch", "/v1/locks/{type}/{id}", "/v1/locks/Order/1", lock_token},
        {"post", "/v1/locks/{type}/{id}/break", "/v1/locks/Order/1/break", ""},
        {"post", "/v1/locks/{type}/{id}/knock", "/v1/locks/Order/1/knock", ""},
        {"post", "/v1/batch", "/v1/batch", ""},
    };
    const auto& paths = api_.document().at("paths");
    std::set<std::string> described;
    for (const auto& path : paths.as_object()) {
        for (const auto& operation : path.value().as_object()) {
            if (operation.key() == "parameters" ||
                !operation.value().as_object().contains("requestBody"))
                continue;
            described.insert(std::string{operation.key()} + " " + std::string{path.key()});
        }
    }
    for (const Asked& one : asked) described.erase(one.method + " " + one.path);
    EXPECT_TRUE(described.empty()) << "nobody asks for " << *described.begin();

    constexpr int rounds = 150;
    for (int round = 0; round < rounds && !HasFailure(); ++round) {
        for (const Asked& one : asked) {
            const auto& content = paths.at(one.path).at(one.method).at("requestBody").at("content");
            json::value body = generator_.draw(content.at("application/json").at("schema"));
            follow_rules_in_words(body);
            ASSERT_EQ(api_.problem_with_body(one.path, one.method, body), "");
            // A free key each time, so that no try has to wait.
            std::string target = one.target;
            if (target.ends_with('/')) target += std::to_string(round);
            const std::string method = one.method == "post" ? "POST" : "PATCH";
            const Answer answer = client_.ask(method, target, json::serialize(body), one.fields);
            EXPECT_TRUE(answer.status < 300 || answer.status == 404 || answer.status == 409 ||
                        answer.status == 410 || answer.status == 429)
                << method << " " << target << " " << json::serialize(body) << "\n"
                << answer.status << " " << answer.body;
        }
    }
}

TEST(LimitsInTheDescription, AreTheDefaultsInTheFile) {
    EXPECT_EQ(json::parse(server::description_with(Limits{}, server::ServerOptions{})),
              json::parse(server::description));
}

TEST(LimitsInTheDescription, AreThoseOfTheServerThatIsAsked) {
    Limits limits;
    limits.min_ttl = std::chrono::seconds{1};
    limits.max_ttl = std::chrono::hours{1};
    limits.default_ttl = std::chrono::minutes{1};
    limits.keys_at_once = 3;
    limits.page_rows = 17;
    RunningServer server{
        memory::open(), {.batch_requests = 2, .longest_wait = std::chrono::seconds{5}}, limits};
    const OpenApi api{server.connect().ask("GET", "/openapi.json").json()};
    const auto& schemas = api.document().at("components").at("schemas");
    EXPECT_EQ(schemas.at("Ttl").at("minimum"), 1000);
    EXPECT_EQ(schemas.at("Ttl").at("maximum"), 3'600'000);
    EXPECT_EQ(schemas.at("Ttl").at("default"), 60'000);
    EXPECT_EQ(schemas.at("Extension").at("maximum"), 3'600'000);
    EXPECT_EQ(schemas.at("Limit").at("maximum"), 17);
    EXPECT_EQ(schemas.at("Try").at_pointer("/properties/wait_ms/maximum"), 5000);
    EXPECT_EQ(schemas.at("Batch").at_pointer("/properties/requests/maxItems"), 2);
    EXPECT_EQ(schemas.at("BatchTryAll").at_pointer("/properties/keys/maxItems"), 3);
}

// The limits of texts are bytes: 512 Hangul letters are 512 characters and 1,536 bytes.
TEST(LimitsInTheDescription, CountTheBytesOfATextAsTheServerDoes) {
    RunningServer server{memory::open()};
    Client client = server.connect();
    const auto body = [](int letters) {
        std::string owner;
        for (int i = 0; i < letters; ++i) owner += "한";
        return json::value{{"owner", owner}};
    };
    const std::string path = "/v1/locks/{type}/{id}";
    const OpenApi& api = OpenApi::of_this_build();
    for (const int fitting : {1, 170}) {
        EXPECT_EQ(api.problem_with_body(path, "post", body(fitting)), "");
        const std::string target = "/v1/locks/Order/" + std::to_string(fitting);
        EXPECT_EQ(client.ask("POST", target, json::serialize(body(fitting))).status, 201U);
    }
    for (const int too_many : {171, 512}) {
        EXPECT_NE(api.problem_with_body(path, "post", body(too_many)), "");
        const Answer answer =
            client.ask("POST", "/v1/locks/Order/1", json::serialize(body(too_many)));
        EXPECT_EQ(answer.status, 400U);
        EXPECT_TRUE(answer.body.contains("bytes long; at most 512 are allowed")) << answer.body;
    }
}

}  // namespace
}  // namespace leasehold::testing
