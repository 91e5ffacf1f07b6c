#include "server/access/jwt.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <leasehold/errors.hpp>

#include <chrono>

#include "server/event_client.hpp"
#include "server/jwt_issuer.hpp"
#include "server/token_fixture.hpp"

// Clients that show a JWT instead of a token of the file.
namespace leasehold::testing {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using server::JwtRules;
using server::JwtVerifier;
using server::Role;
using server::VerificationKeys;

const JwtRules rules{.issuer = "https://login.example", .audience = "leasehold"};

std::string bearer(const std::string& jwt) {
    return "Authorization: Bearer " + jwt + "\r\n";
}

std::shared_ptr<const JwtVerifier> verifier(const std::vector<const JwtKey*>& keys,
                                            const JwtRules& with = rules) {
    return std::make_shared<const JwtVerifier>(VerificationKeys::parse(key_set(keys)), with);
}

std::shared_ptr<const server::Tokens> tokens_by(std::shared_ptr<const JwtVerifier> verifier) {
    return std::make_shared<const server::Tokens>(std::vector{token("file", {Role::see})},
                                                  std::move(verifier));
}

// The keys are made once: RSA takes its time.
const JwtKey& rsa() {
    static const JwtKey key{"RS256", "rsa"};
    return key;
}
const JwtKey& ec() {
    static const JwtKey key{"ES256", "ec"};
    return key;
}
const JwtKey& ed() {
    static const JwtKey key{"EdDSA", "ed"};
    return key;
}
const std::vector<const JwtKey*>& all_keys() {
    static const std::vector<const JwtKey*> keys{&rsa(), &ec(), &ed()};
    return keys;
}

class Jwt : public ::testing::Test {
protected:
    // Whether the server accepts it: the status of a request that needs any token.
    [[nodiscard]] unsigned status(const std::string& jwt) {
        return client_.ask("GET", "/v1/token", {}, bearer(jwt)).status;
    }
    [[nodiscard]] unsigned status(const json::object& claims) { return status(ed().jwt(claims)); }

    RunningServer server_{
        memory::open(),
        {.wait_poll = 1h, .tokens = tokens_by(verifier(all_keys())), .failed_tokens = 0}};
    Client client_ = server_.connect();
};

TEST_F(Jwt, OfEachAlgorithmSaysWhoItsBearerIs) {
    for (const JwtKey* const key : all_keys()) {
        const Answer answer = client_.ask("GET", "/v1/token", {},
                                          bearer(key->jwt(claims_of("alice", {"use", "see"}))));
        ASSERT_EQ(answer.status, 200U) << key->algorithm() << answer.body;
        EXPECT_EQ(answer.json().at("name"), "jwt:alice");
        EXPECT_EQ(answer.json().at("owner"), "alice");
        EXPECT_EQ(answer.json().at("roles"), (json::array{"use", "see"}));
    }
    EXPECT_EQ(client_.ask("GET", "/v1/token", {}, shows("file")).status, 200U);
}

TEST_F(Jwt, SpeaksForItsOwnerOnlyAndHasItsRolesOnly) {
    const std::string alice = bearer(ec().jwt(claims_of("alice", {"use", "unheard-of"})));
    const auto take = [&](const std::string& owner) {
        return client_.ask("POST", "/v1/locks/Order/1", R"({"owner":")" + owner + "\"}", alice)
            .status;
    };
    EXPECT_EQ(take("bob"), 403U);
    EXPECT_EQ(take(""), 403U);
    EXPECT_EQ(take("alice/tab-1"), 201U);
    EXPECT_EQ(client_.ask("GET", "/v1/locks", {}, alice).status, 403U);
    const std::string nothing = bearer(ec().jwt(claims_of("carol", {})));
    EXPECT_EQ(client_.ask("GET", "/v1/locks", {}, nothing).status, 403U);
}

TEST_F(Jwt, OfOneOwnerIsOneClientWhateverKeySignedIt) {
    const std::string first = bearer(ec().jwt(claims_of("alice", {"use"})));
    const std::string second = bearer(ed().jwt(claims_of("alice", {"use", "see"})));
    const Answer taken = client_.ask("POST", "/v1/locks/Order/1", R"({"owner":"alice"})", first);
    ASSERT_EQ(taken.status, 201U);
    const Answer again = client_.ask("POST", "/v1/locks/Order/1", R"({"owner":"alice"})", second);
    EXPECT_EQ(again.status, 201U) << again.body;
    EXPECT_EQ(again.json().at("lock_id"), taken.json().at("lock_id"));
}

TEST(AVerifiedJwt, IsRememberedAndNotVerifiedAgain) {
    constexpr std::size_t most = 8;
    const JwtVerifier verifier{VerificationKeys::parse(key_set({&ed()})), rules, most};
    const auto find = [&](const std::string& jwt) {
        return verifier.find(jwt, server::digest_of(jwt));
    };
    const std::string jwt = ed().jwt(claims_of("alice", {"use"}));
    const auto first = find(jwt);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(find(jwt), first);
    // Many others take its place.
    for (std::size_t i = 0; i < 2 * most; ++i) {
        ASSERT_NE(find(ed().jwt(claims_of("bob-" + std::to_string(i), {"use"}))), nullptr);
    }
    const auto verified_again = find(jwt);
    ASSERT_NE(verified_again, nullptr);
    EXPECT_NE(verified_again, first);
}

// /readyz refuses nobody, so that a signature there must not cost the server anything for ever.
TEST(Readyz, VerifiesNoMoreJwtsOfAnAddressThanItsBudgetAllows) {
    constexpr std::size_t budget = 3;
    const auto jwts = verifier(all_keys());
    RunningServer server{memory::open(), {.tokens = tokens_by(jwts), .failed_tokens = budget}};
    Client client = server.connect();
    const auto knows_store = [&](const std::string& jwt) {
        const Answer answer = client.ask("GET", "/readyz", {}, bearer(jwt));
        EXPECT_EQ(answer.status, 200U);
        return answer.json().as_object().contains("store");
    };
    const std::string known = ed().jwt(claims_of("alice", {"see"}));
    EXPECT_TRUE(knows_store(known));
    const std::size_t before = jwts->verifications();
    for (std::size_t i = 0; i < 10 * budget; ++i) {
        EXPECT_FALSE(knows_store(known + std::to_string(i)));
    }
    EXPECT_LE(jwts->verifications(), before + budget);
    EXPECT_TRUE(knows_store(known)) << "it was verified before";
    EXPECT_TRUE(knows_store("secret-of-file"));
}

TEST_F(Jwt, CannotChooseItsAlgorithm) {
    const json::object claims = claims_of("alice", {"use"});
    const std::string payload = base64url(json::serialize(claims));
    const auto signed_by_nobody = [&](const json::object& header) {
        const std::string message = base64url(json::serialize(header)) + '.' + payload;
        return std::vector<std::string>{message + '.', message + '.' + base64url("x")};
    };
    for (const std::string algorithm : {"none", "None", "NONE", "nOnE", "", "HS256", "RS256"}) {
        for (const json::object& header :
             {json::object{{"alg", algorithm}}, json::object{{"alg", algorithm}, {"kid", "ed"}},
              json::object{{"alg", algorithm}, {"kid", "rsa"}}}) {
            for (const std::string& jwt : signed_by_nobody(header)) {
                EXPECT_EQ(status(jwt), 401U) << json::serialize(header);
            }
        }
    }
    // A server that takes the public key for a shared secret would accept this.
    const std::string message = base64url(R"({"alg":"HS256","kid":"rsa"})") + '.' + payload;
    for (const std::string& secret :
         {json::serialize(rsa().jwk()), std::string{rsa().jwk().at("n").as_string()}}) {
        std::string mac(32, '\0');
        unsigned size = 0;
        ::HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
               reinterpret_cast<const unsigned char*>(message.data()), message.size(),
               reinterpret_cast<unsigned char*>(mac.data()), &size);
        EXPECT_EQ(status(message + '.' + base64url(mac)), 401U);
    }
    // Signed by one key in the name of another.
    for (const JwtKey* const key : all_keys()) {
        for (const JwtKey* const named : all_keys()) {
            for (const JwtKey* const of_algorithm : all_keys()) {
                const json::object header{{"alg", of_algorithm->algorithm()}, {"kid", named->id()}};
                const bool right = key == named && named == of_algorithm;
                EXPECT_EQ(status(key->jwt(header, claims)), right ? 200U : 401U)
                    << json::serialize(header) << " signed by " << key->id();
            }
        }
    }
}

TEST_F(Jwt, IsRefusedIfAnythingInItWasChanged) {
    for (const JwtKey* const key : all_keys()) {
        const std::string jwt = key->jwt(claims_of("alice", {"use"}));
        EXPECT_EQ(status(jwt), 200U);
        for (std::size_t at = 0; at < jwt.size(); at += 7) {
            std::string changed = jwt;
            changed[at] = changed[at] == 'A' ? 'B' : 'A';
            EXPECT_EQ(status(changed), 401U) << key->id() << " at " << at;
        }
        for (const std::string& other :
             {jwt + "A", jwt + "=", jwt + ".", "." + jwt, jwt.substr(1),
              jwt.substr(0, jwt.rfind('.')), jwt.substr(0, jwt.rfind('.') + 1),
              jwt.substr(0, jwt.size() - 1)}) {
            EXPECT_EQ(status(other), 401U) << other;
        }
    }
}

TEST_F(Jwt, IsRefusedUnlessItIsForUsAndForNow) {
    const auto with = [](std::string_view name, const json::value& value) {
        json::object claims = claims_of("alice", {"use"});
        claims[name] = value;
        return claims;
    };
    const auto without = [](std::string_view name) {
        json::object claims = claims_of("alice", {"use"});
        claims.erase(name);
        return claims;
    };
    EXPECT_EQ(status(with("aud", json::array{"other", "leasehold"})), 200U);
    EXPECT_EQ(status(with("exp", static_cast<double>(seconds_from_now(100)) + 0.5)), 200U);
    EXPECT_EQ(status(with("exp", seconds_from_now(-20))), 200U);  // within the leeway
    EXPECT_EQ(status(with("nbf", seconds_from_now(20))), 200U);
    EXPECT_EQ(status(with("exp", 253'402'300'799)), 200U);
    const std::vector<json::object> refused{
        without("iss"),
        with("iss", "https://login.example/"),
        with("iss", 1),
        with("iss", json::array{"https://login.example"}),
        without("aud"),
        with("aud", "other"),
        with("aud", json::array{}),
        with("aud", json::array{1}),
        with("aud", nullptr),
        without("exp"),
        with("exp", seconds_from_now(-31)),
        with("exp", 0),
        with("exp", -1),
        with("exp", "2999-01-01"),
        with("exp", json::value(std::to_string(seconds_from_now(100)))),
        with("exp", 1e300),
        with("exp", nullptr),
        with("nbf", seconds_from_now(60)),
        with("nbf", "soon"),
        without("sub"),
        with("sub", ""),
        with("sub", 7),
        with("sub", "*"),
        with("sub", "alice/"),
        with("sub", "/alice"),
        with("sub", "a\nb"),
        with("sub", json::value(std::string(600, 'a')))};
    for (const json::object& claims : refused) {
        EXPECT_EQ(status(claims), 401U) << json::serialize(claims);
    }
}

TEST_F(Jwt, IsReadStrictly) {
    const json::object claims = claims_of("alice", {"use"});
    const auto with = [](std::string_view name, const json::value& value) {
        json::object header = ed().header();
        header[name] = value;
        return header;
    };
    EXPECT_EQ(status(ed().jwt(with("typ", "at+jwt"), claims)), 200U);
    for (const json::object& header :
         {with("crit", json::array{"exp"}), with("typ", "logout+jwt"), with("kid", "unknown"),
          with("kid", 1), with("kid", nullptr), with("alg", 1),
          json::object{{"alg", "EdDSA"}}}) {  // the set has several keys
        EXPECT_EQ(status(ed().jwt(header, claims)), 401U) << json::serialize(header);
    }
    // Repeated fields, and JSON that is not an object.
    for (
        const std::string text :
        {R"({"sub":"alice","sub":"bob","iss":"https://login.example","aud":"leasehold","exp":9999999999})",
         "[]", "1", "", "{", "null", R"("text")"}) {
        const std::string message =
            base64url(json::serialize(ed().header())) + '.' + base64url(text);
        EXPECT_EQ(status(message + '.' + base64url(ed().signature_of(message))), 401U) << text;
    }
    json::object long_claims = claims;
    long_claims["more"] = std::string(7000, 'x');
    EXPECT_EQ(status(ed().jwt(long_claims)), 401U);  // more than 8 KiB
    long_claims["more"] = std::string(4000, 'x');
    EXPECT_EQ(status(ed().jwt(long_claims)), 200U);
}

TEST(JwtClaims, CanHaveOtherNames) {
    RunningServer server{
        memory::open(),
        {.tokens = tokens_by(verifier({&ed()}, {.issuer = "https://login.example",
                                                .audience = "leasehold",
                                                .owner_claim = "https://login.example/user",
                                                .roles_claim = "realm_access.roles",
                                                .owner_prefix = "people"}))}};
    json::object claims = claims_of("not-this", {"break"});
    claims["https://login.example/user"] = "alice";
    claims["realm_access"] = {{"roles", "see use profile"}};
    // The only key need not be named.
    const std::string jwt = ed().jwt({{"alg", "EdDSA"}}, claims);
    const Answer answer = server.connect().ask("GET", "/v1/token", {}, bearer(jwt));
    ASSERT_EQ(answer.status, 200U) << answer.body;
    EXPECT_EQ(answer.json().at("owner"), "people/alice");
    EXPECT_EQ(answer.json().at("roles"), (json::array{"use", "see"}));
    claims["https://login.example/user"] = "*";
    const Answer star = server.connect().ask("GET", "/v1/token", {}, bearer(ed().jwt(claims)));
    EXPECT_EQ(star.json().at("owner"), "people/*");
}

TEST_F(Jwt, TouchesOnlyTheKeysThatItNames) {
    const auto with_keys = [](const json::value& keys) {
        json::object claims = claims_of("alice", {"use", "see", "break"});
        claims["keys"] = keys;
        return bearer(ed().jwt(claims));
    };
    const std::string some = with_keys(json::array{"Order/eu-*", "lfs:*"});
    const auto take = [&](const std::string& key, const std::string& fields) {
        return client_.ask("POST", "/v1/locks/" + key, R"({"owner":"alice"})", fields).status;
    };
    EXPECT_EQ(take("Order/eu-1", some), 201U);
    EXPECT_EQ(take("lfs:game/1", some), 201U);
    EXPECT_EQ(take("Order/us-1", some), 403U);
    EXPECT_EQ(client_.ask("GET", "/v1/locks/Secret/1", {}, some).status, 403U);
    EXPECT_EQ(client_.ask("POST", "/v1/locks/Secret/1/break", R"({"fence":1})", some).status, 403U);
    ASSERT_TRUE(server_.locks().try_lock({"Secret", "1"}, {.owner = "bob"}));
    const Answer list = client_.ask("GET", "/v1/locks", {}, some);
    EXPECT_EQ(list.json().at("locks").as_array().size(), 2U) << list.body;
    EXPECT_EQ(take("Order/us-2", with_keys("Order/*")), 201U);
    EXPECT_EQ(take("Other/1", with_keys("*")), 201U);
    // A token with a malformed list of keys is refused.
    for (const json::value& bad :
         {json::value{}, json::value(1), json::value(json::array{}),
          json::value(json::array{"Order/*", 1}), json::value(""), json::value("Order/*/x"),
          json::value(json::object{}), json::value(json::array(17, "Order/*"))}) {
        EXPECT_EQ(client_.ask("GET", "/v1/token", {}, with_keys(bad)).status, 401U) << bad;
    }
}

TEST(JwtKeys, CanBeInAnotherClaim) {
    JwtRules named = rules;
    named.keys_claim = "https://login.example/locks";
    RunningServer server{memory::open(), {.tokens = tokens_by(verifier({&ed()}, named))}};
    json::object claims = claims_of("alice", {"use"});
    claims["keys"] = "Other/*";
    claims["https://login.example/locks"] = "Order/*";
    const auto take = [&](const std::string& key) {
        return server.connect()
            .ask("POST", "/v1/locks/" + key, R"({"owner":"alice"})", bearer(ed().jwt(claims)))
            .status;
    };
    EXPECT_EQ(take("Order/1"), 201U);
    EXPECT_EQ(take("Other/1"), 403U);
}

TEST(JwtKeys, InAnotherFormThanTheNameOfTheClaimSaysAreRefused) {
    JwtRules named = rules;
    named.keys_claim = "locks.keys";
    RunningServer server{memory::open(), {.tokens = tokens_by(verifier({&ed()}, named))}};
    const auto status_with = [&](const json::value& outer) {
        json::object claims = claims_of("alice", {"use"});
        claims["locks"] = outer;
        return server.connect().ask("GET", "/v1/token", {}, bearer(ed().jwt(claims))).status;
    };
    EXPECT_EQ(status_with(json::object{{"keys", "Order/*"}}), 200U);
    for (const json::value& bad : {json::value{}, json::value(5), json::value("Order/*"),
                                   json::value(json::array{"Order/*"})}) {
        EXPECT_EQ(status_with(bad), 401U) << bad;
    }
}

// A reload with another issuer, audience or claim: who waits was accepted by rules that are gone.
TEST_F(Jwt, ThatOtherRulesWouldNotAcceptEndsWaitsAndStreams) {
    const auto held = server_.locks().try_lock(order, {.owner = "holder"});
    const std::string fields = bearer(ec().jwt(claims_of("alice", {"use", "see"})));
    JwtRules other_issuer = rules;
    other_issuer.issuer = "https://other.example";
    JwtRules other_audience = rules;
    other_audience.audience = "other";
    JwtRules other_claim = rules;
    other_claim.owner_claim = "email";
    for (const JwtRules& changed : {other_issuer, other_audience, other_claim}) {
        server_.use(tokens_by(verifier(all_keys())));
        Client waiting = server_.connect();
        waiting.send(
            message("POST", "/v1/locks/Order/1", R"({"wait_ms":60000,"owner":"alice"})", fields));
        ASSERT_TRUE(server_.waits_for(1));
        EventClient stream{server_.port(), {}, fields};
        server_.use(tokens_by(verifier(all_keys())));
        EXPECT_TRUE(server_.waits_for(1));
        server_.use(tokens_by(verifier(all_keys(), changed)));
        EXPECT_EQ(waiting.receive().status, 401U);
        EXPECT_EQ(stream.block(), ": this token may no longer listen to events\n\n");
    }
}

TEST_F(Jwt, WhoseKeyIsWithdrawnEndsWaitsAndStreams) {
    const auto held = server_.locks().try_lock(order, {.owner = "holder"});
    const std::string fields = bearer(ec().jwt(claims_of("alice", {"use", "see"})));
    Client waiting = server_.connect();
    waiting.send(
        message("POST", "/v1/locks/Order/1", R"({"wait_ms":60000,"owner":"alice"})", fields));
    ASSERT_TRUE(server_.waits_for(1));
    EventClient stream{server_.port(), {}, fields};
    EventClient stays{server_.port(), {}, bearer(ed().jwt(claims_of("bob", {"see"})))};
    server_.use(tokens_by(verifier({&ed()})));
    EXPECT_EQ(waiting.receive().status, 401U);
    EXPECT_EQ(stream.block(), ": this token may no longer listen to events\n\n");
    EXPECT_EQ(client_.ask("GET", "/v1/token", {}, fields).status, 401U);
    (void)server_.connect().ask("POST", "/v1/locks/Order/2", R"({"owner":"bob"})",
                                bearer(ed().jwt(claims_of("bob", {"use"}))));
    EXPECT_EQ(stays.names(1), "granted");
}

TEST(AJwtThatExpires, EndsWaitsAndStreamsAndIsForgotten) {
    JwtRules strict = rules;
    strict.leeway = 0s;
    RunningServer server{memory::open(),
                         {.wait_poll = 1h, .tokens = tokens_by(verifier({&ed()}, strict))}};
    const auto held = server.locks().try_lock(order, {.owner = "holder"});
    json::object claims = claims_of("alice", {"use", "see"});
    claims["exp"] = seconds_from_now(2);
    const std::string fields = bearer(ed().jwt(claims));
    Client waiting = server.connect();
    waiting.send(
        message("POST", "/v1/locks/Order/1", R"({"wait_ms":60000,"owner":"alice"})", fields));
    EventClient stream{server.port(), {}, fields};
    ASSERT_EQ(stream.answer().status, 200U);
    ASSERT_TRUE(server.waits_for(1));
    EXPECT_EQ(waiting.receive().status, 401U);
    EXPECT_EQ(stream.block(), ": this token may no longer listen to events\n\n");
    EXPECT_EQ(server.connect().ask("GET", "/v1/token", {}, fields).status, 401U);
}

TEST(AKeySet, IsReadStrictly) {
    const auto problem = [](const json::value& set) -> std::string {
        try {
            (void)VerificationKeys::parse(json::serialize(set));
            return "";
        } catch (const BadRequest& bad) {
            return bad.what();
        }
    };
    const auto set_of = [](const json::array& keys) { return json::object{{"keys", keys}}; };
    const auto changed = [](json::object key, std::string_view name, const json::value& value) {
        key[name] = value;
        return key;
    };
    EXPECT_EQ(problem(set_of({ec().jwk(), rsa().jwk(), ed().jwk()})), "");
    EXPECT_NE(problem(set_of({ec().jwk(), ec().jwk()})), "");
    EXPECT_NE(problem(set_of({})), "");
    EXPECT_NE(problem(json::array{}), "");
    EXPECT_NE(problem(json::object{}), "");
    EXPECT_NE(problem(json::object{{"keys", 1}}), "");
    EXPECT_NE(problem(set_of({ec().jwk(), {{"kty", "oct"}, {"k", "c2VjcmV0"}}})).find("symmetric"),
              std::string::npos);
    EXPECT_NE(problem(set_of({changed(ec().jwk(), "d", "AA")})).find("private"), std::string::npos);
    // Keys for other purposes beside ours.
    EXPECT_EQ(
        problem(set_of({ec().jwk(), changed(rsa().jwk(), "use", "enc"),
                        changed(ed().jwk(), "crv", "X25519"), changed(rsa().jwk(), "alg", "PS256"),
                        changed(rsa().jwk(), "key_ops", json::array{"encrypt"})})),
        "");
    EXPECT_NE(problem(set_of({changed(rsa().jwk(), "use", "enc")})), "");
    for (const auto& [key, field] :
         std::vector<std::pair<json::object, std::string>>{{ec().jwk(), "x"},
                                                           {ec().jwk(), "y"},
                                                           {ed().jwk(), "x"},
                                                           {rsa().jwk(), "n"},
                                                           {rsa().jwk(), "e"}}) {
        for (const json::value& bad :
             {json::value(1), json::value(""), json::value("!"), json::value("AA=="),
              json::value("AQAB" + std::string(40, 'A'))}) {
            EXPECT_NE(problem(set_of({changed(key, field, bad)})), "") << field << bad;
        }
    }
    EXPECT_NE(problem(set_of({changed(rsa().jwk(), "n",
                                      json::value(base64url(std::string(64, '\xc1'))))}))
                  .find("512 bits"),
              std::string::npos);
}

TEST(Base64Url, HasOneTextForEveryValue) {
    for (const std::string bytes : {"", "a", "ab", "abc", "abcd", "\xff\xfe\xfd"}) {
        EXPECT_EQ(server::decoded_base64url(base64url(bytes)), bytes);
    }
    for (const std::string text :
         {"A", "AAAAA", "YQ==", "YR", "YWJ", "Y Q", "Y+Q", "Y/Q", "YQ\n"}) {
        EXPECT_EQ(server::decoded_base64url(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace leasehold::testing
